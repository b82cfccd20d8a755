"""The service as a process: with nothing to work with it keeps what it takes in; with all it needs, labels come out."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from jobs.audit import audit_label
from jobs.domain import set_domain
from jobs.labeler.registry import register
from jobs.settings import Settings
from jobs.table_admin import create_missing
from jobs.table_writer import append_rows
from jobs.updates import client
from jobs.updates.inbox import open_inbox
from jobs.write_sample import DEFAULT_DOMAIN
from schemas.catalog import CATALOG
from schemas.every import UPSTREAM_TABLES
from schemas.profiles import PROFILES
from tests.tiny_labeler import write_tiny_labeler
from tests.updates.test_inbox import edit
from tests.world import settings_under

COMMAND = (sys.executable, "-m", "jobs.cli", "updates", "serve")


NO_SPARK = {"SPARK_CONNECT_URL": "sc://127.0.0.1:1"}
ENTRIES = {"q-nursing": "nursing of patients", "q-baking": "baking of bread", "q-welding": "welding of steel pipes"}


@contextmanager
def served(home: Path, **settings: str) -> Iterator[tuple["subprocess.Popen[str]", int, int]]:
    """Start the service; yield it with its ports for gRPC and HTTP."""
    with subprocess.Popen(COMMAND, stderr=subprocess.PIPE, text=True, env=env_of(home, **settings)) as process:
        try:
            assert process.stderr is not None
            lines = (re.match(r"gRPC at 127.0.0.1:(\d+), HTTP at 127.0.0.1:(\d+)", line) for line in process.stderr)
            ports = next(found for found in lines if found)
            yield process, int(ports[1]), int(ports[2])
        finally:
            end(process)


def end(process: "subprocess.Popen[str]") -> None:
    """End the service, and so the Spark that it started; one that was killed at once would leave it running."""
    process.terminate()
    try:
        process.wait(60)
    except subprocess.TimeoutExpired:
        process.kill()


def env_of(home: Path, **settings: str) -> dict[str, str]:
    own = {"HOME": str(home), "UPDATES_PORT": "0", "UPDATES_HTTP_PORT": "0", **settings}
    return os.environ | {f"SEMLABEL_{name}": value for name, value in own.items()}


def test_a_file_for_the_model_server_that_cannot_be_read_is_said_at_the_start(tmp_path: Path) -> None:
    env = env_of(tmp_path, **NO_SPARK) | {
        "SEMLABEL_UPDATES_SCORER": "127.0.0.1:1", "SEMLABEL_UPDATES_SCORER_TOKEN_FILE": str(tmp_path / "gone")
    }  # fmt: skip
    ended = subprocess.run(COMMAND, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 3 and "updates_scorer_token_file" in ended.stderr


def test_what_cannot_be_worked_on_waits_in_the_inbox_beyond_the_end_of_the_service(tmp_path: Path) -> None:
    with served(tmp_path, **NO_SPARK) as (process, port, _):
        settings = settings_under(tmp_path, updates_port=port)
        assert client.send(settings, edit("ann", 3))["outcome"] == "accepted"
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    with closing(open_inbox(settings)) as inbox:
        batch = inbox.take(10)
        assert batch is not None and batch.updates == (edit("ann", 3),)


def world(home: Path) -> Settings:
    """Leave tables with a catalog, and a labeler of random weights that accepts what is not far below its middle."""
    settings = settings_under(home)
    create_missing(settings.tables, *UPSTREAM_TABLES)
    for table in (PROFILES, CATALOG):
        set_domain(settings.tables, table, DEFAULT_DOMAIN)
    rows = [
        {"qualification_id": key, "category": "skill", "text": text, "status": "active"}
        for key, text in ENTRIES.items()
    ]
    append_rows(settings.tables, CATALOG, rows, transaction="test")
    write_tiny_labeler(home.parent / "tiny", threshold=0.001)
    register(settings, home.parent / "tiny", alias=settings.labeler_alias)
    return settings


@pytest.mark.slow
def test_an_edit_comes_out_of_the_service_as_labels_that_an_audit_explains(tmp_path: Path) -> None:
    settings = world(tmp_path / "var")
    small = {"SPARK_MASTER": "local[1]", "SPARK_PARTITIONS": "1", "CANDIDATES_PER_MEMBER": "3", "ENGINE_THREADS": "1"}
    with served(settings.home, **small) as (process, port, http_port):
        here = settings.model_copy(update={"updates_port": port})
        sent = client.send(here, edit("ann", 3, "I worked in nursing and baking."), wait_s=600)
        assert sent["outcome"] == "accepted" and sent["labels"]
        with urllib.request.urlopen(f"http://127.0.0.1:{http_port}/members/ann/labels") as answer:
            read = json.load(answer)
        assert (read["profile_version"], read["run_id"]) == (3, sent["run_id"])
        assert [label["qualification_id"] for label in read["labels"]] == sorted(
            label["qualification_id"] for label in sent["labels"]
        )
        with urllib.request.urlopen(f"http://127.0.0.1:{http_port}/health") as answer:
            assert json.load(answer) == {"waiting": 0, "taken": 0, "store": "filled", "is_ready": True}
        for label in read["labels"]:
            found = audit_label(settings, "ann", label["qualification_id"])
            assert (found["state"], found["profile"]["profile_version"]) == ("accepted", 3)
            assert {run["kind"] for run in found["runs"].values() if run} == {"profile_updates"}
            assert found["score"] == pytest.approx(label["score"])
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
