"""Plan a refresh and stop there: pin, scope, retrieve, price. The run has a trigger of its own and is never published.

A refresh afterwards is another run, which pins what stands then.
"""

import uuid
from typing import Any

from jobs.ledger import PLANNED, append_event
from jobs.local.connect_server import connect_server
from jobs.run_job import run_job
from jobs.run_price import ceilings_passed
from jobs.settings import Settings

_JOBS = ("scope_members", "retrieve_candidates", "plan_refresh")


def plan_run(settings: Settings, kind: str, *, recompute: bool = False) -> dict[str, Any]:
    """Return the plan (`plan_figures`), its run_id, and `above_ceiling`: why a refresh would stop, if it would.

    Args:
        recompute: plan to score every pair anew.
    Raises:
        DataError: there is no such kind.
        MissingRequirementError: tables or jars are missing.
    """
    unbounded = settings.model_copy(update={"max_pairs": None, "max_cost_usd": None})
    with connect_server(unbounded) as spark:
        trigger = {"kind": kind, "trigger_id": f"plan-{uuid.uuid4()}", "recompute": str(recompute)}
        run_id = run_job("pin_inputs", trigger, unbounded)["run_id"]
        spark.wait_until_listening()
        connected = unbounded.model_copy(update={"spark_connect_url": spark.url})
        for job in _JOBS:
            plan = run_job(job, {"run_id": run_id}, connected)
    append_event(settings.tables, run_id, PLANNED, {})
    return plan | {"run_id": run_id, "above_ceiling": ceilings_passed(plan, settings)}
