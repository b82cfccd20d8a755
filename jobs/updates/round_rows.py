"""The rows of one round of a batch, and their writes: member_rounds, texts, judgments, round_outcomes, quarantine."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jobs.pins import Pins
from jobs.revocations import ORDER_OF_JUDGMENTS, is_usable, read_revocations
from jobs.table_reader import equals, is_in, query
from jobs.table_writer import append_rows, replace_rows
from jobs.updates.batch_candidates import set_aside
from jobs.updates.pinned_catalog import Fault
from jobs.updates.scorer import ScoredPairs
from mis_scoring.core.identity import digest, text_hash
from mis_scoring.core.readout import decisions, scores_of_margins
from mis_scoring.core.rounds import RoundRule
from schemas.judgments import JUDGMENTS
from schemas.member_rounds import MEMBER_ROUNDS
from schemas.round_outcomes import ROUND_OUTCOMES
from schemas.texts import TEXTS


class Pair(NamedTuple):
    """A query with an item, by their hashes."""

    query_hash: str
    item_hash: str


class Item(NamedTuple):
    """A candidate of a round."""

    qualification_id: str
    text: str
    hash: str


Judgments = Mapping[Pair, float]
"""The margins that a run may use."""


@dataclass(frozen=True, kw_only=True)
class RoundRow:
    """One member in a round: what is to be scored, and what is reused; both in the order of ranks."""

    member_id: str
    query_text: str
    query_hash: str
    to_score: tuple[Item, ...]
    reused: tuple[Item, ...]

    def pair(self, item: Item) -> Pair:
        """Return the key of the member's query with an item."""
        return Pair(self.query_hash, item.hash)


def read_judgments(root: Path, pins: Pins, query_texts: Collection[str]) -> Judgments:
    """Return one margin a pair of the queries: of the run's scorer and generation or later, and not revoked."""
    revocations = read_revocations(root, as_of=datetime.fromisoformat(pins.pinned_at))
    of_queries = is_in("query_hash", {text_hash(text) for text in query_texts})
    sql = f"""
        SELECT query_hash, item_hash, margin FROM judgments
        WHERE {equals(scorer_id=pins.scorer_id)} AND {of_queries} AND generation >= {pins.generation}
        AND {is_usable(revocations)} ORDER BY {ORDER_OF_JUDGMENTS}"""
    found: dict[Pair, float] = {}
    for row in query(root, sql, JUDGMENTS):
        found.setdefault(Pair(row["query_hash"], row["item_hash"]), row["margin"])
    return found


def round_row(
    pins: Pins,
    number: int,
    member_id: str,
    query_text: str,
    candidates: Sequence[str],
    items: Mapping[str, str],
    known: Judgments,
) -> RoundRow:
    """Return a member's row of a round.

    Args:
        candidates: qualification ids, best first. items: their rendered texts.
    """
    of_round = candidates[number * pins.candidates_per_round : pins.last_rank(number)]
    found = [Item(key, items[key], text_hash(items[key])) for key in of_round]
    query_hash = text_hash(query_text)
    is_known = [Pair(query_hash, item.hash) in known for item in found]
    return RoundRow(
        member_id=member_id,
        query_text=query_text,
        query_hash=query_hash,
        to_score=tuple(item for item, is_judged in zip(found, is_known, strict=True) if not is_judged),
        reused=tuple(item for item, is_judged in zip(found, is_known, strict=True) if is_judged),
    )


def write_round(root: Path, pins: Pins, number: int, rows: Sequence[RoundRow]) -> None:
    """Write `member_rounds` of the round."""
    written = [
        {
            "run_id": pins.run_id,
            "round": number,
            "member_id": row.member_id,
            "query_hash": row.query_hash,
            "query_text": row.query_text,
            "item_ids": [item.qualification_id for item in row.to_score],
            "item_hashes": [item.hash for item in row.to_score],
            "item_texts": [item.text for item in row.to_score],
            "reused_ids": [item.qualification_id for item in row.reused],
            "reused_hashes": [item.hash for item in row.reused],
            "is_past_stop": False,
        }
        for row in rows
    ]
    replace_rows(root, MEMBER_ROUNDS, written, run_id=pins.run_id, round=number)


