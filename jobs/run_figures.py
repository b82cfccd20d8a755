"""The figures of one run beyond its quality: funnel, rounds, plan against actual, positive rate, tie band, quarantine.

Counts only; no member and no text is named. Needs no Spark; the positive rate reads the run's candidates once.
"""

import json
from pathlib import Path
from typing import Any

from jobs.ledger import PUBLISHED
from jobs.pins import Pins
from jobs.plan_words import OF_SAMPLE
from jobs.run_ledger import RunLedger
from jobs.table_reader import literal, query
from schemas.candidates import CANDIDATES
from schemas.catalog import CATALOG
from schemas.coverage import COVERAGE
from schemas.labels import LABELS
from schemas.quarantine import QUARANTINE
from schemas.round_outcomes import ROUND_OUTCOMES
from schemas.runs import RUNS

_SUMMED = (
    "scored",
    "pairs_reused",
    "tie_checked",
    "tie_tokens",
    "tokens",
    "engines_started",
    "past_stop_scored",
    "past_stop_tokens",
    "past_stop_tie_tokens",
)
_MOST_REASONS = 50  # of quarantine; an engine's message may differ from row to row


def summed_over_rounds(ledger: RunLedger) -> dict[str, int]:
    """Sum what the rounds counted: pairs scored and reused, tie checks, tokens, engines started.

    The pairs and tokens that price early stopping stand apart, as `past_stop_...`; tie checks are of both.
    """
    payloads = [payload for jobs in ledger.rounds().values() for payload in jobs.values()]
    summed = {name: sum(payload.get(name, 0) for payload in payloads) for name in _SUMMED}
    return summed | {name: summed[name] - summed[f"past_stop_{name}"] for name in ("scored", "tokens", "tie_tokens")}


def funnel(root: Path, pins: Pins, ledger: RunLedger) -> dict[str, int | None]:
    """Count members and pairs from scope to label; None where the ledger does not say."""
    sql = f"""
        SELECT count(*) FILTER (WHERE candidates > 0) AS members_retrieved,
               count(*) FILTER (WHERE judged > 0) AS members_judged,
               count(*) FILTER (WHERE accepted > 0) AS members_with_a_label,
               coalesce(sum(candidates), 0) AS candidates, coalesce(sum(judged), 0) AS judged,
               coalesce(sum(accepted), 0) AS accepted
        FROM coverage WHERE run_id = {literal(pins.run_id)}"""
    summed = summed_over_rounds(ledger)
    return {
        "members_in_scope": ledger.of("plan_refresh").get("members"),
        **query(root, sql, COVERAGE)[0],
        "reused": summed["pairs_reused"],
        "scored": summed["scored"],
    }


def rounds(root: Path, pins: Pins, ledger: RunLedger) -> list[dict[str, Any]]:
    """Return one row a round: members, pairs judged and accepted, new and reused, why members stopped, seconds."""
    sql = f"""
        SELECT round, count(*) AS members, sum(judged) AS judged, sum(accepted) AS accepted, sum(missing) AS missing
        FROM round_outcomes WHERE run_id = {literal(pins.run_id)} AND is_past_stop IS NOT TRUE
        GROUP BY round ORDER BY round"""
    found = []
    for row in query(root, sql, ROUND_OUTCOMES):
        jobs = ledger.rounds().get(row["round"], {})
        score, stop = jobs.get("score_round", {}), jobs.get("stop_early", {})
        found.append(
            {
                **row,
                "accepted_share": row["accepted"] / row["judged"] if row["judged"] else None,
                "scored": score.get("scored", 0) - stop.get("past_stop_scored", 0),
                "pairs_reused": jobs.get("build_round", {}).get("pairs_reused", 0),
                "tokens": sum(score.get(n, 0) - stop.get(f"past_stop_{n}", 0) for n in ("tokens", "tie_tokens")),
                "reasons": dict(stop.get("reasons", {})),
                "seconds": sum(payload.get("seconds", 0.0) for payload in jobs.values()),
            }
        )
    return found


