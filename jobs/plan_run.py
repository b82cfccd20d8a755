"""Plan a refresh and stop there: pin, scope, retrieve, price. The run has a trigger of its own and is never published.

A refresh afterwards is another run, which pins what stands then. Nothing is scored, but a pilot where one is asked for.
"""

import uuid
from typing import Any

from jobs.local.connect_server import connect_server
from jobs.local.shared_ray import shared_ray
from jobs.run_job import run_job
from jobs.settings import Settings


def plan_run(settings: Settings, kind: str, *, recompute: bool = False, with_pilot: bool = False) -> dict[str, Any]:
    """Return the plan (`plan_figures`), its run_id, `pilot`, and `above_ceiling`: why a refresh would stop.

    Args:
        recompute: plan to score every pair anew.
        with_pilot: score a few members first (`jobs.pilot`), bounded by the ceilings as a refresh is.
    Raises:
        DataError: there is no such kind.
        MissingRequirementError: tables or jars are missing.
        CeilingError: the pilot may cost more than a setting allows.
        EngineError: the pilot's engine failed.
    """
    with connect_server(settings) as spark:
        trigger = {"kind": kind, "trigger_id": f"plan-{uuid.uuid4()}", "recompute": str(recompute)}
        run_id = run_job("pin_inputs", trigger, settings)["run_id"]
        spark.wait_until_listening()
        connected = settings.model_copy(update={"spark_connect_url": spark.url})
        n_members = run_job("scope_members", {"run_id": run_id}, connected)["members"]
        run_job("retrieve_candidates", {"run_id": run_id}, connected)
        pilot = _pilot(connected, run_id) if with_pilot and n_members else None
        plan = run_job("plan_refresh", {"run_id": run_id, "ends_run": "true"}, connected)
    return plan | {"run_id": run_id, "pilot": pilot}


def _pilot(settings: Settings, run_id: str) -> dict[str, Any]:
    from jobs.pilot import draw_pilot, run_pilot
    from jobs.spark_session import spark_session

    with spark_session(settings, "pilot") as spark:
        pilot_id = draw_pilot(spark, settings, run_id)
    with shared_ray(settings, is_needed=True) as address:
        return run_pilot(settings.model_copy(update={"ray_address": address}), pilot_id)
