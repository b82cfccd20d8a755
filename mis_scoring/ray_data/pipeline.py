"""The score stage as a Ray dataset: rows of texts in, rows of `STAGED_SCORES` out, one a member."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ray.data import ActorPoolStrategy, DataContext, Dataset, read_parquet
from ray.data.checkpoint import CheckpointConfig
from ray.data.expressions import col
from ray.util.annotations import RayDeprecationWarning

from mis_scoring.engines.score_spec import ScoreSpec
from mis_scoring.ray_data.engine_client import score_on_engines
from mis_scoring.ray_data.placement import Placement
from mis_scoring.ray_data.score import ScoreRows
from mis_scoring.ray_data.tokenize import TokenizeRows

INPUT_COLUMNS = ["member_id", "query_hash", "query_text", "item_ids", "item_hashes", "item_texts"]


def read_rows(files: Sequence[str], placement: Placement | None = None) -> Dataset:
    """Read `INPUT_COLUMNS` of parquet files; rows without items are left out.

    Blocks are `rows_per_block` long: a block is the least that a checkpoint keeps. The older of Ray's parquet readers
    is taken, since the newer starts four more processes for one small file (16 s of CPU on two cores); left alone, it
    cuts a small file into blocks of a row.
    """
    where = placement or Placement()
    DataContext.get_current().use_datasource_v2 = False
    rows = read_parquet(
        list(files),
        partitioning=None,
        override_num_blocks=len(files),
        concurrency=where.n_io_tasks,
        num_cpus=where.cpus_per_io_task,
    )
    with_items = rows.select_columns(INPUT_COLUMNS).filter(expr=col("item_ids").list.len() > 0)
    return with_items.repartition(target_num_rows_per_block=where.rows_per_block)


def score_dataset(ds: Dataset, spec: ScoreSpec, placement: Placement | None = None) -> Dataset:
    """Tokenize on one pool of actors, score on another; or as a client of named engines where the placement has some.

    Args:
        ds: columns `INPUT_COLUMNS`; texts are rendered, lists are aligned, `member_id` is unique.
    Returns:
        Columns of `STAGED_SCORES`; a row that can't be scored has an `error` and null margins.
    Raises:
        EngineError: at execution, wrapped by Ray: an engine failed, or its canary did before any score.
    """
    where = placement or Placement()
    if where.engines:
        return ds.map_batches(
            score_on_engines,  # type: ignore[arg-type]  # Ray's type knows no further arguments
            fn_args=(spec, where.engines),
            batch_format="pyarrow",
            batch_size=None,
            **_writing(where),
        )
    with warnings.catch_warnings():
        # 2.60 deprecates free remote arguments, and has no other way yet to bound the restarts of an actor
        warnings.simplefilter("ignore", RayDeprecationWarning)
        tokenized = ds.map_batches(
            TokenizeRows, fn_constructor_args=(spec,), num_cpus=where.cpus_per_actor, **_pool(where, where.n_tokenizers)
        )
        return tokenized.map_batches(
            ScoreRows,
            fn_constructor_args=(spec, where.request_timeout_s),
            num_cpus=where.cpus_per_actor,
            num_gpus=where.gpus_per_engine,
            # a block; Ray wants it said where there are GPUs
            **(_pool(where, where.n_engines, where.batches_per_engine) | {"batch_size": where.rows_per_block}),
        )


def write_staged(ds: Dataset, folder: Path, placement: Placement | None = None) -> None:
    """Write scored rows to `folder/data`, going on from `folder/checkpoint`.

    The dataset must begin at files and end here: Ray filters no in-memory source, and a checkpoint with another sink
    loses rows. Only `member_id`s whose file is complete count as done.
    """
    where = placement or Placement()
    ds.context.checkpoint_config = CheckpointConfig(
        id_column="member_id", checkpoint_path=str(folder / "checkpoint"), delete_checkpoint_on_success=False
    )
    writing = _writing(where)
    ds.write_parquet(
        str(folder / "data"), concurrency=writing["concurrency"], ray_remote_args={"num_cpus": writing["num_cpus"]}
    )


def _writing(where: Placement) -> dict[str, Any]:
    """What the last tasks of the stage run with; the client's too, or Ray doesn't make one task of client and writer.

    On a cluster one batch an engine more is under way than it scores, so that it has the next one when it is done.
    """
    n_ahead = 1 if where.n_io_tasks is None else 0
    n_clients = len(where.engines) * (where.batches_per_engine + n_ahead)
    return {"concurrency": n_clients or where.n_io_tasks, "num_cpus": where.cpus_per_io_task}


def _pool(where: Placement, size: int, batches_at_once: int = 1) -> dict[str, Any]:
    compute = ActorPoolStrategy(
        size=size, max_concurrent_calls_per_actor=batches_at_once, enable_true_multi_threading=batches_at_once > 1
    )
    return {
        "batch_format": "pyarrow",
        "batch_size": None,
        "compute": compute,
        "max_restarts": where.max_restarts,
        "max_task_retries": where.max_restarts,
    }
