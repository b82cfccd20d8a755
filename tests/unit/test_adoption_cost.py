"""What another labeler would cost, from what published runs covered."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from jobs.labeler.adoption_cost import adoption_cost
from jobs.settings import Settings
from jobs.table_admin import create_missing
from jobs.table_path import table_path
from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.core.prompt import COMPACT
from mis_scoring.core.rounds import RoundRule
from schemas.coverage import COVERAGE
from schemas.runs import RUNS
from schemas.table import Table


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path, _env_file=None)  # type: ignore[call-arg]


def artifact(**changes: Any) -> LabelerArtifact:
    made = LabelerArtifact(
        name="one",
        prompt=COMPACT,
        label_tokens={"yes": "YES", "no": "NO"},
        numeric_profile={"dtype": "float32", "quantisation": "none", "readout": "float32"},
        threshold=0.5,
        round_rule=RoundRule(candidates_per_round=50, stop_below=0.1),
        tie_eps=0.0,
        domain={},
        evaluation={"cost": {"mean_query_tokens": 100.0, "mean_item_tokens": 6.0}},
        digests={"model.safetensors": "a"},
    )
    return replace(made, **changes)


def put(root: Path, table: Table, *rows: dict[str, Any]) -> None:
    create_missing(root, table)
    filled = [{field.name: row.get(field.name, _blank(field)) for field in table.columns} for row in rows]
    content = pa.Table.from_pylist(filled, table.columns)
    write_deltalake(table_path(root, table), content, mode="append")


def _blank(field: pa.Field) -> Any:
    if field.nullable:
        return None
    if pa.types.is_string(field.type):
        return "-"
    return datetime(2026, 1, 1, tzinfo=UTC) if pa.types.is_timestamp(field.type) else 0


def covered(run_id: str, member_id: str, candidates: int, day: int, **changes: Any) -> dict[str, Any]:
    row = {"run_id": run_id, "member_id": member_id, "candidates": candidates, "judged": candidates // 2}
    return row | {"pinned_at": datetime(2026, 1, day, tzinfo=UTC), "is_complete": True} | changes


def test_the_same_scorer_scores_nothing_anew(settings: Settings) -> None:
    found = adoption_cost(settings, artifact(), artifact(threshold=0.9), pairs_per_s=10.0)
    assert (found.pairs, found.tokens, found.seconds) == (0, 0, 0.0)


def test_another_scorer_scores_each_members_latest_published_candidates(settings: Settings) -> None:
    put(
        settings.tables,
        RUNS,
        *({"run_id": run, "event": event} for run, event in (("a", "published"), ("b", "published"), ("c", "pinned"))),
    )
    put(
        settings.tables,
        COVERAGE,
        covered("a", "m1", 200, 1),
        covered("b", "m1", 120, 2),  # newer than run a
        covered("a", "m2", 80, 1),
        covered("b", "m2", 999, 2, is_complete=False),  # not complete
        covered("c", "m3", 500, 3),  # not published
    )
    found = adoption_cost(settings, artifact(digests={"model.safetensors": "b"}), artifact(), pairs_per_s=100.0)
    assert (found.members, found.pairs, found.pairs_judged_now) == (2, 200, 100)
    assert found.tokens == (3 + 2) * 100 + 200 * 6  # ceil(120 / 50) + ceil(80 / 50) requests
    assert found.seconds == 2.0


def test_the_cost_is_unknown_and_not_zero_before_the_first_run(settings: Settings) -> None:
    found = adoption_cost(settings, None, artifact(), pairs_per_s=None)
    assert (found.pairs, found.tokens, found.seconds) == (None, None, None)
    assert "no run" in found.why


def test_tokens_are_unknown_for_a_labeler_without_measured_lengths(settings: Settings) -> None:
    put(settings.tables, RUNS, {"run_id": "a", "event": "published"})
    put(settings.tables, COVERAGE, covered("a", "m1", 10, 1))
    found = adoption_cost(settings, None, artifact(evaluation={}), pairs_per_s=None)
    assert (found.pairs, found.tokens, found.seconds) == (10, None, None)
