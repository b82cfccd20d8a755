"""Published runs one after another, as the jobs leave them, written by delta-rs alone: for tests of the audit.

Candidates are the active entries in the order of their ids, in rounds of 2; a member stops when a round accepts none.
The rules that decide and name a change are those of `jobs.rules.labels`.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from math import exp
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake

from jobs.ledger import PUBLISHED
from jobs.pins import PINNED, Pins
from jobs.rules.labels import Entry, Label, change_reason, label_change
from jobs.rules.standing import MemberPins
from jobs.settings import Settings
from jobs.table_admin import create_missing, current_version
from jobs.table_path import table_path
from mis_scoring.core.artifact import CHECKPOINT_FILES, LabelerArtifact
from mis_scoring.core.identity import digest, text_hash
from mis_scoring.core.prompt import COMPACT
from mis_scoring.core.readout import margin_of
from mis_scoring.core.rounds import RoundRule
from schemas.candidates import CANDIDATES
from schemas.catalog import CATALOG
from schemas.coverage import COVERAGE
from schemas.every import RUN_TABLES, UPSTREAM_TABLES
from schemas.judgments import JUDGMENTS
from schemas.label_changes import LABEL_CHANGES
from schemas.labels import LABELS
from schemas.member_rounds import MEMBER_ROUNDS
from schemas.profiles import PROFILES
from schemas.scope import SCOPE
from schemas.table import Table
from schemas.texts import TEXTS
from tests.published_run import append_events, put
from tests.published_run import pins as pins_of_tables

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
N = 2
Margins = Callable[[str, str], float]
"""(query text, item text) -> margin."""


def shares_a_word(query_text: str, item_text: str) -> float:
    """Accept an item whose first word stands in the profile."""
    word = COMPACT.qualification_of(item_text).split()[0]
    return 2.0 + len(word) / 10 if word in query_text else -2.0 - len(word) / 10


ARTIFACT = LabelerArtifact(  # no weights: its description is all that is read
    name="tiny",
    prompt=COMPACT,
    label_tokens={"yes": "YES", "no": "NO"},
    numeric_profile={"dtype": "float32", "quantisation": "none", "readout": "float32"},
    threshold=0.5,
    round_rule=RoundRule(candidates_per_round=2, stop_below=0.1),
    tie_eps=1e-4,
    domain={"catalog": "made up", "description": "made up"},
    evaluation={},
    digests=dict.fromkeys(CHECKPOINT_FILES, "0" * 64),
)


@dataclass
class History:
    """Tables under one root and the runs that made them, a day apart."""

    settings: Settings
    margins: Margins = shares_a_word
    pinned: Mapping[str, Any] = field(default_factory=dict)
    """Pins of the next runs that are not made up."""
    labels: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    coverage: dict[str, dict[str, Any]] = field(default_factory=dict)
    judged: dict[tuple[str, str, str], dict[str, Any]] = field(default_factory=dict)
    texts: set[str] = field(default_factory=set)
    entries: dict[str, tuple[str, str]] = field(default_factory=dict)
    profiles: dict[str, str] = field(default_factory=dict)
    n_runs: int = 0
    keeps_candidates: bool = False
    """Whether the next runs take the candidates that were retrieved last, as where entries only went since."""
    retrieved: tuple[int, list[str]] = (0, [])
    """By the last retrieval: its version of `catalog`, and the candidates by rank."""

    def __post_init__(self) -> None:
        create_missing(self.root, *UPSTREAM_TABLES, *RUN_TABLES)

    @property
    def root(self) -> Path:
        return self.settings.tables

    def stage_artifact(self) -> None:
        """Stage a labeler for the next runs, but for its weights."""
        folder = self.settings.staging / "artifacts" / "tiny"
        folder.mkdir(parents=True, exist_ok=True)
        ARTIFACT.save(folder)
        self.pinned = {"artifact_id": ARTIFACT.artifact_id, "artifact_folder": str(folder)}

    def put_profiles(self, profiles: Mapping[str, str]) -> None:
        self.profiles = dict(profiles)
        rows = [{"member_id": k, "profile_text": v, "profile_version": self.n_runs + 1} for k, v in profiles.items()]
        self._overwrite(PROFILES, rows)

    def put_catalog(self, entries: Mapping[str, str], *, retired: tuple[str, ...] = ()) -> None:
        self.entries = {key: (text, "retired" if key in retired else "active") for key, text in entries.items()}
        rows = [
            {"qualification_id": key, "category": "skill", "text": text, "status": status}
            for key, (text, status) in self.entries.items()
        ]
        self._overwrite(CATALOG, rows)

    def at(self, run_id: str) -> datetime:
        """When a run was pinned: `run-3` three days after the start."""
        return START + timedelta(days=int(run_id.rsplit("-", 1)[1]))

    def run(self, *, published: bool = True, kind: str = "weekly_full") -> str:
        """Publish the whole population; returns the run's id."""
        self.n_runs += 1
        run_id = f"run-{self.n_runs}"
        found = replace(pins_of_tables(self.root, run_id, kind=kind, pinned_at=self.at(run_id)), candidates_per_round=N)
        pins = replace(found, catalog_version=digest(self.entries)[:16], **self.pinned)
        members = {member: self._judge(pins, member) for member in self.profiles}
        version = self._publish(pins, members) if published else None
        scored = {"scored": 10, "tokens": 500, "tie_tokens": 0, "seconds": 2.0}
        events: dict[str, dict[str, Any]] = {PINNED: asdict(pins), "scope_members": {"members": len(members)}}
        events["round_0_score_round"] = scored
        if published:
            events[PUBLISHED] = {"labels_version": version, "compared_with": current_version(self.root, LABELS)}
        append_events(self.root, run_id, events, at=self.at(run_id))
        return run_id

    def _judge(self, pins: Pins, member: str) -> list[dict[str, Any]]:
        """Judge a member round by round, write what the jobs write, and return the judged pairs."""
        query = COMPACT.render_query(self.profiles[member])
        if not self.keeps_candidates:
            active = [key for key, (_, status) in sorted(self.entries.items()) if status == "active"]
            self.retrieved = pins.catalog_delta_version, active
        ranked = self.retrieved[1]
        put(self.root, SCOPE, [self._in_scope(pins, member)])
        put(self.root, CANDIDATES, [self._candidate(pins, member, *place) for place in enumerate(ranked)])
        pairs: list[dict[str, Any]] = []
        for number in range(-(-len(ranked) // N)):
            ids = ranked[number * N : number * N + N]
            places = [(key, rank) for rank, key in enumerate(ids, number * N) if self.entries[key][1] == "active"]
            new = [self._pair(pins, query, key, rank, number) for key, rank in places]
            self._keep_round(pins, member, number, query, new)
            pairs += new
            if not any(pair["margin"] >= margin_of(pins.threshold) for pair in new):
                break
        return pairs

    def _pair(self, pins: Pins, query: str, key: str, rank: int, number: int) -> dict[str, Any]:
        item = COMPACT.render_item(self.entries[key][0])
        hashes = (pins.scorer_id, text_hash(query), text_hash(item))
        is_new = hashes not in self.judged
        if is_new:
            margin = self.margins(query, item)
            names = ("scorer_id", "query_hash", "item_hash")
            self.judged[hashes] = dict(zip(names, hashes, strict=True)) | {
                "generation": 0,
                "margin": margin,
                "score": 1 / (1 + exp(-margin)),
                "is_reference": False,
                "engine": '{"device":"cpu","engine":"cascade"}',
                "run_id": pins.run_id,
                "judged_at": self.at(pins.run_id),
            }
            put(self.root, JUDGMENTS, [self.judged[hashes]])
        return self.judged[hashes] | {"key": key, "rank": rank, "round": number, "item": item, "is_new": is_new}

    def _keep_round(self, pins: Pins, member: str, number: int, query: str, pairs: list[dict[str, Any]]) -> None:
        new, reused = [p for p in pairs if p["is_new"]], [p for p in pairs if not p["is_new"]]
        row = {"run_id": pins.run_id, "round": number, "member_id": member, "query_hash": text_hash(query)}
        row |= {"query_text": query, "item_ids": [p["key"] for p in new], "item_hashes": [p["item_hash"] for p in new]}
        row |= {"item_texts": [p["item"] for p in new], "reused_ids": [p["key"] for p in reused]}
        put(self.root, MEMBER_ROUNDS, [row | {"reused_hashes": [p["item_hash"] for p in reused]}])
        for kind, text in [("query", query), *(("item", p["item"]) for p in new)]:
            if new and text_hash(text) not in self.texts:
                self.texts.add(text_hash(text))
                put(self.root, TEXTS, [{"text_hash": text_hash(text), "kind": kind, "text": text}])

    def _publish(self, pins: Pins, members: Mapping[str, list[dict[str, Any]]]) -> int | None:
        rows = {member: self._coverage(pins, member, pairs) for member, pairs in members.items()}
        gone = {member for member, _ in self.labels} - members.keys()
        rows |= {member: self._coverage(pins, member, []) | _GONE for member in gone}
        put(self.root, COVERAGE, list(rows.values()))
        found = {
            (m, p["key"]): self._label(pins, p, m) for m, pairs in members.items() for p in pairs if _is_in(p, pins)
        }
        changes = [
            self._change(pins, pair, found.get(pair), rows) for pair in sorted(self.labels.keys() | found.keys())
        ]
        kept = [change for change in changes if change is not None]
        self.coverage |= rows
        if not kept:
            return None
        put(self.root, LABEL_CHANGES, kept)
        for change in kept:
            pair = change["member_id"], change["qualification_id"]
            self.labels.pop(pair, None)
            if change["after"]:
                self.labels[pair] = change["after"]
        self._overwrite(LABELS, list(self.labels.values()))
        return current_version(self.root, LABELS)

    def _change(
        self, pins: Pins, pair: tuple[str, str], after: dict[str, Any] | None, rows: Mapping[str, dict[str, Any]]
    ) -> dict[str, Any] | None:
        before = self.labels.get(pair)
        text, status = self.entries.get(pair[1], (None, None))
        item_hash = text_hash(COMPACT.render_item(text)) if text is not None else None
        entry = Entry(status=status, item_hash=item_hash, is_quarantined=False)
        is_gone, earlier = pair[0] not in self.profiles, self.coverage.get(pair[0])
        one, other = _identity(before), _identity(after)
        change = label_change(one, other, entry, is_member_removed=is_gone)
        if change is None:
            return None
        then = _pins(earlier) if earlier else None
        reason = change_reason(one, other, entry, _pins(rows[pair[0]]), then, is_member_removed=is_gone)
        if after is not None and before is not None:
            after = after | {"since_run_id": before["since_run_id"]}
        ids = {"run_id": pins.run_id, "member_id": pair[0], "qualification_id": pair[1]}
        return ids | {"change": change, "reason": reason, "before": before, "after": after}

    def _in_scope(self, pins: Pins, member: str) -> dict[str, Any]:
        profile = {"profile_version": 1, "profile_hash": text_hash(self.profiles[member])}
        return {
            "run_id": pins.run_id,
            "member_id": member,
            "reason": "first_time",
            "reasons": ["first_time"],
            "keeps_candidates": False,
        } | profile

    def _candidate(self, pins: Pins, member: str, rank: int, key: str) -> dict[str, Any]:
        names = ("run_id", "catalog_version", "retriever_id")
        row = {name: getattr(pins, name) for name in names} | {"member_id": member, "rank": rank}
        row |= {"qualification_id": key, "similarity": 0.9 - rank / 10, "profile_version": 1}
        return row | {"profile_hash": text_hash(self.profiles[member])}

    def _coverage(self, pins: Pins, member: str, pairs: list[dict[str, Any]]) -> dict[str, Any]:
        text = self.profiles.get(member)
        row = {name: getattr(pins, name) for name in COVERAGE.columns.names if hasattr(pins, name)}
        n_rounds = len({pair["round"] for pair in pairs})
        return row | {
            "member_id": member,
            "profile_version": None if text is None else 1,
            "profile_hash": None if text is None else text_hash(text),
            "pinned_at": self.at(pins.run_id),
            "candidates": sum(status == "active" for _, status in self.entries.values()),
            "rounds": n_rounds,
            "judged": len(pairs),
            "depth": min(n_rounds * N, len(self.retrieved[1])),
            "retrieval_delta_version": None if text is None else self.retrieved[0],
            "accepted": sum(_is_in(pair, pins) for pair in pairs),
            "stop_reason": "accepted_too_little",
            "is_complete": True,
        }

    def _label(self, pins: Pins, pair: Mapping[str, Any], member: str) -> dict[str, Any]:
        of_pair = {name: pair[name] for name in ("score", "scorer_id", "query_hash", "item_hash", "rank", "round")}
        of_run = {name: getattr(pins, name) for name in ("threshold", "artifact_id", "catalog_version")}
        ids = {"member_id": member, "qualification_id": pair["key"], "profile_version": 1}
        runs = {"judged_run_id": pair["run_id"], "published_run_id": pins.run_id, "since_run_id": pins.run_id}
        return ids | of_pair | of_run | runs

    def _overwrite(self, table: Table, rows: list[dict[str, Any]]) -> None:
        write_deltalake(table_path(self.root, table), pa.Table.from_pylist(rows, table.columns), mode="overwrite")


_GONE = {"candidates": 0, "stop_reason": "member_removed"}


def _is_in(pair: Mapping[str, Any], pins: Pins) -> bool:
    return bool(pair["margin"] >= margin_of(pins.threshold))


def _identity(label: Mapping[str, Any] | None) -> Label | None:
    names = ("score", "threshold", "artifact_id", "query_hash", "item_hash")
    return None if label is None else Label(**{name: label[name] for name in names})


def _pins(row: Mapping[str, Any]) -> MemberPins:
    return MemberPins(**{name: row[name] for name in MemberPins.__dataclass_fields__})
