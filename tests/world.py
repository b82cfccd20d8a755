"""A small world for tests of the Spark jobs: own tables, a labeler in MLflow, and margins that the test decides.

Everything is real but the engine: `score` stands where `score_round` would, and stages what the test's rule says.
"""

import copy
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

from jobs import build_round, pin_inputs, plan_refresh, publish_labels, retrieve_candidates, scope_members, stop_early
from jobs.domain import set_domain
from jobs.ledger import append_event
from jobs.settings import Settings
from jobs.table_admin import create_missing
from jobs.table_path import table_path
from jobs.table_reader import pins_of, query
from jobs.write_sample import DEFAULT_DOMAIN
from mis_scoring.ray_data.staging import STAGED_SCORES, scores_folder
from mis_scoring.ray_data.summary import prepare_folder, summarise, write_summary
from schemas.catalog import CATALOG
from schemas.every import UPSTREAM_TABLES
from schemas.member_rounds import MEMBER_ROUNDS
from schemas.profiles import PROFILES
from schemas.table import Table

Rule = Callable[[str, str], float | None]
"""(query text, item text) -> margin; None fails the member's row."""


def shares_a_word(query_text: str, item_text: str) -> float:
    """Accept an item whose first word stands in the profile."""
    return 2.0 if item_text.split()[0].removesuffix("<|readout|>") in query_text else -2.0


