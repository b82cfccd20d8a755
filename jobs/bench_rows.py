"""Made-up rows in the tables that a deployment has after one run of all members and some of a few, in bounded memory.

Half of a member's candidates were judged, a quarter of those accepted. Ids and hashes are as long as real ones, texts
are short. A table's rows come as one Arrow table a file; `order` says how its members lie in the files:

- `mixed`: every file holds rows of any member, in no order, as a shuffle leaves them
- `sorted`: as the jobs leave them: each file in the order of its members, who are from all over; a member's rows of a
  run lie in one file where the writer has shuffled by member or query, else in every one
- `clustered`: every file holds the rows of one range of members, in their order
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from schemas.candidates import CANDIDATES
from schemas.coverage import COVERAGE
from schemas.judgments import JUDGMENTS
from schemas.label_changes import LABEL_CHANGES, LABEL_ROW
from schemas.labels import LABEL_COLUMNS, LABELS
from schemas.member_rounds import MEMBER_ROUNDS
from schemas.round_outcomes import ROUND_OUTCOMES
from schemas.scope import SCOPE
from schemas.table import Table
from schemas.texts import TEXTS

Order = Literal["mixed", "sorted", "clustered"]
Ints = NDArray[np.int64]

N_ENTRIES, K, ROUND, N_JUDGED, ACCEPTED_EVERY = 10_000, 200, 50, 100, 4
LABELS_EACH = N_JUDGED // ACCEPTED_EVERY
AT = datetime(2026, 1, 1, tzinfo=UTC)
SHARED: dict[str, Any] = {
    "artifact_id": "a" * 64, "scorer_id": "s" * 64, "retriever_id": "r" * 64, "catalog_version": "c" * 64,
    "profile_version": 1, "profiles_delta_version": 0, "catalog_delta_version": 0, "candidates_per_member": K,
    "pinned_at": AT, "judged_at": AT, "generation": 0, "is_reference": False, "engine": '{"engine":"cascade"}',
    "threshold": 0.5, "change": "added", "reason": "first_time", "kind": "query", "missing": 0, "goes_on": True,
    "candidates": K, "rounds": N_JUDGED // ROUND, "judged": N_JUDGED, "accepted": LABELS_EACH, "depth": N_JUDGED,
    "stop_reason": "accepted_too_little", "is_complete": True,
    "reasons": ["first_time"], "keeps_candidates": False,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run and its members, as places in the population."""

    run_id: str
    members: Ints


@dataclass(frozen=True)
class Population:
    """Members in the order of their ids and of their hashes, and the entries that each is proposed."""

    n_members: int
    member_ids: pa.Array = field(init=False, repr=False)
    hashes: pa.Array = field(init=False, repr=False)
    entry_ids: pa.Array = field(init=False, repr=False)
    entry_hashes: pa.Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Hash all ids."""
        hashes = sorted(_hash(f"query {n}") for n in range(self.n_members))
        entries = [f"http://data.europa.eu/esco/skill/{_hash(str(n))[:36]}" for n in range(N_ENTRIES)]
        columns = {
            "hashes": hashes,
            "member_ids": [f"http://example.org/member/{hash_[:16]}" for hash_ in hashes],
            "entry_ids": entries,
            "entry_hashes": [_hash(entry) for entry in entries],
        }
        for name, values in columns.items():
            object.__setattr__(self, name, pa.array(values))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def rows_of(table: Table, people: Population, run: Run, order: Order, *, n_files: int) -> Iterator[pa.Table]:
    """Yield the rows that a run leaves in a table, a file each."""
    for place in range(n_files):
        members, ranks = _pairs(table, run, order, place, n_files)
        if len(members):
            yield _table(table, people, run, members, ranks)


RANKS = {CANDIDATES: range(K), JUDGMENTS: range(N_JUDGED)} | dict.fromkeys(
    (LABELS, LABEL_CHANGES), range(0, N_JUDGED, ACCEPTED_EVERY)
)
"""A row a pair: which ranks have one. The other tables have a row a member, or a member and round."""
BY_MEMBER = (CANDIDATES, JUDGMENTS)
"""Of these, the tables whose writers put a member's rows into one file."""


