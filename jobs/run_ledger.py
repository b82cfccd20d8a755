"""What runs left in the ledger, a value a run: its events, its state, its rounds, its seconds.

Of several attempts of an event the last counts: it did what the earlier ones left undone. Its seconds are those of all
together, and its wait is that of the first, since a later one may have waited for a person.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from jobs.ledger import CANARY_FAILED, FAILED, PUBLISHED
from jobs.pins import PINNED
from jobs.rules.run_state import RunState, last_step_at, run_state
from jobs.table_reader import literal, query
from schemas.runs import RUNS

_ROUND = re.compile(r"round_(\d+)_(\w+)")


@dataclass(frozen=True, kw_only=True)
class RunLedger:
    """The events of one run.

    Attributes:
        payloads: event -> what the job returned, `seconds` and `waited_s` among it; see above.
        times: event -> when it was appended, UTC.
        n_times: event -> how often it was appended: attempts of a job, failures, holds.
    """

    run_id: str
    payloads: Mapping[str, Mapping[str, Any]] = field(repr=False)
    times: Mapping[str, datetime] = field(repr=False)
    n_times: Mapping[str, int] = field(default_factory=dict, repr=False)

    @property
    def n_failed(self) -> int:
        """How often it failed."""
        return self.n_times.get(FAILED, 0)

    @property
    def n_canary_failures(self) -> int:
        """How often the canary of its engines failed, also where a later try of the round ended well."""
        return self.n_times.get(CANARY_FAILED, 0)

    @property
    def kind(self) -> str:
        """The kind of run, as it was pinned."""
        return str(self.of(PINNED).get("kind", ""))

    @property
    def state(self) -> RunState:
        """See `jobs.rules.run_state`."""
        return run_state(self.times)

    @property
    def pinned_at(self) -> datetime:
        """When its inputs were resolved."""
        return self.times[PINNED]

    @property
    def last_at(self) -> datetime:
        """When its last event was appended."""
        return max(self.times.values())

    @property
    def last_step_at(self) -> datetime:
        """When it last did something; see `jobs.rules.run_state`."""
        return last_step_at(self.times)

    def is_over(self, now: datetime, idle_hours: float) -> bool:
        """Whether no more is meant to come of it and it has done nothing since, so that nobody goes on with it."""
        is_at_its_end = self.state in ("published", "planned", "rejected", "failed")
        return is_at_its_end and now - self.last_step_at > timedelta(hours=idle_hours)

    def of(self, event: str) -> Mapping[str, Any]:
        """Return an event's payload; empty where it has not happened."""
        return self.payloads.get(event, {})

    def rounds(self) -> dict[int, dict[str, Mapping[str, Any]]]:
        """Return round -> job -> payload, in the order of the rounds."""
        found: dict[int, dict[str, Mapping[str, Any]]] = {}
        for number, job, payload in sorted(self._round_events(), key=lambda event: event[:2]):
            found.setdefault(number, {})[job] = payload
        return found

    def seconds_by_job(self) -> dict[str, float]:
        """Return the seconds of each job, its rounds together, in the order in which the jobs first ended."""
        found: dict[str, float] = {}
        for event in sorted(self.payloads, key=self.times.__getitem__):
            if "seconds" in self.payloads[event]:
                round_ = _ROUND.fullmatch(event)
                job = round_[2] if round_ else event
                found[job] = found.get(job, 0.0) + float(self.payloads[event]["seconds"])
        return found

    def waited_s(self) -> float | None:
        """Return how long its jobs waited to start, together; None where no job says so."""
        waited = [payload["waited_s"] for payload in self.payloads.values() if payload.get("waited_s") is not None]
        return sum(waited) if waited else None

    def elapsed_s(self) -> float | None:
        """Return the seconds from the pin to the publication; None where the run is not published."""
        if PINNED not in self.times or PUBLISHED not in self.times:
            return None
        return (self.times[PUBLISHED] - self.times[PINNED]).total_seconds()

    def _round_events(self) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
        for event, payload in self.payloads.items():
            if found := _ROUND.fullmatch(event):
                yield int(found[1]), found[2], payload


def read_run(root: Path, run_id: str) -> RunLedger:
    """Read one run's events by delta-rs."""
    rows = query(root, f"SELECT * FROM runs WHERE run_id = {literal(run_id)} ORDER BY at", RUNS)
    return of_rows(run_id, rows)


def read_runs(root: Path) -> list[RunLedger]:
    """Read all pinned runs, oldest first; grows with all that ever ran, 20 to 60 events a run."""
    return [run for run in _by_run(query(root, "SELECT * FROM runs ORDER BY at", RUNS)) if PINNED in run.times]


def newest_runs(root: Path, *, limit: int, offset: int = 0) -> list[RunLedger]:
    """Read pinned runs, the last pinned first."""
    pinned = f"SELECT run_id FROM runs WHERE event = '{PINNED}' ORDER BY at DESC LIMIT {limit} OFFSET {offset}"
    runs = _by_run(query(root, f"SELECT * FROM runs WHERE run_id IN ({pinned}) ORDER BY at", RUNS))
    return sorted(runs, key=lambda run: run.pinned_at, reverse=True)


def last_maintenance(root: Path) -> datetime | None:
    """Return when the tables were last maintained; such a job stands in the ledger and pins nothing."""
    found: datetime | None = query(root, "SELECT max(at) AS at FROM runs WHERE event = 'maintain_tables'", RUNS)[0][
        "at"
    ]
    return found


def _by_run(rows: Sequence[Mapping[str, Any]]) -> list[RunLedger]:
    by_run: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        by_run.setdefault(row["run_id"], []).append(row)
    return [of_rows(run_id, rows) for run_id, rows in by_run.items()]


def of_rows(run_id: str, rows: Sequence[Mapping[str, Any]]) -> RunLedger:
    """Build a run's value from its rows, oldest first."""
    return RunLedger(
        run_id=run_id,
        payloads=_payloads(rows),
        times={row["event"]: row["at"] for row in rows},
        n_times=Counter(row["event"] for row in rows),
    )


def _payloads(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        payload, before = json.loads(row["payload"]), found.get(row["event"], {})
        if "seconds" in payload and "seconds" in before:
            payload["seconds"] = round(payload["seconds"] + before["seconds"], 3)
        if "waited_s" in before:
            payload["waited_s"] = before["waited_s"]
        found[row["event"]] = payload
    return found
