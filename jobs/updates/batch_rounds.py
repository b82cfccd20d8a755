"""Walk the rounds of a batch's members: build, score, commit, stop; the rows are those that Spark's jobs write.

Judgments are read again after each commit, so that a pair which another run has scored at the same time counts as
every reader will count it. Work and memory grow with the batch's members and K.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jobs.pins import Pins
from jobs.updates.batch_candidates import Candidates
from jobs.updates.round_rows import (
    RoundRow,
    commit_judgments,
    keep_texts,
    read_judgments,
    round_row,
    set_failed_aside,
    write_outcomes,
    write_round,
)
from jobs.updates.scorer import PairRequest, ScoredPairs
from mis_scoring.core.prompt import PromptLayout

Record = Callable[[str, Mapping[str, Any]], None]
"""(event, payload): appends to the ledger."""
ScoreRound = Callable[[int, Sequence[PairRequest]], list[ScoredPairs]]
"""(round, requests) -> one answer a request; called when there is something to score."""


def walk_rounds(
    root: Path,
    pins: Pins,
    layout: PromptLayout,
    profile_texts: Mapping[str, str],
    candidates: Candidates,
    entry_texts: Mapping[str, str],
    score: ScoreRound,
    record: Record,
) -> None:
    """Judge each member's candidates, round by round, until its rounds accept too little.

    Args:
        profile_texts: of the members with candidates. entry_texts: of the catalog's usable entries.
        record: gets what each step came to, under the names of the jobs of a refresh.
    Raises:
        EngineError: the scorer can't score now; what was committed stays, and is reused by the next try.
    """
    queries = {member: layout.render_query(profile_texts[member]) for member in candidates}
    items = {key: layout.render_item(entry_texts[key]) for found in candidates.values() for key in found}
    going = sorted(candidates)
    known = read_judgments(root, pins, queries.values())
    for number in range(pins.n_rounds):
        started = time.monotonic()
        rows = [round_row(pins, number, member, queries[member], candidates[member], items, known) for member in going]
        write_round(root, pins, number, rows)
        keep_texts(root, pins, number, rows)
        record(f"round_{number}_build_round", _built(rows) | _seconds_since(started))
        if not rows:
            break
        answers = _score(number, rows, score, record)
        started = time.monotonic()
        commit_judgments(root, pins, number, rows, answers)
        set_failed_aside(root, pins, number, rows, answers)
        known = read_judgments(root, pins, queries.values())
        ended = write_outcomes(root, pins, number, rows, answers, known)
        going = [row["member_id"] for row in ended if row["goes_on"]]
        record(f"round_{number}_stop_early", _stopped(rows, answers, ended) | _seconds_since(started))
        if not going:
            break


def _score(number: int, rows: Sequence[RoundRow], score: ScoreRound, record: Record) -> dict[str, ScoredPairs]:
    """Return the answers by member; none for who has nothing to score."""
    asking = [row for row in rows if row.to_score]
    if not asking:
        return {}
    started = time.monotonic()
    requests = [
        PairRequest(query_text=row.query_text, item_texts=tuple(item.text for item in row.to_score)) for row in asking
    ]
    answers = score(number, requests)
    found = {row.member_id: answer for row, answer in zip(asking, answers, strict=True)}
    counts = {
        "rows": len(asking),
        "scored": sum(margin is not None for answer in answers for margin in answer.margins),
        "errors": sum(answer.error is not None for answer in answers),
        "tie_checked": sum(sum(answer.is_reference) for answer in answers),
        "tokens": sum(answer.n_tokens for answer in answers),
        "tie_tokens": sum(answer.tie_tokens for answer in answers),
    }
    record(f"round_{number}_score_round", counts | _seconds_since(started))
    return found


def _built(rows: Sequence[RoundRow]) -> dict[str, int]:
    return {
        "members": len(rows),
        "pairs_to_score": sum(len(row.to_score) for row in rows),
        "pairs_reused": sum(len(row.reused) for row in rows),
    }


def _stopped(
    rows: Sequence[RoundRow], answers: Mapping[str, ScoredPairs], ended: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    reasons = Counter(row["reason"] for row in ended)
    scored = sum(margin is not None for answer in answers.values() for margin in answer.margins)
    failed = sum(answer.error is not None for answer in answers.values())
    n_going = reasons["goes_on"]
    return {"committed": scored, "failed": failed, "reasons": dict(reasons), "goes_on": n_going, "next_round": n_going}


def _seconds_since(started: float) -> dict[str, float]:
    return {"seconds": round(time.monotonic() - started, 3)}
