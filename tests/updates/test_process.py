"""The service as a process, with nothing to work with: it takes updates in, keeps them, and ends when it is told to."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from jobs.updates import client
from jobs.updates.inbox import open_inbox
from tests.updates.test_inbox import edit
from tests.world import settings_under

COMMAND = (sys.executable, "-m", "jobs.cli", "updates", "serve")


@contextmanager
def served(home: Path) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    """Start the service beside a Spark that is not there; yield it with its gRPC port."""
    with subprocess.Popen(COMMAND, stderr=subprocess.PIPE, text=True, env=env_of(home)) as process:
        try:
            assert process.stderr is not None
            ports = (re.match(r"gRPC at 127.0.0.1:(\d+)", line) for line in process.stderr)
            yield process, next(int(found[1]) for found in ports if found)
        finally:
            process.kill()


def env_of(home: Path) -> dict[str, str]:
    own = {"HOME": str(home), "UPDATES_PORT": "0", "UPDATES_HTTP_PORT": "0", "SPARK_CONNECT_URL": "sc://127.0.0.1:1"}
    return os.environ | {f"SEMLABEL_{name}": value for name, value in own.items()}


def test_a_file_for_the_model_server_that_cannot_be_read_is_said_at_the_start(tmp_path: Path) -> None:
    env = env_of(tmp_path) | {
        "SEMLABEL_UPDATES_SCORER": "127.0.0.1:1", "SEMLABEL_UPDATES_SCORER_TOKEN_FILE": str(tmp_path / "gone")
    }  # fmt: skip
    ended = subprocess.run(COMMAND, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 3 and "updates_scorer_token_file" in ended.stderr


def test_what_cannot_be_worked_on_waits_in_the_inbox_beyond_the_end_of_the_service(tmp_path: Path) -> None:
    with served(tmp_path) as (process, port):
        settings = settings_under(tmp_path, updates_port=port)
        assert client.send(settings, edit("ann", 3))["outcome"] == "accepted"
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    with closing(open_inbox(settings)) as inbox:
        batch = inbox.take(10)
        assert batch is not None and batch.updates == (edit("ann", 3),)
