"""The score stage on a real GPU: Ray's own `build_processor`, and no row lost or doubled whatever is killed."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.core.labels import LabelTokens
from mis_scoring.core.readout import margins
from mis_scoring.engines.score_spec import ScoreSpec
from mis_scoring.engines.sglang import SGLangEngine
from mis_scoring.ray_data.staging import STAGED_SCORES
from mis_scoring.ray_data.summary import n_rows_staged, read_staged
from tests.gpu.conftest import SMALL, command_of, group_of, texts_of

N_MEMBERS, N_ITEMS, ROWS_A_BATCH = 3_000, 50, 64
DEADLINE_S = 300


@pytest.fixture(scope="module")
def rows(gpu_labeler: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("rows") / "rows.parquet"
    pq.write_table(pa.Table.from_pylist(texts_of(gpu_labeler, N_MEMBERS, N_ITEMS)), file)
    return file


def test_plain_build_processor_scores_with_sglang_and_a_bad_row_is_an_error(
    gpu_labeler: Path, engine: SGLangEngine, labels: LabelTokens
) -> None:
    import ray.data
    from ray.data.llm import build_processor

    from mis_scoring.ray_data.processor import SGLangScoreProcessorConfig
    from mis_scoring.ray_data.session import ray_session

    given = texts_of(gpu_labeler, 40, 30)
    texts = [{"number": n, "query": row["query_text"], "items": row["item_texts"]} for n, row in enumerate(given)]
    texts[7]["query"] = "rendered by another layout"
    config = SGLangScoreProcessorConfig(
        model_source=str(gpu_labeler),
        engine="sglang",
        engine_options=SMALL,
        gpus_per_engine=0.5,
        batch_size=16,
        concurrency=1,
        should_continue_on_error=True,
    )
    with ray_session(num_cpus=8):
        found = {row["number"]: row for row in build_processor(config)(ray.data.from_items(texts)).take_all()}
    assert sorted(found) == list(range(40)) and "layout" in found[7]["__inference_error__"]
    tokenizer = ScoreSpec.of(LabelerArtifact.load(gpu_labeler), gpu_labeler, engine="sglang").tokenizer()
    for number in (0, 20, 39):
        query = tokenizer.encode_query(texts[number]["query"])
        items = [tokenizer.encode_item(item) for item in texts[number]["items"]]
        direct = margins(engine.label_logits(query, items, labels))
        moved = np.abs(np.asarray(found[number]["margins"]) - direct)[~np.asarray(found[number]["is_reference"])]
        assert moved.size == 0 or moved.max() < engine.rounding
        assert json.loads(found[number]["engine"])["engine"] == "sglang"


@pytest.mark.parametrize("victim", ["driver", "actor", "engine"])
def test_whatever_is_killed_no_row_is_lost_and_none_is_there_twice(
    victim: str, gpu_labeler: Path, rows: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "scores"
    for is_killed in (True, False):
        with stage(gpu_labeler, rows, folder) as driver:
            if is_killed:
                kept, host = kill(victim, driver, folder)
                assert select.select([host], [], [], 60)[0], "an engine outlives its stage"
            ended = driver.wait(DEADLINE_S)
        if ended == 0:
            break
    assert ended == 0 and (victim == "driver") == (not is_killed), "an actor and an engine are started again by Ray"
    staged = read_staged(folder, STAGED_SCORES.names)
    ids = Counter(staged["member_id"].to_pylist())
    assert len(ids) == N_MEMBERS and set(ids.values()) == {1}
    assert staged["error"].null_count == N_MEMBERS and kept >= ROWS_A_BATCH
    assert len({epoch.split(":")[0] for epoch in staged["canary_epoch"].to_pylist()}) == 2, "two engines scored"


@contextmanager
def stage(labeler: Path, rows: Path, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A driver of the stage."""
    command = [sys.executable, "-m", "mis_scoring.ray_data.score_files", str(labeler), "--rows", str(rows)]
    command += ["--out", str(folder), "--engine", "sglang", "--options", json.dumps(SMALL), "--cpus", "8"]
    command += ["--gpus-per-engine", "0.5", "--rows-per-block", str(ROWS_A_BATCH)]
    with subprocess.Popen(command, env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}) as driver:
        try:
            yield driver
        finally:
            driver.kill()


def kill(victim: str, driver: subprocess.Popen[bytes], folder: Path) -> tuple[int, int]:
    """Kill once some batches are staged; returns how many rows were, and a handle of the engine's first process."""
    deadline = time.monotonic() + DEADLINE_S
    while (n_staged := n_rows_staged(folder)) < ROWS_A_BATCH:
        assert driver.poll() is None and time.monotonic() < deadline, "the stage staged nothing"
        time.sleep(0.02)
    assert n_staged < N_MEMBERS
    (host,) = hosts(driver.pid)
    handle = os.pidfd_open(host)
    if victim == "driver":
        driver.kill()
    elif victim == "actor":
        os.kill(parent_of(host), signal.SIGKILL)
    else:
        (scheduler,) = [pid for pid in group_of(host) if "scheduler" in command_of(pid)]
        os.kill(scheduler, signal.SIGKILL)
    return n_staged, handle


def hosts(driver: int) -> list[int]:
    """The first processes of the engines that a driver started, through its Ray."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # gone meanwhile
            pid = int(entry.name)
            is_host = "mis_scoring.engines.sglang_host" in command_of(pid) and os.getpgid(pid) == pid
            if is_host and driver in ancestors_of(pid):
                found.append(pid)
    return found


def ancestors_of(pid: int) -> Iterator[int]:
    while pid > 1:
        pid = parent_of(pid)
        yield pid


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
