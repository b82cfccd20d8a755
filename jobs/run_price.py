"""What a planned run costs, and the ceiling that stops it before anything is spent.

Seconds go by the speed of the last published run that scored enough with the same scorer and engine, money by the rent.
The rescoring of ties comes on top.
"""

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jobs.errors import CeilingError
from jobs.ledger import PUBLISHED
from jobs.pins import PINNED
from jobs.settings import Settings
from jobs.table_reader import query
from schemas.runs import RUNS

BOUNDS = ("min", "expected", "max")
MEASURED_PAIRS = 1000  # fewer measure the start of an engine, not its speed


def seconds_of(tokens: float, tokens_per_s: float | None) -> float | None:
    """Return the seconds of the score stage, all engines of the deployment together; no token takes none."""
    return _times(tokens, None if not tokens_per_s else 1.0 / tokens_per_s, 1)


def cost_of(seconds: float | None, usd_per_hour: float | None) -> float | None:
    """Return the rent of the engines for so long, USD; no time costs nothing, whatever is known."""
    return _times(seconds, None if usd_per_hour is None else usd_per_hour / 3600, 4)


def _times(amount: float | None, rate: float | None, digits: int) -> float | None:
    if amount == 0:
        return 0.0
    return None if amount is None or rate is None else round(amount * rate, digits)


def spent_at(plan: Mapping[str, Any], figure: str, bound: str) -> Any:
    """Return what a plan scores, or what that costs, the sample past its stop included; None where it is not known.

    A sampled member is judged to its last candidate wherever it stops: the later it stops, the less comes after. So the
    most of the one goes with the least of the other, and the sum is exact where both are.

    Args:
        figure: pairs_to_score or cost.
    """
    other = {"min": "max", "expected": "expected", "max": "min"}[bound]
    of_sample = {"pairs_to_score": "pairs", "cost": "cost"}[figure]
    planned, sample = plan[figure][bound], plan.get("stop_sample")
    if sample is None:  # a micro-batch draws none
        return planned
    past_stop = sample[of_sample][other]
    return None if planned is None or past_stop is None else round(planned + past_stop, 4)


def ceilings_passed(plan: Mapping[str, Any], settings: Settings) -> list[str]:
    """Return one sentence for each ceiling that a plan is above, or may be: figure, ceiling, setting, remedy."""
    bound = settings.ceiling_on
    word = "may" if bound == "max" else "is expected to"
    pairs, cost = spent_at(plan, "pairs_to_score", bound), spent_at(plan, "cost", bound)
    found = []
    if settings.max_pairs is not None and pairs > settings.max_pairs:
        found.append(
            f"The run {word} score {pairs:g} pairs, and SEMLABEL_MAX_PAIRS is {settings.max_pairs}. Nothing was "
            "spent: raise it and start again, or take fewer candidates a member."
        )
    if settings.max_cost_usd is not None and cost is None:
        found.append(
            f"SEMLABEL_MAX_COST_USD is {settings.max_cost_usd}, and what {pairs:g} pairs cost is not known: "
            f"SEMLABEL_ENGINES_USD_PER_HOUR is not set, or no published run has scored {MEASURED_PAIRS} pairs with "
            "this scorer and engine yet. Bound the first run by SEMLABEL_MAX_PAIRS in its place."
        )
    elif settings.max_cost_usd is not None and cost > settings.max_cost_usd:
        found.append(
            f"The run {word} cost {cost} USD, and SEMLABEL_MAX_COST_USD is {settings.max_cost_usd}. Nothing was "
            "spent: raise it and start again, or take fewer candidates a member."
        )
    return found


def refuse_above_ceiling(plan: Mapping[str, Any], settings: Settings) -> None:
    """Stop a run that may cost more than a setting allows.

    Raises:
        CeilingError: gives each figure, its ceiling and the setting.
    """
    if found := ceilings_passed(plan, settings):
        raise CeilingError("\n".join(found))


def measured_tokens_per_s(root: Path, *, scorer_id: str, engine: str) -> float | None:
    """Return the speed of the score stage in the last published run with this scorer and engine that scored enough.

    Reads the ledger: some rows a run and round.
    """
    sql = f"SELECT run_id, event, payload FROM runs WHERE event IN ('{PINNED}', '{PUBLISHED}') OR {_SCORES} ORDER BY at"
    runs: dict[str, dict[str, Any]] = defaultdict(dict)
    for row in query(root, sql, RUNS):
        runs[row["run_id"]][row["event"]] = json.loads(row["payload"])
    for events in reversed(list(runs.values())):
        rounds = [payload for event, payload in events.items() if event not in (PINNED, PUBLISHED)]
        pairs, seconds = (sum(payload[name] for payload in rounds) for name in ("scored", "seconds"))
        pins = events.get(PINNED, {})
        is_alike = PUBLISHED in events and (pins.get("scorer_id"), pins.get("engine")) == (scorer_id, engine)
        if is_alike and pairs >= MEASURED_PAIRS and seconds:
            return float(sum(payload["tokens"] for payload in rounds) / seconds)
    return None


_SCORES = r"event LIKE 'round\_%\_score\_round'"
