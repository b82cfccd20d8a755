"""Tell what other round rules would lose in labels and save in pairs: the frontier, from the samples of runs.

A sampled member has a judgment for every candidate, so any rule can be walked on it. Runs are taken together where
scorer, threshold and K are the same; their rules may differ. Needs no Spark; memory grows with the samples.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from jobs.errors import MissingRequirementError
from jobs.pins import Pins
from jobs.rules.stop_frontier import FrontierPoint, JudgedMember, RunSample, frontier
from jobs.rules.stop_price import INTERVAL
from jobs.run_plots import frontier_plot
from jobs.settings import Settings
from jobs.stop_price import members_judged, sample_rows
from jobs.table_path import table_exists
from jobs.table_reader import pins_of, query
from mis_scoring.core.errors import DataError
from mis_scoring.core.rounds import RoundRule
from schemas.stop_sample import STOP_SAMPLE

STOP_BELOW = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)


def stop_rule(settings: Settings, run_ids: Sequence[str], rounds: Sequence[int]) -> dict[str, Any]:
    """Return the frontier, and leave its plot beside the reports.

    Args:
        run_ids: none: every run with a sample that goes with the newest of them.
        rounds: candidates a round to draw beside those of the runs.
    Raises:
        MissingRequirementError: there is no sample.
        DataError: the runs named do not go together, or a sample is too small.
    """
    chosen = _named(settings, run_ids) if run_ids else _going_with_the_newest(settings)
    samples = {pins.run_id: _sample(settings, pins) for pins in chosen}
    _require_two_each(samples)
    rules = _rules([pins.candidates_per_round for pins in chosen], rounds, [pins.stop_below for pins in chosen])
    points = [_point(one) for one in frontier(list(samples.values()), rules)]
    now = {"candidates_per_round": chosen[0].candidates_per_round, "stop_below": chosen[0].stop_below}
    settings.reports.mkdir(parents=True, exist_ok=True)
    plot = settings.reports / f"stop-rule-{chosen[0].run_id}.svg"
    plot.write_text(frontier_plot(points, now), encoding="utf-8")
    return {
        "run_ids": list(samples),
        "sampled": sum(len(sample.members) for sample in samples.values()),
        "members_judged": sum(sample.n_members for sample in samples.values()),
        "rule": now,
        "points": points,
        "interval": INTERVAL,
        "plot": str(plot),
    }


def _named(settings: Settings, run_ids: Sequence[str]) -> list[Pins]:
    chosen = [pins_of(settings.tables, run_id) for run_id in dict.fromkeys(run_ids)]
    unsampled = [pins.run_id for pins in chosen if not sample_rows(settings, pins.run_id)]
    if unsampled:
        raise MissingRequirementError(f"no sample past the stop in {', '.join(unsampled)}: {_HOW}")
    others = [pins.run_id for pins in chosen if _decided_by(pins) != _decided_by(chosen[0])]
    if others:
        raise DataError(
            f"{', '.join(others)} and {chosen[0].run_id} differ in scorer, threshold or K: ask for them one by one"
        )
    return chosen


def _going_with_the_newest(settings: Settings) -> list[Pins]:
    """Return the pins of the newest run with a sample, then of those that were decided alike."""
    if not table_exists(settings.tables, STOP_SAMPLE):
        raise MissingRequirementError(f"no run has drawn a sample past the stop: {_HOW}")
    rows = query(settings.tables, "SELECT DISTINCT run_id FROM stop_sample", STOP_SAMPLE)
    known = sorted((pins_of(settings.tables, row["run_id"]) for row in rows), key=lambda pins: pins.pinned_at)
    if not known:
        raise MissingRequirementError(f"no run has drawn a sample past the stop: {_HOW}")
    return [pins for pins in reversed(known) if _decided_by(pins) == _decided_by(known[-1])]


def _decided_by(pins: Pins) -> tuple[str, float, int]:
    return pins.scorer_id, pins.threshold, pins.candidates_per_member


def _sample(settings: Settings, pins: Pins) -> RunSample:
    members = [
        JudgedMember(
            n_candidates=row["candidates"],
            accepted_ranks=row["accepted_ranks"],
            unjudged_ranks=row["unjudged_ranks"],
        )
        for row in sample_rows(settings, pins.run_id)
        if row["is_judged_to_end"]
    ]
    return RunSample(n_members=members_judged(settings, pins.run_id), members=members)


def _require_two_each(samples: dict[str, RunSample]) -> None:
    small = [run_id for run_id, sample in samples.items() if len(sample.members) < min(2, sample.n_members)]
    if small:
        raise DataError(f"{', '.join(small)}: fewer than two sampled members were judged to the end; {_HOW}")


def _rules(own_rounds: Sequence[int], rounds: Sequence[int], own_stops: Sequence[float]) -> list[RoundRule]:
    sizes, stops = dict.fromkeys([*own_rounds, *rounds]), sorted({*STOP_BELOW, *own_stops})
    return [RoundRule(candidates_per_round=n, stop_below=stop) for n in sizes for stop in stops]


def _point(found: FrontierPoint) -> dict[str, Any]:
    """Return a point with its totals as shares of what there would be without stopping."""
    lost, saved = asdict(found.labels_lost), asdict(found.pairs_saved)
    return {
        **asdict(found.rule),
        "labels_lost": lost,
        "labels_lost_share": {name: _share(value, found.labels) for name, value in lost.items()},
        "pairs_saved": saved,
        "pairs_saved_share": {name: _share(value, found.pairs) for name, value in saved.items()},
    }


def _share(part: float, whole: float) -> float:
    return min(1.0, max(0.0, part / whole)) if whole else 0.0


_HOW = "runs draw one from SEMLABEL_STOP_SAMPLE_FROM members in scope on: set it lower and refresh"
