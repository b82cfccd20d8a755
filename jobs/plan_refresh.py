"""Say what a run will take, member by member, before anything is scored: pairs, tokens, seconds, money, labels.

The candidates are there by now, so every pair is known, and which of them has a judgment. What is not known is where
members stop, so each figure stands at least, as expected, at most.
"""

from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from jobs.ledger import PLANNED, append_event
from jobs.plan_figures import plan_figures
from jobs.plan_members import to_member_plans
from jobs.run_price import ceilings_passed, refuse_above_ceiling
from jobs.settings import Settings
from jobs.survival_history import experience_of
from jobs.table_reader import pins_of, runs_with_rows
from jobs.tables import replace
from schemas.member_plans import MEMBER_PLANS
from schemas.scope import SCOPE


@dataclass(frozen=True, kw_only=True)
class Params:
    """Which run to plan.

    Attributes:
        ends_run: only the plan is wanted: nothing comes after it, so that no ceiling stops it.
    """

    run_id: str
    ends_run: bool = False


def run(spark: SparkSession, settings: Settings, params: Params) -> dict[str, Any]:
    """Write `member_plans` of the run, and return their sums, priced: `plan_figures`.

    Where the plan ends the run, `planned` is appended, and the plan has `above_ceiling`: why a refresh would stop.

    Raises:
        CeilingError: the run may cost more than a setting allows.
    """
    root = settings.tables
    pins = pins_of(root, params.run_id)
    experience = experience_of(root, pins)
    if pins.run_id in runs_with_rows(root, SCOPE):
        replace(to_member_plans(spark, root, pins, experience.survival), root, MEMBER_PLANS, run_id=pins.run_id)
    plan = plan_figures(settings, pins, experience)
    if params.ends_run:
        append_event(root, pins.run_id, PLANNED, {})
        return plan | {"above_ceiling": ceilings_passed(plan, settings)}
    refuse_above_ceiling(plan, settings)
    return plan