def _pairs(table: Table, run: Run, order: Order, place: int, n_files: int) -> tuple[Ints, Ints]:
    """Return the member and the rank of each row of a file; a rank is a round where a row is one."""
    ranks = np.array(RANKS.get(table, range(2 if table in (MEMBER_ROUNDS, ROUND_OUTCOMES) else 1)))
    if order == "clustered":
        members = np.array_split(run.members, n_files)[place]
    elif len(ranks) > n_files and not (order == "sorted" and table in BY_MEMBER):
        members, ranks = run.members, ranks[place::n_files]
    else:
        members = run.members[place::n_files]
    rows = np.repeat(members, len(ranks)), np.tile(ranks, len(members))
    if order == "mixed":
        shuffled = np.random.default_rng(place).permutation(len(rows[0]))
        return rows[0][shuffled], rows[1][shuffled]
    return rows


def _table(table: Table, people: Population, run: Run, members: Ints, ranks: Ints) -> pa.Table:
    columns = _columns(people, run, members, ranks)
    arrays = [_column(field, columns, len(members)) for field in table.columns]
    return pa.Table.from_arrays(arrays, schema=table.columns)


def _column(column: pa.Field, known: dict[str, Any], n_rows: int) -> pa.Array:
    if column.name == "after":
        inner = [_column(field, known, n_rows) for field in LABEL_COLUMNS]
        return pa.StructArray.from_arrays(inner, fields=list(LABEL_ROW))
    if column.name in known:
        value = known[column.name]()
        return value.cast(column.type) if isinstance(value, pa.Array) else pa.array(value, column.type)
    return pa.repeat(pa.scalar(SHARED.get(column.name), column.type), n_rows)


def _columns(people: Population, run: Run, members: Ints, ranks: Ints) -> dict[str, Any]:
    """Return what differs from row to row, by column, computed when asked for."""
    entries = (members * 7919 + ranks * 37) % N_ENTRIES
    margins = np.where(ranks % ACCEPTED_EVERY == 0, 1.0, -1.0) * (0.5 + np.random.default_rng(0).random(len(ranks)))

    def run_ids() -> pa.Array:
        return pa.repeat(pa.scalar(run.run_id), len(members))

    def items(values: pa.Array) -> pa.Array:
        each = (members[:, None] * 7919 + (ranks[:, None] * ROUND + np.arange(ROUND)) * 37) % N_ENTRIES
        offsets = pa.array(np.arange(0, each.size + 1, ROUND, dtype=np.int32))
        return pa.ListArray.from_arrays(offsets, values.take(pa.array(each.ravel())))

    def none() -> pa.Array:
        return pa.ListArray.from_arrays(pa.array(np.zeros(len(members) + 1, np.int32)), pa.array([], pa.string()))

    return {
        **dict.fromkeys(("run_id", "judged_run_id", "published_run_id", "since_run_id"), run_ids),
        "member_id": lambda: people.member_ids.take(pa.array(members)),
        **dict.fromkeys(
            ("query_hash", "text_hash", "profile_hash", "text", "query_text"),
            lambda: people.hashes.take(pa.array(members)),
        ),
        "qualification_id": lambda: people.entry_ids.take(pa.array(entries)),
        "item_hash": lambda: people.entry_hashes.take(pa.array(entries)),
        "rank": lambda: ranks,
        "round": lambda: ranks // ROUND if len(ranks) and ranks.max() > 1 else ranks,
        "margin": lambda: margins,
        "score": lambda: 1 / (1 + np.exp(-margins)),
        "similarity": lambda: np.round(1 - ranks / K, 5),
        "item_ids": lambda: items(people.entry_ids),
        "item_texts": lambda: items(people.entry_ids),
        "item_hashes": lambda: items(people.entry_hashes),
        **dict.fromkeys(("reused_ids", "reused_hashes"), none),
    }


BIG = (JUDGMENTS, LABELS, LABEL_CHANGES, CANDIDATES, MEMBER_ROUNDS, ROUND_OUTCOMES, COVERAGE, SCOPE, TEXTS)
