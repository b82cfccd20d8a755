"""Run one Ray job to its end, in Airflow's triggerer; none of its life is in a worker.

A triggerer that restarts runs this again from the start and finds the job by its name. Only a user's kill (`on_kill`)
or the time-out stops the job. The triggerer imports this module by its name: the folder above is on its PYTHONPATH.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import Any

from airflow.sdk import BaseHook
from airflow.triggers.base import BaseTrigger, TriggerEvent

from semlabel_dags.ray_job import JobLog, RayJob, RayJobs


class RayJobTrigger(BaseTrigger):
    """Fires once, when the job has ended: its name, status, exit code, message, and the document that it printed.

    Args:
        conn_id: host and port of Ray's dashboard, and as the password its token; without one, as the triggerer's
            environment says. Ray's client lets RAY_ADDRESS in the environment win over it: leave that unset.
        job: the fields of a `RayJob`.
    """

    def __init__(self, *, conn_id: str, job: dict[str, Any]) -> None:
        super().__init__()
        self._conn_id, self._job = conn_id, RayJob(**job)
        self._found: asyncio.Task[tuple[RayJobs, Any]] | None = None

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return what a triggerer makes this again from."""
        return f"{__name__}.{type(self).__name__}", {"conn_id": self._conn_id, "job": asdict(self._job)}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Find the job or submit it, log what it logs, and fire at its end."""
        log = JobLog(self.log.info)
        try:
            ended = await self._follow(log)
        except (OSError, RuntimeError) as error:
            ended = {"status": "UNREACHABLE", "message": f"Ray did not answer: {error}"}
        yield TriggerEvent({"name": self._job.submission_id, "exit_code": None, "result": log.document} | ended)

    async def on_kill(self) -> None:
        """Stop the job, also one that is just being submitted."""
        if self._found is not None:
            jobs, details = await self._found
            await jobs.stop(details.submission_id)

    async def _follow(self, log: JobLog) -> dict[str, Any]:
        self._found = asyncio.create_task(self._find())
        jobs, details = await asyncio.shield(self._found)  # a kill waits for it, to stop what it submits
        name, age_s = details.submission_id, time.time() - details.start_time / 1000
        self.log.info("Ray job %s: %s", name, details.entrypoint)
        try:
            async with asyncio.timeout(self._job.timeout_s - age_s) as limit:
                details = await jobs.follow(name, log)
        except TimeoutError:
            if not limit.expired():
                raise
            await jobs.stop(name)
            return {"name": name, "status": "TIMED_OUT", "message": f"stopped after {self._job.timeout_s:.0f} s"}
        return {
            "name": name,
            "status": str(details.status),
            "exit_code": details.driver_exit_code,
            "message": (details.message or "").partition("\n")[0],  # then comes the log again
        }

    async def _find(self) -> tuple[RayJobs, Any]:
        connection = await BaseHook.aget_connection(self._conn_id)
        address = f"{connection.schema or 'http'}://{connection.host}:{connection.port}"
        jobs = await RayJobs.at(address, token=connection.password)
        return jobs, await jobs.find_or_submit(self._job)
