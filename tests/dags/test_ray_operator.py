"""What needs no Ray: how a job is found or named, what its log gives, and which failures are final."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException, TaskDeferred

from semlabel_dags.ray_job import JobLog, RayJob, RayJobs
from semlabel_dags.ray_operator import RayJobOperator


class Client:
    """What is asked of Ray's own: jobs by name, each with its status."""

    def __init__(self, **statuses: str) -> None:
        self.statuses = statuses
        self.rival = False

    def list_jobs(self) -> list[Any]:
        return [self.get_job_info(name) for name in self.statuses]

    def get_job_info(self, name: str) -> Any:
        return SimpleNamespace(submission_id=name, status=Status(self.statuses[name]))

    def submit_job(self, *, submission_id: str, **_: Any) -> str:
        taken, self.statuses[submission_id] = submission_id in self.statuses or self.rival, "PENDING"
        if taken:
            raise RuntimeError("already exists")
        return submission_id

    def stop_job(self, name: str) -> bool:
        was_running = self.statuses[name] in ("PENDING", "RUNNING")
        self.statuses[name] = "STOPPED" if was_running else self.statuses[name]
        return was_running


class Status(str):
    def is_terminal(self) -> bool:
        return self not in ("PENDING", "RUNNING")


def job(*, first_try: int = 1, try_number: int = 1) -> RayJob:
    return RayJob(
        entrypoint="true", submission_id="j", first_try=first_try, try_number=try_number, env_vars={}, timeout_s=1
    )


@pytest.mark.parametrize(
    ("known", "first_try", "try_number", "name"),
    [
        ({}, 1, 1, "j-1"),
        ({"j-1": "RUNNING"}, 1, 2, "j-1"),
        ({"j-1": "SUCCEEDED"}, 1, 2, "j-1"),
        ({"j-1": "FAILED"}, 1, 2, "j-2"),
        ({"j-1": "STOPPED"}, 1, 2, "j-2"),
        ({"j-1": "FAILED", "j-2": "RUNNING"}, 1, 3, "j-2"),
        ({"j-1": "FAILED"}, 1, 1, "j-1"),  # a triggerer that restarts after the end
        ({"j-1": "SUCCEEDED"}, 2, 2, "j-2"),  # cleared
        ({"j-1": "RUNNING"}, 2, 2, "j-2"),  # cleared while it ran
    ],
)
def test_a_try_finds_the_job_that_is_its_own(known: dict[str, str], first_try: int, try_number: int, name: str) -> None:
    client = Client(**known)
    found = asyncio.run(RayJobs(client).find_or_submit(job(first_try=first_try, try_number=try_number)))
    assert found.submission_id == name
    assert set(client.statuses) == {*known, name}
    active = [name for name, status in client.statuses.items() if status in ("PENDING", "RUNNING")]
    assert active in ([], [name])


def test_of_two_that_submit_at_once_one_finds_the_job_of_the_other() -> None:
    client = Client()
    client.rival = True
    found = asyncio.run(RayJobs(client).find_or_submit(job()))
    assert (found.submission_id, client.statuses) == ("j-1", {"j-1": "PENDING"})


@pytest.mark.parametrize("cut", range(1, 30))
def test_a_log_that_breaks_off_is_handed_on_once(cut: int) -> None:
    text, lines = 'one\ntwo {\n{"n": 1}\n{broken\nlast', []
    log = JobLog(lines.append)
    log.feed(text[:cut])
    log.restart()
    log.feed(text)
    log.end()
    assert lines == ["one", "two {", "{broken", "last"] and log.document == {"n": 1}


def ended(**changes: Any) -> dict[str, Any]:
    return {"name": "j-1", "status": "FAILED", "exit_code": None, "message": "", "result": None} | changes


@pytest.mark.parametrize(
    ("event", "is_final", "message"),
    [
        (ended(exit_code=3), True, "bad input: j-1"),
        (ended(exit_code=1), True, "a check did not hold: j-1"),
        (ended(status="STOPPED"), True, "stopped by somebody"),
        (ended(exit_code=5), False, "exit code 5"),
        (ended(exit_code=3, result={"error": "no such colour"}), True, "bad input: j-1: FAILED: no such colour"),
        (ended(exit_code=-9), False, "exit code -9"),
        (ended(message="the node died"), False, "the node died"),
        (ended(status="UNREACHABLE"), False, "UNREACHABLE"),
        (ended(status="SUCCEEDED", exit_code=0), False, "no JSON document"),
    ],
)
def test_only_what_a_rerun_may_mend_is_tried_again(event: dict[str, Any], is_final: bool, message: str) -> None:
    with pytest.raises(AirflowException, match=message) as raised:
        RayJobOperator(task_id="t", entrypoint="", submission_id="j").finish({}, event)
    assert isinstance(raised.value, AirflowFailException) == is_final


def test_a_task_that_was_cleared_counts_its_tries_from_there() -> None:
    operator = RayJobOperator(task_id="t", entrypoint="", submission_id="j", retries=2)
    found = []
    for try_number, max_tries in ((1, 2), (3, 2), (2, 3), (4, 5)):  # Airflow: cleared at n, max_tries = n + retries
        with pytest.raises(TaskDeferred) as deferred:
            operator.execute({"ti": SimpleNamespace(try_number=try_number, max_tries=max_tries)})
        found.append(deferred.value.trigger.serialize()[1]["job"]["first_try"])
    assert found == [1, 1, 2, 4]
