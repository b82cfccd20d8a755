"""The metrics that the ledger gives: how old the labels are, runs by state, what was scored, where the time went."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import get_args

from jobs.metrics import names
from jobs.metrics.names import Metric, Sample
from jobs.pins import PINNED
from jobs.rules.run_state import RunState
from jobs.rules.standing import PROFILE_UPDATES, ROLLBACK
from jobs.run_ledger import RunLedger

_SUMMED = {
    "scored": names.PAIRS_SCORED,
    "pairs_reused": names.PAIRS_REUSED,
    "errors": names.ROWS_NOT_SCORED,
    "tokens": names.TOKENS,
    "tie_checked": names.TIE_CHECKS,
    "tie_tokens": names.TIE_TOKENS,
    "engines_started": names.ENGINES_STARTED,
}


def ledger_samples(runs: Iterable[RunLedger], now: datetime) -> list[Sample]:
    """Return every sample that follows from the runs, oldest first, at a moment."""
    known = list(runs)
    newest = {run.kind: run for run in known if run.state == "published"}
    return [
        *_ages({run.kind: run for run in _up_to_date(known)}.values(), now),
        *_states(known, now),
        *_sums(known),
        *(sample for run in newest.values() for sample in _newest(run)),
    ]


def maintenance_samples(maintained_at: datetime | None, now: datetime) -> list[Sample]:
    """Return how long ago table maintenance ended; none where it never did."""
    if maintained_at is None:
        return []
    return [Sample(metric=names.MAINTENANCE_AGE, value=(now - maintained_at).total_seconds())]


def labels_age_s(runs: Iterable[RunLedger], now: datetime) -> tuple[float, str] | None:
    """Return the age of the published labels and the run that they are as fresh as; None where nothing is published."""
    published = _up_to_date(list(runs))
    if not published:
        return None
    newest = max(published, key=lambda run: run.pinned_at)
    return (now - newest.pinned_at).total_seconds(), newest.run_id


def _up_to_date(runs: list[RunLedger]) -> list[RunLedger]:
    """Keep the published runs that brought labels up to their pins, and still do.

    A rollback brings them back, a run that was rolled back no longer does, one whose labeler or catalog is on hold
    looked at nobody, and profile updates looked at the members of a batch only.
    """
    published = [run for run in runs if run.state == "published"]
    rolled_back = {run.of(PINNED).get("rolls_back") for run in published}
    return [
        run
        for run in published
        if run.kind not in (ROLLBACK, PROFILE_UPDATES)
        and run.run_id not in rolled_back
        and not run.of("scope_members").get("is_on_hold")
    ]


def _ages(newest: Iterable[RunLedger], now: datetime) -> Iterator[Sample]:
    for run in newest:
        yield Sample(metric=names.LABELS_AGE, value=(now - run.pinned_at).total_seconds(), labels=(run.kind,))


def _states(runs: list[RunLedger], now: datetime) -> Iterator[Sample]:
    """Count the runs of each kind in each state, the empty ones too, so that a series does not end at 0."""
    counts = Counter((run.kind, run.state) for run in runs)
    for kind in sorted({run.kind for run in runs}):
        for state in get_args(RunState):
            yield Sample(metric=names.RUNS_BY_STATE, value=counts[kind, state], labels=(kind, state))
        for state in ("open", "held"):
            pinned = [run.pinned_at for run in runs if (run.kind, run.state) == (kind, state)]
            age = (now - min(pinned)).total_seconds() if pinned else 0.0
            yield Sample(metric=names.OLDEST_RUN_AGE, value=age, labels=(kind, state))


def _sums(runs: list[RunLedger]) -> Iterator[Sample]:
    sums: defaultdict[tuple[Metric, tuple[str, ...]], float] = defaultdict(float)
    for run in runs:
        for jobs in run.rounds().values():
            for payload in jobs.values():
                for key, metric in _SUMMED.items():
                    sums[metric, (run.kind,)] += payload.get(key, 0)
        for job, seconds in run.seconds_by_job().items():
            sums[names.JOB_SECONDS, (run.kind, job)] += seconds
        sums[names.RUN_FAILURES, (run.kind,)] += run.n_failed
        sums[names.CANARY_FAILURES, (run.kind,)] += run.n_canary_failures
    for (metric, labels), value in sums.items():
        yield Sample(metric=metric, value=value, labels=labels)


def _newest(run: RunLedger) -> Iterator[Sample]:
    """What the newest published run of a kind says of itself."""
    yield Sample(metric=names.RUN_SECONDS, value=run.elapsed_s() or 0.0, labels=(run.kind,))
    if (waited := run.waited_s()) is not None:
        yield Sample(metric=names.RUN_WAITED_SECONDS, value=waited, labels=(run.kind,))
    for job, seconds in run.seconds_by_job().items():
        yield Sample(metric=names.RUN_JOB_SECONDS, value=seconds, labels=(run.kind, job))
    report = run.of("report_run")
    if "quarantined" in report:
        yield Sample(metric=names.QUARANTINED, value=report["quarantined"], labels=(run.kind,))
    for category, counts in report.get("positive_rate", {}).items():
        if counts["judged"]:
            share = counts["accepted"] / counts["judged"]
            yield Sample(metric=names.POSITIVE_RATE, value=share, labels=(run.kind, category))
