"""One job through Ray's Jobs API: find it or submit it, follow its log to its end, stop it.

A job is named by its task and the number of a try, so whoever asks again finds the job that runs instead of starting a
second one. Ray takes a name once: after a job that failed, the next try has a name of its own.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tenacity import retry, retry_if_exception_type, stop_after_delay, wait_fixed

if TYPE_CHECKING:
    from ray.job_submission import JobDetails, JobSubmissionClient

_POLL_S = 1.0
_UNREACHABLE_S = 120.0  # a head that restarts is back before that; its jobs are gone
_NO_ANSWER = (OSError, RuntimeError)  # of the network; of Ray's client, for any answer but 200

_ask_again = retry(
    retry=retry_if_exception_type(_NO_ANSWER),
    stop=stop_after_delay(_UNREACHABLE_S),
    wait=wait_fixed(_POLL_S),
    reraise=True,
)


@dataclass(frozen=True, kw_only=True)
class RayJob:
    """What to run, under which name, for how long.

    Attributes:
        submission_id: the name of the job, without the number of its try.
        first_try, try_number: of the task: the first since it was last cleared, and the current one.
        timeout_s: since it was submitted, in whatever state.
    """

    entrypoint: str
    submission_id: str
    first_try: int
    try_number: int
    env_vars: Mapping[str, str]
    timeout_s: float

    def name(self, number: int) -> str:
        """Return the submission id of a try."""
        return f"{self.submission_id}-{number}"


class JobLog:
    """The log of a job as it comes, each line handed on once, and the last JSON document among its lines.

    The document is what `semlabel job` prints on stdout; in the job's log it stands among what goes to stderr.
    """

    def __init__(self, emit: Callable[[str], object]) -> None:
        self.document: dict[str, Any] | None = None
        self._emit = emit
        self._n_seen = self._n_read = 0
        self._line = ""

    def restart(self) -> None:
        """Expect the log from its first character again; what was handed on before is left out."""
        self._n_read = 0

    def feed(self, text: str) -> None:
        """Take the next characters."""
        fresh = text[max(0, self._n_seen - self._n_read) :]
        self._n_read += len(text)
        self._n_seen = max(self._n_seen, self._n_read)
        *lines, self._line = (self._line + fresh).split("\n")
        for line in lines:
            self._take(line)

    def end(self) -> None:
        """Hand on a last line without an end."""
        self._take(self._line)
        self._line = ""

    def _take(self, line: str) -> None:
        if line.startswith("{"):
            try:
                self.document = dict(json.loads(line))
                return
            except ValueError:
                pass
        if line:
            self._emit(line)


class RayJobs:
    """The Jobs API of one cluster, awaited: Ray's client blocks, and imports Ray when it is made.

    Every method asks again for two minutes, and raises OSError or RuntimeError where Ray does not answer.
    """

    def __init__(self, client: "JobSubmissionClient") -> None:
        self._client = client

    @classmethod
    @_ask_again
    async def at(cls, address: str, *, token: str | None) -> "RayJobs":
        """Connect to a dashboard's address; without a token as the environment says."""
        headers = {"Authorization": f"Bearer {token}"} if token else None
        return cls(await asyncio.to_thread(_client, address, headers))

    @_ask_again
    async def find_or_submit(self, job: RayJob) -> "JobDetails":
        """Return the job of this task: one that runs or has ended well, or a new one.

        A job of an earlier life of the task, before it was cleared, is ended first.
        """
        known = {details.submission_id: details for details in await asyncio.to_thread(self._client.list_jobs)}
        for number in range(1, job.first_try):
            if job.name(number) in known:
                await self.stop(job.name(number))
        names = [job.name(number) for number in range(job.first_try, job.try_number + 1)]
        name = next((name for name in names if name not in known or not _gave_up(known[name])), names[-1])
        if name not in known:
            await asyncio.to_thread(
                self._client.submit_job,
                entrypoint=job.entrypoint,
                submission_id=name,
                runtime_env={"env_vars": dict(job.env_vars)},
            )
        return await self.details(name)

    @_ask_again
    async def details(self, name: str) -> "JobDetails":
        """Return what Ray knows of a job."""
        return await asyncio.to_thread(self._client.get_job_info, name)

    async def follow(self, name: str, log: JobLog) -> "JobDetails":
        """Hand on the job's log until its end; where the stream breaks, take it up again."""
        from aiohttp import ClientError

        while True:
            log.restart()
            with suppress(ClientError, *_NO_ANSWER):
                async for text in self._client.tail_job_logs(name):
                    log.feed(text)
            details = await self.details(name)
            if details.status.is_terminal():
                log.end()
                return details
            await asyncio.sleep(_POLL_S)

    @_ask_again
    async def stop(self, name: str) -> None:
        """Stop a job unless it has ended, and return when it has: Ray kills it 3 s after a SIGTERM that it ignores."""
        if await asyncio.to_thread(self._client.stop_job, name):
            while not (await self.details(name)).status.is_terminal():
                await asyncio.sleep(_POLL_S)


def _client(address: str, headers: dict[str, str] | None) -> "JobSubmissionClient":
    from ray.job_submission import JobSubmissionClient

    return JobSubmissionClient(address, headers=headers)


def _gave_up(details: "JobDetails") -> bool:
    return details.status in ("FAILED", "STOPPED")
