"""Run one job by name, as a task does: parse its parameters once, give it a session if it needs one, keep its result.

The result goes to the ledger with the seconds it took, and to the caller as one JSON document.
"""

import importlib
import logging
import sys
import time
from collections.abc import Mapping
from dataclasses import MISSING, fields
from datetime import UTC, datetime
from types import ModuleType
from typing import Any

from jobs.errors import FaultsError, MissingRequirementError
from jobs.ledger import append_event, event_payload, last_event_at
from jobs.run_ledger import read_run
from jobs.settings import Settings

log = logging.getLogger(__name__)

SPARK_JOBS = ("scope_members", "retrieve_candidates", "plan_refresh", "build_round", "stop_early", "publish_labels")
LABELER_JOBS = ("evaluate_labeler", "gate_labeler", "promote_labeler")
ENGINE_JOBS = ("start_engines", "score_round", "stop_engines", "end_orphan_engines")
PLAIN_JOBS = ("pin_inputs", *ENGINE_JOBS, "report_run", "maintain_tables", *LABELER_JOBS)  # import no Spark
JOBS = SPARK_JOBS + PLAIN_JOBS
# once its run has judged them, pairs would count as reused: what these found before stands in the reports
KEPT_ONCE_PUBLISHED = ("plan_refresh", "build_round")
_FLAGS = {"true": True, "false": False}


def run_job(
    name: str,
    values: Mapping[str, str],
    settings: Settings,
    *,
    attempt: int = 1,
    triggered_at: datetime | None = None,
) -> dict[str, Any]:
    """Run a job to its end, keep its result in the ledger, and return it.

    Args:
        values: the job's parameters as text, by field name of its `Params`.
        attempt: which try of the task this is; each has an event of its own.
        triggered_at: when the whole run was to start; its first step has waited since then, each later one since the
            end of the step before: for the scheduler, a slot, a retry, the start of a process (`waited_s`).
    Raises:
        FaultsError: lists every parameter that is missing, unknown or of another type.
    """
    module = importlib.import_module(f"jobs.{name}")
    params = parse_params(module.Params, values, job=name)
    started_at, started = datetime.now(UTC), time.monotonic()
    if kept := _kept(name, params, settings):
        result = kept
    elif name in SPARK_JOBS:
        result = _run_with_spark(module, name, settings, params)
    else:
        result = dict(module.run(settings, params))
    result["seconds"] = round(time.monotonic() - started, 2)
    run_id, event = result.get("run_id") or params.run_id, _event_of(name, params)
    ready_at = last_event_at(settings.tables, run_id, before=started_at) or triggered_at
    result["waited_s"] = None if ready_at is None else round((started_at - ready_at).total_seconds(), 2)
    append_event(settings.tables, run_id, event, result, attempt=attempt)
    log.info("%s: %.1f s, %s", event, result["seconds"], _short(result))
    return result


def result_of(name: str, values: Mapping[str, str], settings: Settings, *, attempt: int) -> dict[str, Any]:
    """Return what an attempt of a job left in the ledger, for a caller that only knows that the job ended well.

    Raises:
        MissingRequirementError: it left nothing.
    """
    params = parse_params(importlib.import_module(f"jobs.{name}").Params, values, job=name)
    found = event_payload(settings.tables, params.run_id, _event_of(name, params), attempt=attempt)
    if found is None:
        raise MissingRequirementError(f"{name} of {params.run_id} left no result: is {settings.tables} the same there?")
    return found


def _event_of(name: str, params: Any) -> str:
    return f"round_{params.round}_{name}" if hasattr(params, "round") else name


def _kept(name: str, params: Any, settings: Settings) -> dict[str, Any]:
    """Return what a job found that is not run again, since its run is published; empty for any other."""
    if name not in KEPT_ONCE_PUBLISHED:
        return {}
    run = read_run(settings.tables, params.run_id)
    return dict(run.of(_event_of(name, params))) if run.state == "published" else {}


def _run_with_spark(module: ModuleType, name: str, settings: Settings, params: Any) -> dict[str, Any]:
    from jobs.foreground_session import foreground_session
    from jobs.spark_session import spark_session

    session = foreground_session if sys.stderr.isatty() else spark_session  # the log of a task keeps all, as it comes
    with session(settings, name) as spark:
        return dict(module.run(spark, settings, params))


def parse_params(kind: type, values: Mapping[str, str], *, job: str) -> Any:
    """Build a job's `Params` from text, every fault listed at once."""
    known = {field.name: field.type for field in fields(kind)}
    optional = {field.name for field in fields(kind) if field.default is not MISSING}
    faults = [
        f"unknown parameter {name}={value!r}; it takes {', '.join(known)}"
        for name, value in values.items()
        if name not in known
    ]
    parsed: dict[str, Any] = {}
    for name, type_ in known.items():
        if name not in values:
            if name not in optional:
                faults.append(f"parameter {name} is missing")
        elif type_ in (int, "int"):
            if values[name].lstrip("-").isdigit():
                parsed[name] = int(values[name])
            else:
                faults.append(f"parameter {name}={values[name]!r} is no whole number")
        elif type_ in (bool, "bool"):
            if values[name].lower() in _FLAGS:
                parsed[name] = _FLAGS[values[name].lower()]
            else:
                faults.append(f"parameter {name}={values[name]!r} is neither true nor false")
        else:
            parsed[name] = values[name]
    if faults:
        raise FaultsError(f"job {job}", faults)
    return kind(**parsed)


def _short(result: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in result.items() if isinstance(value, int))
