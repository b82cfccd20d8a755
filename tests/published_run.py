"""A published run as its jobs leave it, written by delta-rs alone: for tests of what reads tables and ledger.

Three members of which one is quarantined, ten candidates each, rounds of 4; ann is judged to rank 8 and has three
labels, bob to rank 4 and has none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, write_deltalake

from jobs.ledger import PUBLISHED
from jobs.pins import PINNED, Pins
from jobs.table_admin import create_missing
from jobs.table_path import table_path
from mis_scoring.core.identity import canonical_json, text_hash
from schemas.candidates import CANDIDATES
from schemas.catalog import CATALOG
from schemas.coverage import COVERAGE
from schemas.every import RUN_TABLES, UPSTREAM_TABLES
from schemas.label_changes import LABEL_CHANGES
from schemas.labels import LABELS
from schemas.profiles import PROFILES
from schemas.quarantine import QUARANTINE
from schemas.reference import REFERENCE, SUPPORTED
from schemas.round_outcomes import ROUND_OUTCOMES
from schemas.runs import RUNS
from schemas.table import Table

PROFILE_TEXT = "Secret life of {}: nursing & <b>baking</b>."
N_CANDIDATES = 10
DEPTH = {"ann": 8, "bob": 4}
ACCEPTED = {"ann": (0, 1, 5), "bob": ()}  # ranks
CATEGORIES = ("skill", "licence")  # even and odd ranks


def make_tables(root: Path) -> None:
    """Create every table, with three profiles, ten catalog entries, and one known answer more than ann's labels."""
    create_missing(root, *UPSTREAM_TABLES, *RUN_TABLES)
    now = datetime.now(UTC)
    put(
        root,
        PROFILES,
        [
            {"member_id": name, "profile_text": PROFILE_TEXT.format(name), "profile_version": 1, "updated_at": now}
            for name in ("ann", "bob", "cat")
        ],
    )
    put(
        root,
        CATALOG,
        [
            {
                "qualification_id": f"q{rank}",
                "category": CATEGORIES[rank % 2],
                "text": f"text {rank}",
                "status": "active",
            }
            for rank in range(N_CANDIDATES)
        ],
    )
    known = [*ACCEPTED["ann"], 9]
    put(root, REFERENCE, [{"member_id": "ann", "qualification_id": f"q{r}", "answer": SUPPORTED} for r in known])


def pins(root: Path, run_id: str, *, kind: str = "weekly_full", pinned_at: datetime | None = None) -> Pins:
    """Return pins of the tables as they are now."""
    return Pins(
        run_id=run_id,
        kind=kind,
        trigger_id="a test",
        pinned_at=(pinned_at or datetime.now(UTC)).isoformat(),
        profiles_delta_version=DeltaTable(table_path(root, PROFILES)).version(),
        catalog_delta_version=DeltaTable(table_path(root, CATALOG)).version(),
        catalog_version="catalog",
        labeler="tiny",
        labeler_version="1",
        artifact_id="artifact",
        scorer_id="scorer",
        artifact_folder="nowhere",
        threshold=0.5,
        candidates_per_round=4,
        stop_below=0.25,
        candidates_per_member=N_CANDIDATES,
        retriever_id="retriever",
        engine="cascade",
        is_validated=True,
        unvalidated_reason="",
    )


def write_run(root: Path, run_id: str, *, at: datetime, kind: str = "weekly_full", published: bool = True) -> Pins:
    """Write all that a run leaves; its events are a minute apart from `at` on."""
    pinned = pins(root, run_id, kind=kind, pinned_at=at)
    put(root, CANDIDATES, [_candidate(pinned, member, rank) for member in DEPTH for rank in range(N_CANDIDATES)])
    put(root, ROUND_OUTCOMES, [_outcome(pinned, "ann", 0), _outcome(pinned, "bob", 0), _outcome(pinned, "ann", 1)])
    put(root, COVERAGE, [*(_coverage(pinned, member, at) for member in DEPTH), _uncovered(pinned, "cat", at)])
    put(root, QUARANTINE, [_aside(run_id, at)])
    changes = _publish(root, pinned) if published else {}
    append_events(root, run_id, _events(pinned, changes, published=published), at=at)
    return pinned


def append_events(root: Path, run_id: str, events: Mapping[str, Mapping[str, Any]], *, at: datetime) -> None:
    """Append events a minute apart, the first one at a time of the test's own."""
    rows = [
        {"run_id": run_id, "event": event, "attempt": 1, "at": at + timedelta(minutes=number), "payload": text}
        for number, (event, text) in enumerate((event, canonical_json(dict(p))) for event, p in events.items())
    ]
    put(root, RUNS, rows)


def put(root: Path, table: Table, rows: Sequence[Mapping[str, Any]], *, metadata: str | None = None) -> None:
    """Append rows."""
    properties = CommitProperties(custom_metadata={"userMetadata": metadata}) if metadata else None
    content = pa.Table.from_pylist(list(rows), table.columns)
    write_deltalake(table_path(root, table), content, mode="append", commit_properties=properties)


