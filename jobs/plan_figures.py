"""The sums of a plan over its members, as the ledger, `semlabel plan` and an approval show them; without Spark."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jobs.pins import Pins
from jobs.run_price import BOUNDS, cost_of, measured_tokens_per_s, seconds_of
from jobs.settings import Settings
from jobs.survival_history import Experience
from jobs.table_reader import literal, query
from schemas.member_plans import FIGURES, MEMBER_PLANS, PAST_STOP

_NAMES = {"label_changes": "labels_that_may_change"}


def plan_figures(settings: Settings, pins: Pins, experience: Experience) -> dict[str, Any]:
    """Return a plan's figures, each of the priced ones as {min, expected, max}.

    Returns:
        members, members_removed, reasons (members by reason; one may have several), rounds (members in each), n_rounds
        (that anybody may reach), moved
        (candidates against those that the labels stand on), pairs_to_score, pairs_reused, tokens, gpu_seconds, cost
        (USD), labels_that_may_change, expected_by; stop_sample: members, pairs, tokens, gpu_seconds and cost of the
        sample past its stop, which are in none of the others.
    """
    root = settings.tables
    figures = _figures(root, pins)
    past_stop_pairs, past_stop_tokens = (figures.pop(name) for name in PAST_STOP)
    speed = measured_tokens_per_s(root, scorer_id=pins.scorer_id, engine=pins.engine)
    reasons, rounds = _reasons(root, pins), _rounds(root, pins)
    members = _count(root, pins, "reasons[1] <> 'member_removed'")
    return {
        "kind": pins.kind,
        "members": members,
        "members_removed": reasons.get("member_removed", 0),
        "reasons": reasons,
        "rounds": rounds,
        "n_rounds": len(rounds),
        "moved": _moved(root, pins),
        **figures,
        **_price(settings, figures["tokens"], speed),
        "stop_sample": {
            "members": pins.stop_sample.size(members),
            "pairs": past_stop_pairs,
            "tokens": past_stop_tokens,
            **_price(settings, past_stop_tokens, speed),
        },
        "expected_by": {
            "basis": experience.basis,
            "run_id": experience.run_id,
            "is_comparable": experience.is_comparable,
            "newcomer_ratio": experience.newcomer_ratio,
            "newcomers_of": experience.newcomers_of,
        },
    }


def _price(settings: Settings, tokens: Mapping[str, float], speed: float | None) -> dict[str, dict[str, Any]]:
    """Return gpu_seconds and cost (USD) of so many tokens, each {min, expected, max}; None where not known."""
    seconds = {bound: seconds_of(tokens[bound], speed) for bound in BOUNDS}
    cost = {bound: cost_of(seconds[bound], settings.engines_usd_per_hour) for bound in BOUNDS}
    return {"gpu_seconds": seconds, "cost": cost}


def _figures(root: Path, pins: Pins) -> dict[str, dict[str, float]]:
    names = [name for name in FIGURES if name != "rounds"]
    sums = ", ".join(f"coalesce(sum({n}_{b}), 0) AS {n}_{b}" for n in names for b in BOUNDS)
    row = query(root, f"SELECT {sums} FROM member_plans WHERE run_id = {literal(pins.run_id)}", MEMBER_PLANS)[0]
    return {_NAMES.get(name, name): {bound: round(row[f"{name}_{bound}"], 1) for bound in BOUNDS} for name in names}


def _reasons(root: Path, pins: Pins) -> dict[str, int]:
    sql = f"""
        SELECT reason, count(*) AS members FROM (
            SELECT unnest(reasons) AS reason FROM member_plans WHERE run_id = {literal(pins.run_id)})
        GROUP BY reason ORDER BY members DESC, reason"""
    return {row["reason"]: row["members"] for row in query(root, sql, MEMBER_PLANS)}


def _rounds(root: Path, pins: Pins) -> list[dict[str, int]]:
    """Return, for each round, the members that reach it for certain and those that may."""
    columns = ", ".join(
        f"count(*) FILTER (WHERE rounds_{bound} > {number}) AS {bound}_{number}"
        for number in range(pins.n_rounds)
        for bound in ("min", "max")
    )
    row = query(root, f"SELECT {columns} FROM member_plans WHERE run_id = {literal(pins.run_id)}", MEMBER_PLANS)[0]
    return [
        {"round": number, "members_min": row[f"min_{number}"], "members_max": row[f"max_{number}"]}
        for number in range(pins.n_rounds)
        if row[f"max_{number}"]
    ]


def _moved(root: Path, pins: Pins) -> dict[str, int]:
    sql = f"""
        SELECT count(*) FILTER (WHERE came_in + dropped_out > 0) AS members, coalesce(sum(came_in), 0) AS came_in,
               coalesce(sum(dropped_out), 0) AS dropped_out
        FROM member_plans WHERE run_id = {literal(pins.run_id)}"""
    return query(root, sql, MEMBER_PLANS)[0]


def _count(root: Path, pins: Pins, condition: str) -> int:
    sql = f"SELECT count(*) AS n FROM member_plans WHERE run_id = {literal(pins.run_id)} AND {condition}"
    return int(query(root, sql, MEMBER_PLANS)[0]["n"])
