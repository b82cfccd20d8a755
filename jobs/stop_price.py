"""What early stopping cost a run and what it saved, estimated from the members that were judged past their stop.

Needs no Spark; reads the run's coverage by count and the sample's rows, a row a member.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from jobs.pins import Pins
from jobs.rules.stop_price import INTERVAL, Estimate, estimate_total, share_of
from jobs.run_figures import summed_over_rounds
from jobs.run_ledger import RunLedger
from jobs.settings import Settings
from jobs.table_path import table_exists
from jobs.table_reader import literal, query
from schemas.coverage import COVERAGE
from schemas.stop_sample import STOP_SAMPLE

Row = Mapping[str, Any]


def stop_price(
    settings: Settings, pins: Pins, ledger: RunLedger, judged: Mapping[str, Mapping[str, int]]
) -> dict[str, Any] | None:
    """Return the estimates of a run; None where it drew no sample.

    Args:
        judged: `run_figures.positive_rate`: category -> pairs that the run judged and accepted.
    Returns:
        counts of members and of the sample's own cost; labels_lost, by category too, pairs_saved and tokens_saved as
        `_shown` tells them.
    """
    sample = sample_rows(settings, pins.run_id)
    if not sample:
        return None
    stopped = [row for row in sample if is_stopped(row, pins)]
    whole = [row for row in stopped if row["is_judged_to_end"]]
    population = _stopped_members(settings, pins)
    spent, limit = summed_over_rounds(ledger), settings.stop_price_max_width

    def shown(values: Sequence[float], done: float) -> dict[str, Any]:
        return _shown(values, population["members_stopped"], done, limit)

    accepted = {category: counts["accepted"] for category, counts in judged.items()}
    lost = {category: [_lost(row, pins, category) for row in whole] for category in _categories(whole, accepted)}
    return {
        "members_judged": members_judged(settings, pins.run_id),
        **population,
        "sampled": len(sample),
        "sampled_stopped": len(stopped),
        "sampled_not_judged": len(stopped) - len(whole),
        "scored_past_stop": spent["past_stop_scored"],
        "tokens_past_stop": spent["past_stop_tokens"] + spent["past_stop_tie_tokens"],
        "labels_lost": shown([_lost(row, pins) for row in whole], sum(accepted.values())),
        "labels_lost_by_category": {name: shown(lost[name], accepted.get(name, 0)) for name in sorted(lost)},
        "pairs_saved": shown([row["scored_past_stop"] for row in whole], spent["scored"]),
        "tokens_saved": shown(
            [row["tokens_past_stop"] for row in whole],
            spent["tokens"] + spent["tie_tokens"],
        ),
        "max_width": limit,
        "interval": INTERVAL,
    }


def members_judged(settings: Settings, run_id: str) -> int:
    """Return how many members the rows of a sample stand for: a member who was not judged at all has no row."""
    sql = f"SELECT count(*) AS n FROM coverage WHERE run_id = {literal(run_id)} AND rounds > 0"
    return int(query(settings.tables, sql, COVERAGE)[0]["n"])


def sample_rows(settings: Settings, run_id: str) -> list[dict[str, Any]]:
    """Return the run's rows of `stop_sample`; none where no run has drawn one."""
    if not table_exists(settings.tables, STOP_SAMPLE):
        return []
    return query(settings.tables, f"SELECT * FROM stop_sample WHERE run_id = {literal(run_id)}", STOP_SAMPLE)


def is_stopped(row: Row, pins: Pins) -> bool:
    """Whether a member stopped before its last candidate."""
    return bool(row["stop_reason"] == "accepted_too_little" and _stop_rank(row, pins) < row["candidates"])


def _stop_rank(row: Row, pins: Pins) -> int:
    return int(row["rounds"] * pins.candidates_per_round)


def _lost(row: Row, pins: Pins, category: str | None = None) -> int:
    accepted = zip(row["accepted_ranks"], row["accepted_categories"], strict=True)
    return sum(rank >= _stop_rank(row, pins) and category in (None, own) for rank, own in accepted)


def _categories(rows: Sequence[Row], accepted: Mapping[str, int]) -> set[str]:
    return set(accepted).union(*(row["accepted_categories"] for row in rows))


def _stopped_members(settings: Settings, pins: Pins) -> dict[str, int]:
    sql = f"""
        SELECT count(*) AS members_stopped, coalesce(sum(candidates - depth), 0) AS pairs_not_judged FROM coverage
        WHERE run_id = {literal(pins.run_id)} AND stop_reason = 'accepted_too_little'
        AND rounds * {pins.candidates_per_round} < candidates"""
    return query(settings.tables, sql, COVERAGE)[0]


def _shown(values: Sequence[float], n_members: int, done: float, max_width: float) -> dict[str, Any]:
    """Return an estimate with its share of what there would be without stopping, or why there is no figure."""
    if len(values) < min(2, n_members):
        return {"withheld": f"{len(values)} of the sampled members stopped and were judged to the end; it takes two"}
    estimate = estimate_total(values, n_members) if n_members else Estimate(total=0.0, low=0.0, high=0.0)
    share = share_of(estimate, done)
    if share.high - share.low > max_width:
        reach = f"{share.low:.1%} to {share.high:.1%}"
        return {
            "withheld": f"too few sampled members to tell: the share lies within {reach}, wider than {max_width:.0%}"
        }
    return asdict(estimate) | {"share": share.total, "share_low": share.low, "share_high": share.high}