def _events(pinned: Pins, changes: Mapping[str, int], *, published: bool) -> dict[str, dict[str, Any]]:
    plan = {
        "members": 3,
        "reasons": {"first_time": 3},
        "pairs_to_score": {"min": 5, "expected": 8.0, "max": 30},
        "tokens": {"min": 110, "expected": 180.0, "max": 900},
        "gpu_seconds": {"min": 2.0, "expected": 4.0, "max": 20.0},
        "cost": {"min": None, "expected": None, "max": None},
        "expected_by": {"basis": "the rounds of an earlier run", "run_id": "earlier", "is_comparable": True},
    }
    events = {
        PINNED: asdict(pinned),
        "pin_inputs": {"run_id": pinned.run_id, "seconds": 1.0, "waited_s": 20.0},
        "plan_refresh": plan | {"seconds": 2.0, "waited_s": 5.0},
        "retrieve_candidates": {"members": 2, "candidates": 20, "quarantined": 1, "seconds": 3.0},
        "round_0_build_round": {"members": 2, "pairs_to_score": 5, "pairs_reused": 3, "seconds": 0.5},
        "round_0_score_round": _scored(5) | {"seconds": 4.0},
        "round_0_stop_early": {"reasons": {"goes_on": 1, "accepted_too_little": 1}, "goes_on": 1, "seconds": 0.5},
        "round_1_build_round": {"members": 1, "pairs_to_score": 4, "pairs_reused": 0, "seconds": 0.5},
        "round_1_score_round": _scored(4) | {"seconds": 4.0},
        "round_1_stop_early": {"reasons": {"candidates_exhausted": 1}, "goes_on": 0, "seconds": 0.5},
    }
    if published:
        version = {"labels_version": 1} if changes else {"labels_version": None, "compared_with": 1}
        events[PUBLISHED] = version | {"changes": dict(changes), "members_published": 2}
        events["publish_labels"] = {"changes": dict(changes), "seconds": 6.0}
    return events


def _scored(pairs: int) -> dict[str, Any]:
    counts = {"scored": pairs, "errors": 0, "tie_checked": 1, "tie_tokens": 10, "tokens": 20 * pairs}
    return counts | {"engines_started": 1}


def _candidate(pinned: Pins, member: str, rank: int) -> dict[str, Any]:
    return {
        "run_id": pinned.run_id,
        "member_id": member,
        "rank": rank,
        "qualification_id": f"q{rank}",
        "similarity": 0.5,
        "profile_version": 1,
        "profile_hash": member,
        "catalog_version": pinned.catalog_version,
        "retriever_id": pinned.retriever_id,
    }


def _outcome(pinned: Pins, member: str, number: int) -> dict[str, Any]:
    accepted = sum(number * 4 <= rank < number * 4 + 4 for rank in ACCEPTED[member])
    goes_on = number == 0 and accepted > 0
    return {
        "run_id": pinned.run_id,
        "round": number,
        "member_id": member,
        "judged": 4,
        "accepted": accepted,
        "missing": 0,
        "goes_on": goes_on,
        "reason": "goes_on" if goes_on else "accepted_too_little",
    }


def _coverage(pinned: Pins, member: str, at: datetime) -> dict[str, Any]:
    return {
        "run_id": pinned.run_id,
        "member_id": member,
        "profile_version": 1,
        "profile_hash": text_hash(PROFILE_TEXT.format(member)),
        "query_hash": "query" if member == "ann" else f"query of {member}",
        "profiles_delta_version": pinned.profiles_delta_version,
        "catalog_version": pinned.catalog_version,
        "catalog_delta_version": pinned.catalog_delta_version,
        "artifact_id": pinned.artifact_id,
        "scorer_id": pinned.scorer_id,
        "retriever_id": pinned.retriever_id,
        "candidates_per_member": N_CANDIDATES,
        "pinned_at": at,
        "candidates": N_CANDIDATES,
        "rounds": DEPTH[member] // 4,
        "judged": DEPTH[member],
        "accepted": len(ACCEPTED[member]),
        "depth": DEPTH[member],
        "stop_reason": "accepted_too_little",
        "is_complete": True,
    }


def _uncovered(pinned: Pins, member: str, at: datetime) -> dict[str, Any]:
    zero = dict.fromkeys(("candidates", "rounds", "judged", "accepted", "depth"), 0)
    state = {"stop_reason": None, "is_complete": False, "incomplete_reason": "quarantined"}
    return _coverage(pinned, "bob", at) | {"member_id": member} | zero | state


def _aside(run_id: str, at: datetime) -> dict[str, Any]:
    where = {"run_id": run_id, "step": "retrieve_candidates", "table": "profiles", "key": "cat"}
    return where | {"reason": "profile_text holds no <text>", "value_hash": "hash", "at": at}


def _publish(root: Path, pinned: Pins) -> dict[str, int]:
    """Append ann's labels in one commit that carries the run's id, unless they stand already."""
    if DeltaTable(table_path(root, LABELS)).version() > 0:
        return {}
    labels = [_label(pinned, rank) for rank in ACCEPTED["ann"]]
    change = {"run_id": pinned.run_id, "member_id": "ann", "change": "added", "reason": "first_time", "before": None}
    rows = [change | {"qualification_id": label["qualification_id"], "after": label} for label in labels]
    put(root, LABEL_CHANGES, rows)
    put(root, LABELS, labels, metadata=pinned.run_id)
    return {"added": len(labels)}


def _label(pinned: Pins, rank: int) -> dict[str, Any]:
    return {
        "member_id": "ann",
        "qualification_id": f"q{rank}",
        "score": 0.9,
        "threshold": pinned.threshold,
        "artifact_id": pinned.artifact_id,
        "scorer_id": pinned.scorer_id,
        "query_hash": "query",
        "item_hash": f"item {rank}",
        "profile_version": 1,
        "catalog_version": pinned.catalog_version,
        "rank": rank,
        "round": rank // 4,
        "judged_run_id": pinned.run_id,
        "published_run_id": pinned.run_id,
        "since_run_id": pinned.run_id,
    }
