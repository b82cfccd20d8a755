"""Drawn histories of changes and triggers over real Spark and Delta end with the labels of labelling all from scratch.

The thousand that run over tables in memory are in tests/unit/test_convergence.py; these hold the real jobs to the same,
and two of them Airflow's runs.
"""

import importlib
import random
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs import run_job
from jobs.run_job import SPARK_JOBS, parse_params
from jobs.settings import Settings
from mis_scoring.core.rounds import RoundRule
from tests.spark.conftest import CATALOG_TEXTS, register_variant
from tests.world import World, settings_under, shares_a_word

TEXTS = ("nursing and baking", "welding and singing", "painting, baking, singing", "long walks")
MEMBERS = ("ann", "bob", "cat", "dan")
ENTRIES = ("q-nursing", "q-welding", "q-baking", "q-painting", "q-singing")
KINDS = ("daily_incremental", "catalog_backfill", "weekly_full")


@pytest.fixture(scope="session")
def steady(registry: Settings, labeler: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The alias of a labeler with one round that stops nobody: what it labels can be said without retrieval."""
    rule = RoundRule(candidates_per_round=len(ENTRIES), stop_below=0.0)
    return register_variant(registry, labeler, tmp_path_factory.mktemp("steady") / "labeler", "steady", round_rule=rule)


class History:
    """A world that changes while runs are triggered twice, late, in another order, or never end."""

    def __init__(self, world: World, seed: int) -> None:
        self.world, self.draw = world, random.Random(seed)
        self.profiles: dict[str, str | None] = dict.fromkeys(MEMBERS[:3], TEXTS[0])
        self.retired: set[str] = set()
        self.version, self.waiting = 0, list[str]()

    def play(self, n_triggers: int) -> None:
        self._put()
        self._trigger(0)
        for number in range(1, n_triggers):
            self._change()
            self._trigger(number)
        while self.waiting:
            self._publish_one()

    def expected(self) -> set[tuple[str, str]]:
        return {
            (member, entry)
            for member, text in self.profiles.items()
            for entry in ENTRIES
            if entry not in self.retired and text and shares_a_word(text, str(CATALOG_TEXTS[entry])) > 0
        }

    def _change(self) -> None:
        for _ in range(2):
            member, entry = self.draw.choice(MEMBERS), self.draw.choice(ENTRIES)
            what = self.draw.choice(("edit", "edit", "remove", "retire"))
            if what == "edit":
                self.profiles[member] = self.draw.choice(TEXTS)
            elif what == "remove":
                self.profiles.pop(member, None)
            else:
                self.retired ^= {entry}
        self._put()

    def _put(self) -> None:
        self.version += 1
        self.world.put_profiles(self.profiles, version=self.version)
        self.world.put_catalog({key: CATALOG_TEXTS[key] for key in ENTRIES}, retired=self.retired)

    def _trigger(self, number: int) -> None:
        kind = self.draw.choice(KINDS)
        self.waiting += [self.world.prepare(f"trigger-{number}", kind=kind)] * self.draw.choice((1, 1, 2))
        if self.draw.random() < 0.5:
            self._publish_one()

    def _publish_one(self) -> None:
        run_id = self.waiting.pop(self.draw.randrange(len(self.waiting)))
        if self.draw.random() < 0.8:  # else it dies here
            self.world.publish(run_id)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(20))
def test_a_quiet_backfill_leaves_nothing_stale(
    seed: int, spark: SparkSession, registry: Settings, steady: str, tmp_path: Path
) -> None:
    settings = settings_under(
        tmp_path, mlflow_uri=registry.tracking_uri, candidates_per_member=len(ENTRIES), labeler_alias=steady
    )
    history = History(World(spark, settings), seed)
    history.play(n_triggers=3)
    history.world.refresh("quiet", kind="catalog_backfill")
    assert history.world.labels() == history.expected()


class AirflowHistory(History):
    """The same world, where each trigger is a run of a DAG, and is lost, comes twice, or comes late."""

    def _trigger(self, number: int) -> None:
        kind = self.draw.choice(KINDS)
        self.waiting += [f"{kind} trigger-{number}"] * self.draw.choice((0, 1, 1, 2))
        self.draw.shuffle(self.waiting)
        if self.waiting and self.draw.random() < 0.5:
            self._publish_one()

    def _publish_one(self) -> None:
        kind, trigger_id = self.waiting.pop().split()
        self.run(kind, trigger_id)

    def run(self, kind: str, trigger_id: str) -> None:
        from tests.dag_runs import run_dag

        state, tasks, _ = run_dag(kind, trigger_id=trigger_id)
        assert state == "success", tasks

    def run_job(self, name: str, values: dict[str, str], *_: Any, **__: Any) -> dict[str, Any]:
        """Run a job on this world's session; scores are by the rule."""
        module = importlib.import_module(f"jobs.{name}")
        params = parse_params(module.Params, values, job=name)
        if name == "score_round":
            return {"scored": self.world.score(params.run_id, params.round, shares_a_word)}
        if name in SPARK_JOBS:
            return dict(module.run(self.world.spark, self.world.settings, params))
        return dict(module.run(self.world.settings, params))


@pytest.mark.soak
@pytest.mark.parametrize("seed", [0, 1])
def test_airflows_runs_leave_nothing_stale_either(
    seed: int, spark: SparkSession, registry: Settings, steady: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.dag_runs import make_database

    settings = settings_under(
        tmp_path, mlflow_uri=registry.tracking_uri, candidates_per_member=len(ENTRIES), labeler_alias=steady
    )
    history = AirflowHistory(World(spark, settings), seed)
    monkeypatch.setenv("SEMLABEL_JOB_RUNNER", "inline")
    monkeypatch.setenv("AIRFLOW__OPENLINEAGE__DISABLED", "True")
    monkeypatch.setattr(run_job, "run_job", history.run_job)
    make_database()
    history.play(n_triggers=4)
    history.run("catalog_backfill", "quiet")
    assert history.world.labels() == history.expected()
