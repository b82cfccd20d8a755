"""`score_round` on a private Ray, with engines that are fast, broken or both."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from jobs import score_round
from jobs.score_round import Params, run
from jobs.settings import Settings
from mis_scoring.core.errors import EngineError
from mis_scoring.core.tokenizer import PromptTokenizer
from mis_scoring.ray_data.spec import Placement
from mis_scoring.ray_data.staging import STAGED_SCORES
from mis_scoring.ray_data.summary import read_staged
from tests.ray.fake_engines import FakeEngine
from tests.ray.round_tables import ITEM_TEXTS, LAYOUT, RUN_ID, member_row, write_rows

ROUND_0 = Params(run_id=RUN_ID, round=0)
Pin = Callable[..., Path]
pytestmark = pytest.mark.usefixtures("local_ray")


def staged(folder: Path) -> dict[str, dict]:
    rows = read_staged(folder, STAGED_SCORES.names).to_pylist()
    assert len({row["member_id"] for row in rows}) == len(rows)
    return {row["member_id"]: row for row in rows}


def direct_margins(tokenizer_json: Path, profile: str, items: tuple[str, ...], *, shift: float = 0.0) -> list[float]:
    tokenizer = PromptTokenizer(tokenizer_json, LAYOUT)
    query = tokenizer.encode_query(LAYOUT.render_query(profile))
    engine = FakeEngine("direct", shift=shift)
    return [engine.margin(query, tokenizer.encode_item(LAYOUT.render_item(item))) for item in items]


def test_staged_margins_are_those_of_the_engine_in_item_order(settings: Settings, pinned: Pin, tmp_path: Path) -> None:
    folder = pinned("plain")
    members = {f"m{n}": (f"profile number {n}", ITEM_TEXTS[: 1 + n % 5]) for n in range(70)}
    rows = [member_row(member_id, *texts) for member_id, texts in members.items()]
    other_round = member_row("m0", "profile number 0", ITEM_TEXTS, round=1)
    write_rows(settings, [*rows, member_row("all-reused", "nothing to score", ()), other_round])

    result = run(settings, ROUND_0)

    found = staged(folder)
    assert set(found) == set(members)
    assert len(list((folder / "checkpoint").iterdir())) == -(-70 // Placement().rows_per_block)
    for member_id, (profile, items) in members.items():
        row = found[member_id]
        assert row["item_ids"] == [f"skill:{item}" for item in items]
        assert row["margins"] == direct_margins(tmp_path / "artifact" / "tokenizer.json", profile, items)
        assert row["error"] is None and row["is_reference"] == [False] * len(items)
    assert (result["rows"], result["scored"], result["errors"]) == (70, sum(len(i) for _, i in members.values()), 0)
    assert (result["engines_started"], result["engine"]["engine"], result["tie_tokens"]) == (1, "fake", 0)
    assert result["tokens"] == sum(row["n_tokens"] for row in found.values()) > 0


def test_a_row_that_can_not_be_scored_is_an_error_without_margins(settings: Settings, pinned: Pin) -> None:
    folder = pinned("plain")
    foreign = member_row("foreign", "x", ITEM_TEXTS) | {"query_text": "rendered by another layout"}
    write_rows(settings, [member_row("good", "x", ITEM_TEXTS), member_row("long", "x" * 500, ITEM_TEXTS), foreign])

    result = run(settings, ROUND_0)

    found = staged(folder)
    assert "longer than" in found["long"]["error"] and "layout" in found["foreign"]["error"]
    assert all(found[name]["margins"] is None and found[name]["is_reference"] is None for name in ("long", "foreign"))
    assert len(found["good"]["margins"]) == len(ITEM_TEXTS)
    assert (result["rows"], result["scored"], result["errors"]) == (3, len(ITEM_TEXTS), 2)


def test_pairs_in_the_tie_band_are_decided_by_the_reference(settings: Settings, pinned: Pin, tmp_path: Path) -> None:
    folder = pinned("nudged_reference", tie_eps=1.0)
    write_rows(settings, [member_row(f"m{n}", f"profile number {n}", ITEM_TEXTS) for n in range(10)])

    result = run(settings, ROUND_0)

    tokenizer_json = tmp_path / "artifact" / "tokenizer.json"
    n_ties = 0
    for n in range(10):
        row = staged(folder)[f"m{n}"]
        packed = np.array(direct_margins(tokenizer_json, f"profile number {n}", ITEM_TEXTS), np.float32)
        alone = np.array(direct_margins(tokenizer_json, f"profile number {n}", ITEM_TEXTS, shift=3e-5), np.float32)
        is_tie = np.abs(packed) <= 1.0
        assert row["is_reference"] == is_tie.tolist()
        assert row["margins"] == np.where(is_tie, alone, packed).tolist()
        assert (row["tie_tokens"] > 0) == is_tie.any()
        n_ties += int(is_tie.sum())
    assert result["tie_checked"] == n_ties > 0


def test_a_failing_canary_ends_the_job_and_nothing_is_written(settings: Settings, pinned: Pin) -> None:
    folder = pinned("leaky")
    write_rows(settings, [member_row("m", "x", ITEM_TEXTS)])
    with pytest.raises(EngineError, match="canary"):
        run(settings, ROUND_0)
    assert staged(folder) == {}
    assert not (folder / "summary.json").exists()


def test_a_failing_engine_ends_the_job_with_its_own_error(settings: Settings, pinned: Pin) -> None:
    folder = pinned("dying")
    write_rows(settings, [member_row("m", "x", ITEM_TEXTS)])
    with pytest.raises(EngineError, match="fell off the bus"):
        run(settings, ROUND_0)
    assert staged(folder) == {}


def test_a_second_run_of_a_round_scores_nothing_again(
    settings: Settings, pinned: Pin, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = pinned("plain")
    write_rows(settings, [member_row(f"m{n}", f"profile {n}", ITEM_TEXTS) for n in range(3)])
    first, rows = run(settings, ROUND_0), staged(folder)
    monkeypatch.setattr(score_round, "_score", lambda *_: pytest.fail("an engine was to start"))
    second = run(settings, ROUND_0)
    assert staged(folder) == rows
    assert first | {"seconds": 0} == second | {"seconds": 0}