class World:
    """Tables under one folder and the steps of a run over them."""

    def __init__(self, spark: SparkSession, settings: Settings) -> None:
        self.spark, self.settings = spark, settings
        self.scored = self.reused = 0
        self.scope: dict[str, Any] = {}
        self.result: dict[str, Any] = {}
        create_missing(settings.tables, *UPSTREAM_TABLES)
        for table in (PROFILES, CATALOG):
            set_domain(settings.tables, table, DEFAULT_DOMAIN)

    def copy(self, home: Path) -> "World":
        """Return a world of its own with the same tables and staging, and what the last run was."""
        shutil.copytree(self.settings.home, home, dirs_exist_ok=True)
        other = copy.copy(self)
        other.settings = settings_under(home, **self.settings.model_dump(exclude={"home"}))
        return other

    def put_profiles(self, profiles: Mapping[str, str | None], *, version: int = 1) -> None:
        self.put(
            PROFILES, [{"member_id": k, "profile_text": v, "profile_version": version} for k, v in profiles.items()]
        )

    def put_catalog(self, entries: Mapping[str, str | None], *, retired: Iterable[str] = ()) -> None:
        rows = [
            {
                "qualification_id": key,
                "category": "skill",
                "text": text,
                "status": "retired" if key in retired else "active",
            }
            for key, text in entries.items()
        ]
        self.put(CATALOG, rows)

    def put(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        content = pa.Table.from_pylist(list(rows), table.columns)
        write_deltalake(table_path(self.settings.tables, table), content, mode="overwrite")

    def pin(self, trigger_id: str, kind: str = "weekly_full", *, recompute: bool = False) -> str:
        params = pin_inputs.Params(kind=kind, trigger_id=trigger_id, recompute=recompute)
        return str(pin_inputs.run(self.settings, params)["run_id"])

    def prepare(
        self, trigger_id: str, rule: Rule = shares_a_word, *, kind: str = "weekly_full", recompute: bool = False
    ) -> str:
        """Do all of a run but its plan, which nothing rests on, and its publication; returns its id."""
        run_id = self.retrieve(trigger_id, kind=kind, recompute=recompute)
        self.score_rounds(run_id, rule)
        return run_id

    def retrieve(self, trigger_id: str, *, kind: str = "weekly_full", recompute: bool = False) -> str:
        """Pin, scope and retrieve; returns the run's id."""
        run_id = self.pin(trigger_id, kind, recompute=recompute)
        self.scope = scope_members.run(self.spark, self.settings, scope_members.Params(run_id=run_id))
        retrieve_candidates.run(self.spark, self.settings, retrieve_candidates.Params(run_id=run_id))
        return run_id

    def plan(self, run_id: str) -> dict[str, Any]:
        plan = plan_refresh.run(self.spark, self.settings, plan_refresh.Params(run_id=run_id))
        append_event(self.settings.tables, run_id, "plan_refresh", plan)
        return plan

    def score_rounds(self, run_id: str, rule: Rule = shares_a_word) -> None:
        self.scored = self.reused = 0
        for number in range(pins_of(self.settings.tables, run_id).n_rounds):
            built = build_round.run(self.spark, self.settings, build_round.Params(run_id=run_id, round=number))
            if built["members"] + built["past_stop_members"] == 0:
                break
            self.reused += built["pairs_reused"]
            self.scored += self.score(run_id, number, rule)
            stop_early.run(self.spark, self.settings, stop_early.Params(run_id=run_id, round=number))

    def publish(self, run_id: str) -> dict[str, Any]:
        return publish_labels.run(self.spark, self.settings, publish_labels.Params(run_id=run_id))

    def refresh(
        self, trigger_id: str, rule: Rule = shares_a_word, *, kind: str = "weekly_full", recompute: bool = False
    ) -> dict[str, Any]:
        run_id = self.prepare(trigger_id, rule, kind=kind, recompute=recompute)
        return self.publish(run_id) | {"run_id": run_id}

    def score(self, run_id: str, number: int, rule: Rule) -> int:
        """Stage the round's scores by the rule, as `score_round` would; returns the pairs scored."""
        pins = pins_of(self.settings.tables, run_id)
        folder = scores_folder(self.settings.staging, run_id, number, pins.scorer_id)
        prepare_folder(folder)
        where = f"run_id = '{run_id}' AND round = {number}"
        rows = query(self.settings.tables, f"SELECT * FROM member_rounds WHERE {where}", MEMBER_ROUNDS)
        staged = [_staged(row, rule, pins.scorer_id) for row in rows if row["item_ids"]]
        if staged:
            pq.write_table(pa.Table.from_pylist(staged, STAGED_SCORES), folder / "data" / "rows.parquet")
        summary = summarise(folder)
        write_summary(folder, summary | {"seconds": 0.0})
        return int(summary["scored"])

    def labels(self) -> set[tuple[str, str]]:
        return {
            (row["member_id"], row["qualification_id"]) for row in self.rows("labels", "member_id, qualification_id")
        }

    def rows(self, name: str, columns: str = "*", where: str = "true") -> list[dict[str, Any]]:
        from schemas import every

        table = next(t for t in (*every.UPSTREAM_TABLES, *every.RUN_TABLES) if t.name == name)
        return query(self.settings.tables, f"SELECT {columns} FROM {name} WHERE {where}", table)

    def version(self, table: Table) -> int:
        return DeltaTable(table_path(self.settings.tables, table)).version()


def _staged(row: dict[str, Any], rule: Rule, scorer_id: str) -> dict[str, Any]:
    margins = [rule(row["query_text"], item) for item in row["item_texts"]]
    failed = any(margin is None for margin in margins)
    return {
        "member_id": row["member_id"],
        "query_hash": row["query_hash"],
        "item_ids": row["item_ids"],
        "item_hashes": row["item_hashes"],
        "margins": None if failed else margins,
        "is_reference": None if failed else [False] * len(margins),
        "n_tokens": 0 if failed else len(margins),
        "tie_tokens": 0,
        "error": "the test's rule failed it" if failed else None,
        "engine": '{"engine":"rule"}',
        "canary_epoch": "epoch",
        "scorer_id": scorer_id,
    }


def settings_under(folder: Path, **changes: Any) -> Settings:
    """Settings whose every output lies in a folder."""
    return Settings(home=folder, _env_file=None, **changes)  # type: ignore[call-arg]
