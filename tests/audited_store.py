"""A published run with what an audit reads beside it: texts, rounds, judgments; written by delta-rs alone.

ann was judged to rank 8 of 10; her profile tries to be a script.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake

from jobs.pins import Pins
from jobs.table_path import table_path
from schemas.catalog import CATALOG
from schemas.judgments import JUDGMENTS
from schemas.labels import LABELS
from schemas.member_rounds import MEMBER_ROUNDS
from schemas.table import REAL, Table
from schemas.texts import TEXTS
from tests.published_run import ACCEPTED, DEPTH, make_tables, put, write_run

RUN_ID = "weekly_full-0123456789ab"
PINNED_AT = datetime(2026, 11, 1, tzinfo=UTC)
PROFILE = "Nurse since 2011. <script>alert('profile')</script> & \"quoted\""
MARGIN = {True: 2.2, False: -1.5}
SLASHED = "http://example.org/skill?a=1&b=<2>"  # an id that has to be quoted in an address and on a page


def write_audited_store(root: Path) -> Pins:
    """Write every table; the labels are ann's q0, q1 and q5."""
    make_tables(root)
    put(root, CATALOG, [_entry(SLASHED, "Weld <b>steel</b>", "active"), _entry("q99", "Long gone", "retired")])
    pins = write_run(root, RUN_ID, at=PINNED_AT)
    put(root, MEMBER_ROUNDS, [_round(pins, number) for number in range(DEPTH["ann"] // 4)])
    put(root, JUDGMENTS, [_judgment(pins, rank) for rank in range(DEPTH["ann"])])
    put(root, TEXTS, [_text("query", PROFILE), *(_text(f"item {r}", f"Text of entry {r}") for r in range(10))])
    return pins


def write_many_labels(root: Path, n_labels: int, *, per_member: int = 100) -> None:
    """Give every member the same entries, column by column: seconds for 100,000 labels."""
    make_tables(root)
    numbers = range(n_labels)
    columns: dict[str, list[Any]] = {
        "member_id": [f"member-{number // per_member:06d}" for number in numbers],
        "qualification_id": [f"q{number % per_member}" for number in numbers],
    }
    same: dict[str, Any] = dict.fromkeys(LABELS.columns.names, "same") | {"rank": 0, "round": 0, "profile_version": 1}
    for field in LABELS.columns:
        if field.name not in columns:
            columns[field.name] = [0.75 if field.type == REAL else same[field.name]] * n_labels
    _write(root, LABELS, columns)


def _write(root: Path, table: Table, columns: dict[str, list[Any]]) -> None:
    write_deltalake(table_path(root, table), pa.table(columns, schema=table.columns), mode="append")


def _entry(qualification_id: str, text: str, status: str) -> dict[str, Any]:
    return {"qualification_id": qualification_id, "category": "skill", "text": text, "status": status}


def _text(hash_: str, text: str) -> dict[str, Any]:
    return {"text_hash": hash_, "kind": "query" if hash_ == "query" else "item", "text": text}


def _round(pins: Pins, number: int) -> dict[str, Any]:
    ranks = range(number * 4, number * 4 + 4)
    return {
        "run_id": pins.run_id,
        "round": number,
        "member_id": "ann",
        "query_hash": "query",
        "query_text": PROFILE,
        "item_ids": [f"q{rank}" for rank in ranks],
        "item_hashes": [f"item {rank}" for rank in ranks],
        "item_texts": [f"Text of entry {rank}" for rank in ranks],
        "reused_ids": [],
        "reused_hashes": [],
    }


def _judgment(pins: Pins, rank: int) -> dict[str, Any]:
    is_accepted = rank in ACCEPTED["ann"]
    return {
        "scorer_id": pins.scorer_id,
        "query_hash": "query",
        "item_hash": f"item {rank}",
        "generation": 0,
        "margin": MARGIN[is_accepted],
        "score": 0.9 if is_accepted else 0.182,
        "is_reference": False,
        "engine": '{"engine":"cascade"}',
        "run_id": pins.run_id,
        "judged_at": PINNED_AT,
    }
