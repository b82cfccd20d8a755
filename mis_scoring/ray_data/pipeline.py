"""The score stage as a Ray dataset: rows of texts in, rows of `STAGED_SCORES` out, one a member."""

from pathlib import Path
from typing import Any

from ray.data import ActorPoolStrategy, DataContext, Dataset
from ray.data.checkpoint import CheckpointConfig

from mis_scoring.ray_data.score import ScoreRows
from mis_scoring.ray_data.spec import Placement, ScoreSpec
from mis_scoring.ray_data.tokenize import TokenizeRows

INPUT_COLUMNS = ["member_id", "query_hash", "query_text", "item_ids", "item_hashes", "item_texts"]


def score_dataset(ds: Dataset, spec: ScoreSpec, placement: Placement | None = None) -> Dataset:
    """Tokenize on one pool of actors, score on another.

    Args:
        ds: columns `INPUT_COLUMNS`; texts are rendered, lists are aligned, `member_id` is unique.
    Returns:
        Columns of `STAGED_SCORES`; a row that can't be scored has an `error` and null margins.
    Raises:
        EngineError: at execution, wrapped by Ray: an engine failed, or its canary did before any score.
    """
    where = placement or Placement()
    tokenized = ds.map_batches(
        TokenizeRows, fn_constructor_args=(spec,), **_pool(where, where.n_tokenizers), num_cpus=where.cpus_per_actor
    )
    return tokenized.map_batches(
        ScoreRows,
        fn_constructor_args=(spec, where.request_timeout_s),
        **_pool(where, where.n_engines),
        num_cpus=where.cpus_per_actor,
        num_gpus=where.gpus_per_engine,
    )


def write_staged(ds: Dataset, folder: Path, placement: Placement | None = None) -> None:
    """Write scored rows to `folder/data`, going on from `folder/checkpoint`.

    The dataset must begin at files and end here: Ray filters no in-memory source, and a checkpoint with another sink
    loses rows. Only `member_id`s whose file is complete count as done.
    """
    where = placement or Placement()
    context = DataContext.get_current()
    before = context.checkpoint_config
    context.checkpoint_config = CheckpointConfig(
        id_column="member_id", checkpoint_path=str(folder / "checkpoint"), delete_checkpoint_on_success=False
    )
    try:
        ds.write_parquet(
            str(folder / "data"), concurrency=where.n_io_tasks, ray_remote_args={"num_cpus": where.cpus_per_io_task}
        )
    finally:
        context.checkpoint_config = before


def _pool(where: Placement, size: int) -> dict[str, Any]:
    return {
        "batch_format": "pyarrow",
        "batch_size": None,
        "compute": ActorPoolStrategy(size=size),
        "max_restarts": where.max_restarts,
        "max_task_retries": where.max_restarts,
    }
