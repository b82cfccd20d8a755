"""The rounds of a batch without Spark: what is scored, reused, missing, and what a second try finds."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from jobs.errors import SchemaError
from jobs.pins import Pins
from jobs.table_reader import query
from jobs.table_writer import append_rows
from jobs.updates.batch_rounds import walk_rounds
from jobs.updates.scorer import PairRequest, ScoredPairs
from mis_scoring.core.errors import EngineError
from mis_scoring.core.prompt import COMPACT
from schemas import every
from schemas.revocations import REVOCATIONS
from schemas.texts import TEXTS
from tests.published_run import make_tables
from tests.published_run import pins as pins_of_tables

ENTRIES = {f"q{number}": f"entry {number}" for number in range(6)}
ENGINE = '{"engine":"fake"}'


class Scorer:
    """Accepts entries below 3; notes what it was asked."""

    def __init__(self, answer: Callable[[PairRequest], ScoredPairs | None] = lambda _: None) -> None:
        self.asked: list[str] = []
        self.answer = answer

    def score(self, requests: Sequence[PairRequest]) -> list[ScoredPairs]:
        self.asked += [text for request in requests for text in request.item_texts]
        return [self.answer(request) or accepting(request) for request in requests]

    def close(self) -> None:
        pass


def accepting(request: PairRequest) -> ScoredPairs:
    margins = tuple(2.0 if int(text.split()[1][0]) < 3 else -2.0 for text in request.item_texts)
    return ScoredPairs(engine=ENGINE, margins=margins, is_reference=(False,) * len(margins), n_tokens=7, tie_tokens=1)


def rejecting(request: PairRequest) -> ScoredPairs:
    return replace(accepting(request), margins=(-2.0,) * len(request.item_texts))


class Batch:
    """Two members with the same profile, three rounds of two."""

    def __init__(self, root: Path) -> None:
        self.root, self.events = root, dict[str, Any]()
        make_tables(root)
        found = pins_of_tables(root, "profile_updates-1", kind="profile_updates")
        self.pins = replace(found, candidates_per_round=2, candidates_per_member=6)

    def walk(self, scorer: Scorer, **changes: Any) -> None:
        pins = Pins(**asdict(self.pins) | changes)
        candidates = dict.fromkeys(("ann", "bob"), tuple(ENTRIES))
        texts = dict.fromkeys(candidates, "a profile")
        record = self.events.__setitem__
        walk_rounds(self.root, pins, COMPACT, texts, candidates, ENTRIES, lambda _, asked: scorer.score(asked), record)

    def rows(self, name: str) -> list[dict[str, Any]]:
        return query(self.root, f"SELECT * FROM {name}", next(one for one in every.RUN_TABLES if one.name == name))


@pytest.fixture
def batch(tmp_path: Path) -> Batch:
    return Batch(tmp_path)


def outcomes(batch: Batch) -> set[tuple[Any, ...]]:
    rows = batch.rows("round_outcomes")
    return {(r["member_id"], r["round"], r["judged"], r["accepted"], r["missing"], r["reason"]) for r in rows}


def test_members_stop_where_a_round_accepts_too_little_and_a_pair_of_both_is_judged_once(batch: Batch) -> None:
    batch.walk(Scorer(), stop_below=0.6)
    assert outcomes(batch) == {
        (member, *rest) for member in ("ann", "bob")
        for rest in [(0, 2, 2, 0, "goes_on"), (1, 2, 1, 0, "accepted_too_little")]
    }  # fmt: skip
    judged = batch.rows("judgments")
    assert len(judged) == 4 and {row["run_id"] for row in judged} == {batch.pins.run_id}
    assert {row["score"] > 0.5 for row in judged if row["margin"] > 0} == {True}
    assert len(batch.rows("texts")) == 5, "one query, four items"
    assert batch.events["round_0_score_round"]["scored"] == 4 and batch.events["round_1_stop_early"]["goes_on"] == 0


def test_what_is_judged_already_is_reused_also_after_an_engine_failed_halfway(batch: Batch) -> None:
    def fail_late(request: PairRequest) -> None:
        if request.item_texts[0].strip().startswith("entry 2"):
            raise EngineError("gone")

    with pytest.raises(EngineError):
        batch.walk(Scorer(fail_late))
    again = Scorer()
    batch.walk(again)
    assert {text.strip()[:7] for text in again.asked} == {"entry 2", "entry 3", "entry 4", "entry 5"}
    assert len(batch.rows("judgments")) == 6
    third = Scorer()
    batch.walk(third)
    assert third.asked == [] and {row["reason"] for row in batch.rows("round_outcomes")} == {
        "goes_on", "accepted_too_little"
    }  # fmt: skip


def test_a_missing_score_is_never_zero_and_leaves_the_member_incomplete(batch: Batch) -> None:
    def without_the_second(request: PairRequest) -> ScoredPairs:
        found = accepting(request)
        return replace(found, margins=(found.margins[0], None))

    batch.walk(Scorer(without_the_second))
    assert {row[2:] for row in outcomes(batch)} == {(1, 1, 1, "incomplete")}
    assert len(batch.rows("judgments")) == 1
    batch.walk(Scorer())
    assert {row["reason"] for row in batch.rows("round_outcomes")} == {"goes_on", "accepted_too_little"}
    assert len(batch.rows("judgments")) == 6, "the second try has another pair to commit"


def test_a_request_that_no_engine_can_score_sets_its_member_aside(batch: Batch) -> None:
    batch.walk(Scorer(lambda request: ScoredPairs.failed(request, ENGINE, "a prompt is longer than 200 tokens")))
    aside = batch.rows("quarantine")
    assert {(row["key"], row["table"], row["step"]) for row in aside} == {
        (member, "profiles", "score_round_0") for member in ("ann", "bob")
    }
    assert aside[0]["reason"] == "not scored: a prompt is longer than 200 tokens"
    assert {row[2:] for row in outcomes(batch)} == {(0, 0, 2, "incomplete")}


def test_revoked_judgments_and_those_of_an_older_generation_are_scored_anew(batch: Batch) -> None:
    batch.walk(Scorer(rejecting))
    anew = Scorer()
    batch.walk(anew, run_id="recomputes", generation=1)
    assert len(set(anew.asked)) == 6
    reuses = Scorer()
    batch.walk(reuses, run_id="later")
    accepted = {row["accepted"] for row in batch.rows("round_outcomes") if row["run_id"] == "later"}
    assert reuses.asked == [] and accepted == {2, 1, 0}, "the newest generation counts"
    now = datetime.now(UTC)
    row = {"revocation_id": "r", "fingerprint": ENGINE, "run_id": None, "since": None, "until": now, "at": now}
    append_rows(batch.root, REVOCATIONS, [row | {"reason": "", "who": ""}], transaction="r")
    repairs = Scorer()
    batch.walk(repairs, run_id="repairs", pinned_at=datetime.now(UTC).isoformat())
    assert len(set(repairs.asked)) == 6


def test_rows_that_do_not_fit_their_table_are_refused_with_all_faults(tmp_path: Path) -> None:
    make_tables(tmp_path)
    with pytest.raises(SchemaError) as raised:
        append_rows(tmp_path, TEXTS, [{"text_hash": None, "kind": 3, "words": 1}], transaction="t")
    assert [fault.split()[1] for fault in raised.value.faults] == ["words", "text_hash", "kind", "text"]