def keep_texts(root: Path, pins: Pins, number: int, rows: Sequence[RoundRow]) -> None:
    """Append the queries and items that are scored for the first time."""
    texts: dict[str, dict[str, str]] = {}
    for row in rows:
        if row.to_score:
            texts[row.query_hash] = {"text_hash": row.query_hash, "kind": "query", "text": row.query_text}
            texts |= {item.hash: {"text_hash": item.hash, "kind": "item", "text": item.text} for item in row.to_score}
    known = query(root, f"SELECT text_hash FROM texts WHERE {is_in('text_hash', set(texts))}", TEXTS) if texts else []
    new = [texts[one] for one in sorted(texts.keys() - {row["text_hash"] for row in known})]
    if new:
        append_rows(root, TEXTS, new, transaction=f"{pins.run_id}:texts:{number}")


def commit_judgments(
    root: Path, pins: Pins, number: int, rows: Sequence[RoundRow], answers: Mapping[str, ScoredPairs]
) -> None:
    """Append the round's new judgments, a row a pair.

    Args:
        answers: of each member that had something to score.
    """
    now = datetime.now(UTC)
    scored = {
        pair: {
            "scorer_id": pins.scorer_id,
            **pair._asdict(),
            "generation": pins.generation,
            "margin": margin,
            "score": float(scores_of_margins(np.asarray(margin, np.float32))),
            "is_reference": is_reference,
            "engine": engine,
            "run_id": pins.run_id,
            "judged_at": now,
        }
        for pair, margin, is_reference, engine in _scored(rows, answers)
    }
    if scored:
        which = digest([list(pair) for pair in sorted(scored)])[:16]  # a second try may have others to score
        transaction = f"{pins.run_id}:scores:{number}:{pins.scorer_id}:{which}"
        append_rows(root, JUDGMENTS, list(scored.values()), transaction=transaction)


def _scored(rows: Sequence[RoundRow], answers: Mapping[str, ScoredPairs]) -> Iterator[tuple[Pair, float, bool, str]]:
    for row in rows:
        if row.to_score:
            answer = answers[row.member_id]
            for item, margin, is_reference in zip(row.to_score, answer.margins, answer.is_reference, strict=True):
                if margin is not None:
                    yield row.pair(item), margin, is_reference, answer.engine


def set_failed_aside(
    root: Path, pins: Pins, number: int, rows: Sequence[RoundRow], answers: Mapping[str, ScoredPairs]
) -> None:
    """Put the members whose request can't be scored into quarantine."""
    failed = [
        Fault(
            table="profiles",
            key=row.member_id,
            reason=f"not scored: {answers[row.member_id].error}",
            value_hash=row.query_hash,
        )
        for row in rows
        if row.to_score and answers[row.member_id].error is not None
    ]
    if failed:
        set_aside(root, pins, f"score_round_{number}", failed)


def write_outcomes(
    root: Path,
    pins: Pins,
    number: int,
    rows: Sequence[RoundRow],
    answers: Mapping[str, ScoredPairs],
    known: Judgments,
) -> list[dict[str, Any]]:
    """Write `round_outcomes` of the round, and return its rows."""
    written = [_outcome(pins, number, row, answers.get(row.member_id), known) for row in rows]
    replace_rows(root, ROUND_OUTCOMES, written, run_id=pins.run_id, round=number)
    return written


def _outcome(pins: Pins, number: int, row: RoundRow, answer: ScoredPairs | None, known: Judgments) -> dict[str, Any]:
    scored, reused = (
        decisions(np.asarray([known[row.pair(item)] for item in items if row.pair(item) in known]), pins.threshold)
        for items in (row.to_score, row.reused)
    )
    judged, accepted = len(scored) + len(reused), int(scored.sum() + reused.sum())
    rule = RoundRule(candidates_per_round=pins.candidates_per_round, stop_below=pins.stop_below)
    missing = len(row.to_score) + len(row.reused) - judged
    reason = rule.outcome(judged=judged, accepted=accepted, missing=missing, is_last_round=number == pins.n_rounds - 1)
    is_scored = answer is not None and answer.error is None
    return {
        "run_id": pins.run_id,
        "round": number,
        "member_id": row.member_id,
        "judged": judged,
        "accepted": accepted,
        "missing": missing,
        "goes_on": reason == "goes_on",
        "reason": reason,
        "is_past_stop": False,
        "goes_past_stop": False,
        "scored": len(row.to_score) if is_scored else 0,
        "scored_accepted": int(scored.sum()) if is_scored else 0,
        "tokens": answer.n_tokens if is_scored and answer else 0,
        "tie_tokens": answer.tie_tokens if is_scored and answer else 0,
    }
