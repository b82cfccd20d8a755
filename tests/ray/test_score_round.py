"""`score_round` on a private Ray, with engines that are fast, broken or both."""

import fcntl
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from jobs import score_round
from jobs.ledger import CANARY_FAILED
from jobs.round_commit import round_transaction
from jobs.run_job import run_job
from jobs.run_ledger import read_run
from jobs.score_round import Params, run
from jobs.settings import Settings
from jobs.table_admin import create_missing
from jobs.table_path import table_path
from jobs.table_reader import pins_of
from jobs.table_writer import append_rows
from mis_scoring.core.errors import EngineError
from mis_scoring.core.tokenizer import PromptTokenizer
from mis_scoring.ray_data.placement import Placement
from mis_scoring.ray_data.staging import STAGED_SCORES
from mis_scoring.ray_data.summary import check_one_to_one, prepare_folder, read_staged
from schemas.judgments import JUDGMENTS
from schemas.member_rounds import MEMBER_ROUNDS
from tests.ray.fake_engines import NUDGE, FakeEngine
from tests.ray.round_tables import ITEM_TEXTS, LAYOUT, RUN_ID, member_row, pin_run, write_rows

ROUND_0 = Params(run_id=RUN_ID, round=0)
ATTEMPT = {"seconds": 0, "attempt_scored": 0, "attempt_tokens": 0}
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


@dataclass(frozen=True, kw_only=True)
class ScoredRound:
    """A round that was scored once, for the tests that only look at it."""

    settings: Settings
    folder: Path
    tokenizer_json: Path
    members: dict[str, tuple[str, tuple[str, ...]]]
    result: dict[str, Any]


@pytest.fixture(scope="module")
def scored(local_ray: None, tmp_path_factory: pytest.TempPathFactory) -> ScoredRound:
    """Members with 1 to 5 items, two that can't be scored, one with nothing to score, and a row of another round."""
    tmp_path = tmp_path_factory.mktemp("scored")
    settings = Settings(home=tmp_path / "var", _env_file=None)
    folder = pin_run(settings, tmp_path / "artifact", engine="nudged_reference", tie_eps=1.0)
    members = {f"m{n}": (f"profile number {n}", ITEM_TEXTS[: 1 + n % 5]) for n in range(70)}
    others = [
        member_row("long", "x" * 500, ITEM_TEXTS),
        member_row("foreign", "x", ITEM_TEXTS) | {"query_text": "rendered by another layout"},
        member_row("all-reused", "nothing to score", ()),
        member_row("m0", "profile number 0", ITEM_TEXTS, round=1),
    ]
    write_rows(settings, [*(member_row(member_id, *texts) for member_id, texts in members.items()), *others])
    return ScoredRound(
        settings=settings,
        folder=folder,
        tokenizer_json=tmp_path / "artifact" / "tokenizer.json",
        members=members,
        result=run(settings, ROUND_0),
    )


def test_staged_margins_are_those_of_the_engine_in_item_order_with_ties_decided_by_the_reference(
    scored: ScoredRound,
) -> None:
    found = staged(scored.folder)
    n_ties = 0
    for member_id, (profile, items) in scored.members.items():
        row = found[member_id]
        packed = np.array(direct_margins(scored.tokenizer_json, profile, items), np.float32)
        alone = np.array(direct_margins(scored.tokenizer_json, profile, items, shift=NUDGE), np.float32)
        is_tie = np.abs(packed) <= 1.0
        assert row["item_ids"] == [f"skill:{item}" for item in items]
        assert row["is_reference"] == is_tie.tolist()
        assert row["margins"] == np.where(is_tie, alone, packed).tolist()
        assert (row["tie_tokens"] > 0) == is_tie.any()
        n_ties += int(is_tie.sum())
    assert scored.result["tie_checked"] == n_ties > 0


def test_a_row_that_can_not_be_scored_is_an_error_without_margins(scored: ScoredRound) -> None:
    found = staged(scored.folder)
    assert "longer than" in found["long"]["error"] and "layout" in found["foreign"]["error"]
    assert all(found[name]["margins"] is None and found[name]["is_reference"] is None for name in ("long", "foreign"))
    assert not any(found[member_id]["error"] for member_id in scored.members)


def test_a_round_stages_each_of_its_members_once_and_counts_them(scored: ScoredRound) -> None:
    found, result = staged(scored.folder), scored.result
    assert set(found) == {*scored.members, "long", "foreign"}
    assert (result["rows"], result["errors"], result["engines_started"]) == (72, 2, 1)
    assert result["scored"] == sum(len(items) for _, items in scored.members.values())
    assert result["tokens"] == sum(row["n_tokens"] for row in found.values()) > 0
    assert result["tie_tokens"] == sum(row["tie_tokens"] for row in found.values()) > 0
    assert result["engine"]["engine"] == "fake"
    assert json.loads((scored.folder / "summary.json").read_text()) == result