def against_plan(ledger: RunLedger, usd_per_hour: float | None) -> list[dict[str, Any]]:
    """Return what was planned, at least, as expected and at most, beside what it came to.

    What the plan does not know is left out, and so is what is not known afterwards. Tokens are those of packed
    requests, as planned; the rescoring of ties comes on top, in seconds and money too.

    What the sample past its stop cost is left out too, of the seconds by its part of the tokens; its pairs are a row of
    their own where the plan knew of one.

    Args:
        usd_per_hour: rent of all engines together; None where it is not known.
    """
    plan, summed = ledger.of("plan_refresh"), summed_over_rounds(ledger)
    planned, aside = (summed[f"{part}tokens"] + summed[f"{part}tie_tokens"] for part in ("", "past_stop_"))
    planned_share = planned / (planned + aside) if aside else 1.0
    scoring_s = ledger.seconds_by_job().get("score_round", 0.0) * planned_share
    actual = {
        "pairs_to_score": summed["scored"],
        "pairs_reused": summed["pairs_reused"],
        "tokens": summed["tokens"],
        "gpu_seconds": scoring_s,
        "cost": None if usd_per_hour is None else scoring_s * usd_per_hour / 3600,
        "labels_that_may_change": sum(ledger.of(PUBLISHED).get("changes", {}).values()),
    }
    figures = [(what, plan.get(what, {}), value) for what, value in actual.items()]
    sample = plan.get("stop_sample", {})  # not in the ledgers of plans that did not price it
    if sample.get("members"):
        figures.append((OF_SAMPLE, sample["pairs"], summed["past_stop_scored"]))
    return [
        {"what": what, **figure, "actual": value}
        for what, figure, value in figures
        if figure.get("max") is not None and value is not None
    ]


def positive_rate(root: Path, pins: Pins) -> dict[str, dict[str, int]]:
    """Return category -> pairs judged and accepted, of the members that the run published.

    An accepted pair is one that stands in `labels`: exact until a later run publishes the same members.
    """
    sql = f"""
        SELECT coalesce(k.category, 'none') AS category, count(*) AS judged, count(l.member_id) AS accepted
        FROM candidates c
        JOIN coverage v ON v.run_id = c.run_id AND v.member_id = c.member_id AND v.is_complete AND c.rank < v.depth
        JOIN catalog k ON k.qualification_id = c.qualification_id AND k.status = 'active'
        LEFT JOIN labels l ON l.member_id = c.member_id AND l.qualification_id = c.qualification_id
        WHERE c.run_id = {literal(pins.run_id)} GROUP BY 1 ORDER BY 1"""
    at = {CATALOG.name: pins.catalog_delta_version}
    rows = query(root, sql, CANDIDATES, COVERAGE, CATALOG, LABELS, versions=at)
    return {row["category"]: {"judged": row["judged"], "accepted": row["accepted"]} for row in rows}


def previous_positive_rate(root: Path, pins: Pins, ledger: RunLedger) -> dict[str, Any] | None:
    """Return `run_id` and `positive_rate` of the published run before this one; the same kind goes first.

    None where there is none: the first run has nothing to drift from.
    """
    before = ledger.times.get(PUBLISHED)
    sql = f"""
        SELECT run_id, payload FROM runs
        WHERE event = 'report_run' AND run_id <> {literal(pins.run_id)}
        AND run_id IN (SELECT run_id FROM runs WHERE event = '{PUBLISHED}')
        {f"AND at < TIMESTAMP '{before.isoformat()}'" if before else ""}
        ORDER BY run_id LIKE {literal(pins.kind + "-%")} DESC, at DESC"""
    reported = [(row["run_id"], json.loads(row["payload"])) for row in query(root, sql, RUNS)]
    with_rates = ((run_id, payload["positive_rate"]) for run_id, payload in reported if payload.get("positive_rate"))
    return next(({"run_id": run_id, "positive_rate": rate} for run_id, rate in with_rates), None)


def drift(now: dict[str, dict[str, int]], previous: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Return one row a category: share accepted now, before, and the difference; None where nothing was judged."""
    before = previous["positive_rate"] if previous else {}
    rows = []
    for category in sorted({*now, *before}):
        share, earlier = _share(now.get(category)), _share(before.get(category))
        difference = None if share is None or earlier is None else share - earlier
        judged = now.get(category, {}).get("judged", 0)
        rows.append(
            {"category": category, "judged": judged, "share": share, "before": earlier, "difference": difference}
        )
    return rows


def quarantined(root: Path, pins: Pins) -> list[dict[str, Any]]:
    """Return rows (table, step, reason, rows), most first."""
    sql = f"""
        SELECT "table", step, reason, count(*) AS rows FROM quarantine WHERE run_id = {literal(pins.run_id)}
        GROUP BY "table", step, reason ORDER BY rows DESC, "table", reason LIMIT {_MOST_REASONS}"""
    return query(root, sql, QUARANTINE)


def _share(counts: dict[str, int] | None) -> float | None:
    return counts["accepted"] / counts["judged"] if counts and counts["judged"] else None
