"""Run one job by name, as a task does: parse its parameters once, give it a session if it needs one, keep its result.

The result goes to the ledger with the seconds it took, and to the caller as one JSON document.
"""

import importlib
import logging
import time
from collections.abc import Mapping
from dataclasses import fields
from types import ModuleType
from typing import Any

from jobs.errors import FaultsError
from jobs.ledger import append_event
from jobs.settings import Settings

log = logging.getLogger(__name__)

SPARK_JOBS = ("plan_refresh", "retrieve_candidates", "build_round", "stop_early", "publish_labels")
PLAIN_JOBS = ("pin_inputs", "start_engines", "score_round", "stop_engines", "report_run")  # import no Spark
JOBS = SPARK_JOBS + PLAIN_JOBS


def run_job(name: str, values: Mapping[str, str], settings: Settings, *, attempt: int = 1) -> dict[str, Any]:
    """Run a job to its end, keep its result in the ledger, and return it.

    Args:
        values: the job's parameters as text, by field name of its `Params`.
        attempt: which try of the task this is; each has an event of its own.
    Raises:
        FaultsError: lists every parameter that is missing, unknown or of another type.
    """
    module = importlib.import_module(f"jobs.{name}")
    params = parse_params(module.Params, values, job=name)
    started = time.monotonic()
    if name in SPARK_JOBS:
        result = _run_with_spark(module, name, settings, params)
    else:
        result = dict(module.run(settings, params))
    result["seconds"] = round(time.monotonic() - started, 2)
    event = f"round_{params.round}_{name}" if hasattr(params, "round") else name
    append_event(settings.tables, result.get("run_id") or params.run_id, event, result, attempt=attempt)
    log.info("%s: %.1f s, %s", event, result["seconds"], _short(result))
    return result


def _run_with_spark(module: ModuleType, name: str, settings: Settings, params: Any) -> dict[str, Any]:
    from jobs.spark_session import spark_session

    with spark_session(settings, name) as spark:
        return dict(module.run(spark, settings, params))


def parse_params(kind: type, values: Mapping[str, str], *, job: str) -> Any:
    """Build a job's `Params` from text, every fault listed at once."""
    known = {field.name: field.type for field in fields(kind)}
    faults = [
        f"unknown parameter {name}={value!r}; it takes {', '.join(known)}"
        for name, value in values.items()
        if name not in known
    ]
    parsed: dict[str, Any] = {}
    for name, type_ in known.items():
        if name not in values:
            faults.append(f"parameter {name} is missing")
        elif type_ in (int, "int"):
            if values[name].lstrip("-").isdigit():
                parsed[name] = int(values[name])
            else:
                faults.append(f"parameter {name}={values[name]!r} is no whole number")
        else:
            parsed[name] = values[name]
    if faults:
        raise FaultsError(f"job {job}", faults)
    return kind(**parsed)


def _short(result: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in result.items() if isinstance(value, int))