def test_a_checkpoint_is_kept_for_each_block(scored: ScoredRound) -> None:
    assert len(list((scored.folder / "checkpoint").iterdir())) == -(-72 // Placement().rows_per_block)


def test_a_second_run_of_a_round_scores_nothing_again(scored: ScoredRound, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = staged(scored.folder)
    monkeypatch.setattr(score_round, "_score", lambda *_: pytest.fail("an engine was to start"))
    second = run(scored.settings, ROUND_0)
    assert staged(scored.folder) == rows
    assert second | ATTEMPT == scored.result | ATTEMPT
    assert (second["attempt_scored"], second["attempt_tokens"]) == (0, 0)


def test_an_attempt_that_goes_on_says_apart_what_it_scored_itself(settings: Settings, pinned: Pin) -> None:
    pinned("plain")
    write_rows(settings, [member_row("m1", "x", ITEM_TEXTS)])
    first = run(settings, ROUND_0)
    assert (first["attempt_scored"], first["attempt_tokens"]) == (first["scored"], first["tokens"]) != (0, 0)
    write_rows(settings, [member_row("m2", "x", ITEM_TEXTS[:2])])
    second = run(settings, ROUND_0)
    assert (second["scored"], second["attempt_scored"]) == (len(ITEM_TEXTS) + 2, 2)
    assert second["attempt_tokens"] == second["tokens"] - first["tokens"] > 0


def test_a_round_that_was_committed_is_not_scored_again_once_its_staging_is_gone(
    settings: Settings, pinned: Pin, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = pinned("plain")
    write_rows(settings, [member_row("m", "x", ITEM_TEXTS)])
    first = run_job("score_round", {"run_id": RUN_ID, "round": "0"}, settings)
    create_missing(settings.tables, JUDGMENTS)
    append_rows(settings.tables, JUDGMENTS, [], transaction=round_transaction(pins_of(settings.tables, RUN_ID), 0))
    shutil.rmtree(folder)
    monkeypatch.setattr(score_round, "_score", lambda *_: pytest.fail("an engine was to start"))
    again = run_job("score_round", {"run_id": RUN_ID, "round": "0"}, settings, attempt=2)
    assert again | ATTEMPT | {"waited_s": 0} == first | ATTEMPT | {"waited_s": 0} and again["attempt_scored"] == 0


def test_a_row_that_is_missing_or_doubled_is_noticed(scored: ScoredRound) -> None:
    everyone, nobody = _ids(*staged(scored.folder)), _ids()
    check_one_to_one(scored.folder, everyone, nobody)
    with pytest.raises(EngineError, match="1 rows are missing, 0 doubled and 0 of other"):
        check_one_to_one(scored.folder, _ids(*everyone.to_pylist(), "nobody"), nobody)
    with pytest.raises(EngineError, match="0 rows are missing, 0 doubled and 1 of other members"):
        check_one_to_one(scored.folder, everyone[1:], nobody)
    check_one_to_one(scored.folder, everyone[1:], everyone[:1])


def _ids(*members: str) -> pa.Array:
    return pa.array(members, pa.large_string())


def test_a_member_that_is_staged_twice_is_noticed(tmp_path: Path) -> None:
    prepare_folder(tmp_path)
    row = dict.fromkeys(STAGED_SCORES.names) | {"member_id": "m"}
    for name in ("first", "second"):
        pq.write_table(pa.Table.from_pylist([row], STAGED_SCORES), tmp_path / "data" / f"{name}.parquet")
    with pytest.raises(EngineError, match="0 rows are missing, 1 doubled"):
        check_one_to_one(tmp_path, _ids("m"), _ids())


def test_a_round_that_is_built_again_after_its_scores_were_committed_scores_nothing(
    settings: Settings, pinned: Pin, monkeypatch: pytest.MonkeyPatch
) -> None:
    pinned("plain")
    write_rows(settings, [member_row("m", "x", ITEM_TEXTS)])
    first = run(settings, ROUND_0)
    DeltaTable(table_path(settings.tables, MEMBER_ROUNDS)).delete()
    write_rows(settings, [member_row("m", "x", ())])  # every pair is reused now
    monkeypatch.setattr(score_round, "_score", lambda *_: pytest.fail("an engine was to start"))
    assert run(settings, ROUND_0) | ATTEMPT == first | ATTEMPT


def test_no_two_attempts_are_at_a_round_at_once(
    settings: Settings, pinned: Pin, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, was_alone = pinned("dying"), []
    write_rows(settings, [member_row("m", "x", ITEM_TEXTS)])

    def score(*_: Any) -> None:
        with (folder / score_round.LOCK_FILE).open("w") as lock, pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        was_alone.append(True)

    monkeypatch.setattr(score_round, "_score", score)
    with pytest.raises(EngineError, match="1 rows are missing"):
        run(settings, ROUND_0)
    assert was_alone == [True]


def test_a_failing_canary_ends_the_job_and_leaves_its_faults_in_the_ledger_and_no_score(
    settings: Settings, pinned: Pin
) -> None:
    folder = pinned("leaky")
    write_rows(settings, [member_row("m", "x", ITEM_TEXTS)])
    with pytest.raises(EngineError, match="canary"):
        run(settings, ROUND_0)
    kept = read_run(settings.tables, RUN_ID)
    assert kept.n_canary_failures == 1 and kept.of(CANARY_FAILED)["round"] == 0
    assert kept.of(CANARY_FAILED)["engine"] == "leaky"
    assert any("a margin moved by" in fault for fault in kept.of(CANARY_FAILED)["faults"])
    assert staged(folder) == {}
    assert not (folder / "summary.json").exists()


def test_a_failing_engine_ends_the_job_with_its_own_error(settings: Settings, pinned: Pin) -> None:
    folder = pinned("dying")
    write_rows(settings, [member_row("m", "x", ITEM_TEXTS)])
    with pytest.raises(EngineError, match="fell off the bus"):
        run(settings, ROUND_0)
    assert staged(folder) == {}
