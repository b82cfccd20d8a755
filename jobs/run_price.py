"""What a planned run costs, and the ceiling that stops it before anything is spent.

Seconds go by the speed of the last published run that scored enough with the same scorer and engine, money by the rent.
The speed is of what each attempt of a round scored itself: its seconds are of no more.
The rescoring of ties comes on top.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
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
    runs: dict[str, dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for row in query(root, sql, RUNS):
        event = row["event"] if row["event"] in (PINNED, PUBLISHED) else _SCORED
        runs[row["run_id"]][event].append(json.loads(row["payload"]))
    for events in reversed(list(runs.values())):
        pins = events[PINNED][0] if events[PINNED] else {}
        is_alike = bool(events[PUBLISHED]) and (pins.get("scorer_id"), pins.get("engine")) == (scorer_id, engine)
        pairs, tokens, seconds = _work(events[_SCORED])
        if is_alike and pairs >= MEASURED_PAIRS and seconds:
            return tokens / seconds
    return None


def _work(attempts: Iterable[Mapping[str, Any]]) -> tuple[float, float, float]:
    """Return pairs, tokens and seconds of the attempts that scored something; a batch of updates has one a round."""
    found = [(one.get("attempt_scored", one["scored"]), one) for one in attempts]
    working = [(pairs, one.get("attempt_tokens", one["tokens"]), one["seconds"]) for pairs, one in found if pairs]
    pairs, tokens, seconds = (sum(column) for column in zip(*working, strict=True)) if working else (0, 0, 0.0)
    return pairs, tokens, seconds


_SCORED = "scored"
_SCORES = r"event LIKE 'round\_%\_score\_round'"
