"""The deployment on PostgreSQL, with two schedulers on one database: what is due once is started once."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.errors import MissingRequirementError
from jobs.local.airflow_home import airflow_command
from jobs.local.services import service_env
from jobs.settings import Settings
from jobs.table_reader import query
from jobs.updates.inbox import Inbox
from schemas.every import RUNS
from tests.soak.deployed import Deployed, free_ports
from tests.updates import test_inbox

pytestmark = pytest.mark.soak
BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
OWNER = "postgres" if os.getuid() == 0 else None  # it refuses to run as root


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    """A PostgreSQL of its own on loopback; yields its SQLAlchemy URL."""
    if not BINARIES:
        pytest.skip("no PostgreSQL under /usr/lib/postgresql: `apt-get install postgresql` brings one")
    folder, (port,) = Path(tempfile.mkdtemp(prefix="semlabel-pg-", dir="/tmp")), free_ports(1)
    (folder / "password").write_text("for-this-test")
    for path in (folder, folder / "password"):
        shutil.chown(path, OWNER) if OWNER else None
    options = ("--username", "airflow", "--auth", "scram-sha-256", "--pwfile", str(folder / "password"))
    postgres(folder, "initdb", "--pgdata", str(folder / "data"), *options)
    listen = f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories={folder}"
    control = ("pg_ctl", "--pgdata", str(folder / "data"), "--wait")
    postgres(folder, *control, "--options", listen, "--log", str(folder / "log"), "start")
    try:
        yield f"postgresql+psycopg2://airflow:for-this-test@127.0.0.1:{port}/postgres"
    finally:
        postgres(folder, *control, "--mode", "fast", "stop")
        shutil.rmtree(folder)


def postgres(folder: Path, program: str, *arguments: str) -> None:
    command = [str(BINARIES[-1] / program), *arguments]
    subprocess.run(command, check=True, user=OWNER, cwd=folder, stdout=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def deployed(database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    machine = Deployed(tmp_path_factory.mktemp("pg"), SEMLABEL_AIRFLOW_DB=database)
    machine.semlabel("sample", "--members", "10")
    machine.semlabel("deployment", "up")
    yield machine
    machine.semlabel("deployment", "down")


@pytest.fixture(scope="module")
def second_scheduler(deployed: Deployed) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in set(os.environ) - set(deployed.env):
            patch.delenv(name)
        for name, value in deployed.env.items():
            patch.setenv(name, value)
        env = service_env(Settings(_env_file=None))  # type: ignore[call-arg]
    log = (deployed.home / "second-scheduler.log").open("w")
    command = airflow_command("scheduler", "--skip-serve-logs")
    process = subprocess.Popen(command, env=env, stdout=log, stderr=log)
    sql = "SELECT count(*) FROM job WHERE job_type = 'SchedulerJob' AND state = 'running'"
    deployed.wait("two schedulers", lambda: deployed.ask(sql) == [(2,)])
    yield
    process.terminate()
    process.wait()


@pytest.mark.usefixtures("second_scheduler")
def test_two_schedulers_start_what_is_due_once(deployed: Deployed) -> None:
    for dag_id in ("table_maintenance", "weekly_full"):
        deployed.airflow("dags", "unpause", dag_id)
        run_id = deployed.wait_for_run(dag_id)
        assert list(deployed.runs(dag_id)) == [run_id]
        tasks = deployed.tasks(dag_id, run_id)
        assert tasks and all(task[1:3] == ("success", 1) for task in tasks), tasks
    published = query(deployed.settings.tables, "SELECT run_id FROM runs WHERE event = 'published'", RUNS)
    assert len(published) == 1


def test_the_inbox_of_profile_updates_keeps_its_promises_there_too(database: str) -> None:
    def emptied(waiting_limit: int = 100_000) -> Inbox:
        inbox = Inbox(database, waiting_limit=waiting_limit)
        while batch := inbox.take(100):
            inbox.finish(batch.batch_id)
        for member in ("ann", "bob", "cat"):
            inbox.forget(member)
        return inbox

    for story in (
        test_inbox.test_of_one_members_edits_the_highest_version_wins_in_whatever_order_they_come,
        test_inbox.test_who_edits_again_and_again_keeps_the_place_and_the_time_of_the_first_edit,
        test_inbox.test_an_older_edit_is_refused_also_after_the_newer_one_has_left,
        test_inbox.test_a_batch_that_was_taken_is_taken_again_until_it_is_finished_and_later_edits_wait,
        test_inbox.test_what_is_put_back_waits_its_time_unless_a_newer_edit_came_meanwhile,
    ):
        story(emptied())
    inboxes = [emptied() for _ in range(4)]
    test_inbox.write_at_once(inboxes)
    test_inbox.fill_at_once([emptied(10) for _ in range(4)])
    with inboxes[0].alone(), pytest.raises(MissingRequirementError), inboxes[1].alone():
        pass
    with inboxes[1].alone():
        pass
