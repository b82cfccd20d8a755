"""Score what one round needs: `member_rounds` rows in, staged parquet out. Needs neither Spark, Airflow nor MLflow.

Killed at any moment and run again, it goes on from the members whose file is complete. A round whose scores are
committed is not scored again, although its staging may be gone by now. A round with nothing to score starts neither Ray
nor an engine. The first round that has something starts the run's engines; on a Ray that outlives
this process (`ray_address`) the next rounds find them warm, and `stop_engines` ends them.
"""

import fcntl
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from jobs.artifact_folder import load_artifact
from jobs.pins import Pins
from jobs.progress import logged_progress
from jobs.round_commit import committed_result
from jobs.run_failure import write_canary_failure
from jobs.score_spec import score_spec
from jobs.settings import Settings
from jobs.table_reader import data_files, pins_of
from mis_scoring.core.errors import SemlabelError
from mis_scoring.engines.canary import CanaryError
from mis_scoring.ray_data.placement import Placement
from mis_scoring.ray_data.staging import scores_folder
from mis_scoring.ray_data.summary import (
    check_one_to_one,
    members_done,
    n_missing,
    n_rows_staged,
    prepare_folder,
    summarise,
    write_summary,
)
from schemas.member_rounds import MEMBER_ROUNDS

LOCK_FILE = ".lock"


@dataclass(frozen=True, kw_only=True)
class Params:
    """Which round of which run to score."""

    run_id: str
    round: int


def run(settings: Settings, params: Params) -> dict[str, Any]:
    """Stage one row a member that has items to score, and say what the round came to.

    Returns:
        rows, scored (pairs), errors, tie_checked, tie_tokens, tokens, engines_started, engine: of the round, however
        many attempts it took; attempt_scored, attempt_tokens and seconds: of this attempt. Also left in the round's
        folder as `summary.json`.
    Raises:
        EngineError: an engine or its canary failed; what was staged before stays.
    """
    started = time.monotonic()
    pins = pins_of(settings.tables, params.run_id)
    if done := committed_result(settings.tables, pins, params.round):
        return dict(done) | {"attempt_scored": 0, "attempt_tokens": 0, "seconds": _seconds_since(started)}
    files = round_files(settings.tables, params)
    member_ids, settled = members_of_round(files)
    folder = scores_folder(settings.staging, pins.run_id, params.round, pins.scorer_id)
    prepare_folder(folder)
    with _alone(folder):
        result = before = summarise(folder)
        if n_missing(member_ids, members_done(folder)):
            progress = logged_progress(
                lambda: f"round {params.round}: {n_rows_staged(folder)} of {len(member_ids)} members scored"
            )
            with progress, _canary_failures_kept(settings, params):
                _score(settings, pins, files, folder)
            result = summarise(folder)
        check_one_to_one(folder, member_ids, settled)
        result = result | {f"attempt_{what}": result[what] - before[what] for what in ("scored", "tokens")}
        result["seconds"] = _seconds_since(started)
        write_summary(folder, result)
    return result


def _seconds_since(started: float) -> float:
    return round(time.monotonic() - started, 2)


def round_files(root: Path, params: Params) -> list[str]:
    """Return the parquet files of the round's `member_rounds` partition."""
    files = data_files(root, MEMBER_ROUNDS, run_id=params.run_id, round=params.round)
    assert files is not None, "a table of our own has plain files"
    return files


def members_of_round(files: Sequence[str]) -> tuple[pa.Array, pa.Array]:
    """Return the members with an item to score, and those whose pairs all have a judgment.

    The latter may have a staged row: a round that is built again after its scores were committed reuses them.
    """
    to_score: list[pa.Array] = []
    settled: list[pa.Array] = []
    for file in files:
        for rows in pq.ParquetFile(file).iter_batches(columns=["member_id", "item_ids"]):
            has_items = pc.greater(pc.list_value_length(rows["item_ids"]), pa.scalar(0))
            ids = rows["member_id"].cast(pa.large_string())
            to_score.append(ids.filter(has_items))
            settled.append(ids.filter(pc.invert(has_items)))
    none = pa.array([], pa.large_string())
    return pa.concat_arrays([none, *to_score]), pa.concat_arrays([none, *settled])


def _score(settings: Settings, pins: Pins, files: Sequence[str], folder: Path) -> None:
    artifact = load_artifact(pins)
    spec = score_spec(settings, artifact, Path(pins.artifact_folder), engine=pins.engine)
    from mis_scoring.ray_data.failures import error_of
    from mis_scoring.ray_data.session import ray_session

    with ray_session(address=settings.ray_address, num_cpus=max(2, settings.engine_threads)):
        from ray.exceptions import RayError

        from mis_scoring.ray_data.named_engines import named_engines
        from mis_scoring.ray_data.pipeline import read_rows, score_dataset, write_staged

        try:
            with named_engines(pins.run_id, spec, _placement(settings)) as placement:
                write_staged(score_dataset(read_rows(files, placement), spec, placement), folder, placement)
        except (RayError, SemlabelError) as failure:
            raise error_of(failure) from failure


def _placement(settings: Settings) -> Placement:
    import ray

    n_cpus = float(ray.cluster_resources()["CPU"])  # type: ignore[no-untyped-call]
    where = Placement.for_cluster(n_cpus)
    return replace(
        where,
        n_engines=settings.n_engines,
        gpus_per_engine=settings.gpus_per_engine,
        batches_per_engine=2 if settings.gpus_per_engine else 1,
    )


@contextmanager
def _canary_failures_kept(settings: Settings, params: Params) -> Iterator[None]:
    try:
        yield
    except CanaryError as failure:
        write_canary_failure(settings.tables, params.run_id, params.round, failure)
        raise


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait until no other attempt is at this round: two would stage a member twice.

    A scheduler that died and came back starts a second attempt while the first may go on for some seconds. The system
    gives the lock of a process that dies to the next one.
    """
    with (folder / LOCK_FILE).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
