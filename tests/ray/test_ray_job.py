"""Jobs of a real Ray head, followed as Airflow's triggerer does; all at once, since they mostly wait."""

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException, TaskDeferred

from semlabel_dags.ray_operator import RayJobOperator
from semlabel_dags.ray_trigger import RayJobTrigger
from tests.ray.conftest import Head

DEADLINE_S = 900


@dataclass(frozen=True)
class Triggerer:
    """Runs the trigger of a task: made from what Airflow stores of it, with a log of its own."""

    task: RayJobOperator
    try_number: int = 1
    lines: list[str] = field(default_factory=list)

    def trigger(self) -> RayJobTrigger:
        with pytest.raises(TaskDeferred) as deferred:
            self.task.execute({"ti": SimpleNamespace(try_number=self.try_number, max_tries=2)})
        path, kwargs = deferred.value.trigger.serialize()
        assert path == "semlabel_dags.ray_trigger.RayJobTrigger"
        trigger = RayJobTrigger(**json.loads(json.dumps(kwargs)))
        trigger._log = SimpleNamespace(info=lambda text, *values: self.lines.append(text % values if values else text))
        return trigger

    async def event(self, trigger: RayJobTrigger | None = None) -> Mapping[str, Any]:
        async for event in (trigger or self.trigger()).run():
            return event.payload
        raise AssertionError("the trigger did not fire")


def job_task(name: str, entrypoint: str, **options: Any) -> RayJobOperator:
    return RayJobOperator(task_id=name, submission_id=name, entrypoint=entrypoint, retries=2, **options)


async def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not is_so():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.1)


async def restarted(folder: Path) -> dict[str, Any]:
    wait = f"while [ ! -e {folder}/go ]; do sleep 0.1; done"
    task = job_task("restarted", f"echo begun; {wait}; echo '{{\"rows\": 3}}'; echo after >&2")
    before, after, retried = Triggerer(task), Triggerer(task), Triggerer(task, try_number=2)
    running = asyncio.create_task(before.event())
    await until(lambda: "begun" in before.lines)
    running.cancel()
    await asyncio.wait([running])
    (folder / "go").touch()
    event = await after.event()
    return {"event": event, "lines": after.lines, "retried": await retried.event(), "task": task}


async def failed(folder: Path) -> dict[str, Any]:
    once = f"if [ -e {folder}/once ]; then echo '{{\"n\": 2}}'; else touch {folder}/once; exit 5; fi"
    task = job_task("failed", once)
    return {"events": [await Triggerer(task, try_number=number).event() for number in (1, 2)], "task": task}


async def timed_out(folder: Path) -> dict[str, Any]:
    return {"event": await Triggerer(job_task("timed-out", "sleep 300", job_timeout=timedelta(seconds=2))).event()}


async def killed(folder: Path) -> dict[str, Any]:
    triggerer = Triggerer(job_task("killed", f"echo $$ > {folder}/pid; echo begun; sleep 300"))
    trigger = triggerer.trigger()
    running = asyncio.create_task(triggerer.event(trigger))
    await until(lambda: "begun" in triggerer.lines)
    running.cancel()
    await asyncio.wait([running])
    await trigger.on_kill()
    return {"pid": int((folder / "pid").read_text())}


@pytest.fixture(scope="module")
def connection(ray_head: Head) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AIRFLOW_CONN_RAY_JOBS", f"http://:{ray_head.token}@127.0.0.1:{ray_head.jobs_port}")
        yield


@pytest.fixture(scope="module")
def seen(connection: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    async def all_at_once() -> list[dict[str, Any]]:
        return await asyncio.gather(*(story(folder) for story in stories))

    folder, stories = tmp_path_factory.mktemp("jobs"), (restarted, failed, timed_out, killed)
    return dict(zip((story.__name__ for story in stories), asyncio.run(all_at_once()), strict=True))


@pytest.fixture(scope="module")
def statuses(seen: dict[str, Any], ray_head: Head) -> dict[str | None, str]:
    """What the cluster says of every job that was submitted."""
    from ray.job_submission import JobSubmissionClient  # Ray reads its token's mode once: the fixture sets it

    client = JobSubmissionClient(f"http://127.0.0.1:{ray_head.jobs_port}")
    return {details.submission_id: str(details.status) for details in client.list_jobs() if details.submission_id}


def test_each_story_submitted_the_jobs_that_it_needed_and_no_other(statuses: dict[str | None, str]) -> None:
    assert statuses == {
        "restarted-1": "SUCCEEDED",
        "failed-1": "FAILED",
        "failed-2": "SUCCEEDED",
        "timed-out-1": "STOPPED",
        "killed-1": "STOPPED",
    }


def test_a_triggerer_that_restarts_and_a_try_that_follows_find_the_job(seen: dict[str, Any]) -> None:
    story = seen["restarted"]
    for event in (story["event"], story["retried"]):
        assert (event["name"], event["status"], event["result"]) == ("restarted-1", "SUCCEEDED", {"rows": 3})
        assert story["task"].finish({}, event) == {"rows": 3}


def test_the_log_is_streamed_without_the_document(seen: dict[str, Any]) -> None:
    lines = seen["restarted"]["lines"]
    assert lines.count("begun") == lines.count("after") == 1
    assert '{"rows": 3}' not in lines


def test_an_engine_that_failed_is_tried_again_as_a_job_of_its_own(seen: dict[str, Any]) -> None:
    first, second = seen["failed"]["events"]
    assert (first["name"], first["exit_code"], first["result"]) == ("failed-1", 5, None)
    with pytest.raises(AirflowException, match="exit code 5: failed-1: FAILED") as raised:
        seen["failed"]["task"].finish({}, first)
    assert not isinstance(raised.value, AirflowFailException)
    assert (second["name"], second["result"]) == ("failed-2", {"n": 2})


def test_a_job_that_takes_too_long_is_stopped_and_tried_again(seen: dict[str, Any]) -> None:
    event = seen["timed_out"]["event"]
    assert (event["status"], event["message"]) == ("TIMED_OUT", "stopped after 2 s")
    with pytest.raises(AirflowException) as raised:
        job_task("timed-out", "").finish({}, event)
    assert not isinstance(raised.value, AirflowFailException)


def test_a_user_who_kills_the_task_ends_the_job(seen: dict[str, Any]) -> None:
    assert not Path(f"/proc/{seen['killed']['pid']}").exists()
