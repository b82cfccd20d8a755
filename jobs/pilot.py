"""Score the rounds of a few members before a plan, so that it knows how far members get and what newcomers are worth.

A pilot is a run of its own with the pins of the plan. Its scope are members of the plan's, drawn by hash; it is
planned, bounded by the same ceilings, walked round by round, and ends there. It publishes nothing, and its judgments
are facts like any others: the refresh reuses them.
"""

from dataclasses import replace as with_changes
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from jobs.ledger import PILOTED, PLANNED, append_event, write_pins
from jobs.pins import Pins, run_id_of
from jobs.run_figures import summed_over_rounds
from jobs.run_job import run_job
from jobs.run_ledger import read_run
from jobs.settings import Settings
from jobs.stop_sample import drawn_by_hash
from jobs.survival_history import ENOUGH_MEMBERS
from jobs.table_reader import pins_of
from jobs.tables import append, read, replace
from schemas.candidates import CANDIDATES
from schemas.scope import SCOPE


def draw_pilot(spark: SparkSession, settings: Settings, plan_run_id: str) -> str:
    """Write pins, scope and candidates of a pilot for a run that has retrieved; returns its run_id."""
    root = settings.tables
    pins = _pilot_pins(settings, pins_of(root, plan_run_id))
    scope = read(spark, root, SCOPE, run_id=plan_run_id)
    drawn = drawn_by_hash(scope.where("profile_hash IS NOT NULL"), pins.run_id, ENOUGH_MEMBERS)
    run_id = F.lit(pins.run_id)
    mine = scope.join(drawn, "member_id", "left_semi").withColumn("run_id", run_id)
    append(mine, root, SCOPE, transaction=f"{pins.run_id}:scope")
    candidates = read(spark, root, CANDIDATES, run_id=plan_run_id).join(F.broadcast(drawn), "member_id", "left_semi")
    replace(candidates.withColumn("run_id", run_id), root, CANDIDATES, run_id=pins.run_id)
    return pins.run_id


def _pilot_pins(settings: Settings, pins: Pins) -> Pins:
    """Pin what the plan pinned; a pilot opens no generation, whose judgments the refresh would not reuse."""
    trigger_id = f"pilot of {pins.run_id}"
    run_id = run_id_of(pins.kind, trigger_id, settings.environment)
    pilot = with_changes(pins, run_id=run_id, trigger_id=trigger_id, generation=0, stop_sample_share=0.0)
    return write_pins(settings.tables, pilot)


def run_pilot(settings: Settings, run_id: str) -> dict[str, Any]:
    """Walk a pilot's rounds.

    Returns:
        run_id, members, pairs (scored), tokens, tie tokens among them.
    Raises:
        CeilingError: it may cost more than a setting allows; nothing was spent.
        EngineError: an engine failed; what was scored before is kept.
    """
    pins = pins_of(settings.tables, run_id)
    members = run_job("plan_refresh", {"run_id": run_id}, settings)["members"]
    try:
        for number in range(pins.n_rounds):
            values = {"run_id": run_id, "round": str(number)}
            if run_job("build_round", values, settings)["members"] == 0:
                break
            run_job("score_round", values, settings)
            if run_job("stop_early", values, settings)["next_round"] == 0:
                break
    finally:
        run_job("stop_engines", {"run_id": run_id}, settings)
    spent = summed_over_rounds(read_run(settings.tables, run_id))
    pilot = {"members": members, "pairs": spent["scored"], "tokens": spent["tokens"] + spent["tie_tokens"]}
    for event in (PILOTED, PLANNED):
        append_event(settings.tables, run_id, event, pilot)
    return {"run_id": run_id} | pilot
