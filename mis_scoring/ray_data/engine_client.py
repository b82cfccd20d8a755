"""The score stage where the engines are not its own: a task tokenizes a batch and hands it to a named engine.

Ray runs this and the writing of the batch as one task, so that what is scored and not yet on disk is one batch a task.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import pyarrow as pa
import ray
from ray.exceptions import RayActorError

from mis_scoring.core.errors import EngineError
from mis_scoring.engines.score_spec import ScoreSpec
from mis_scoring.ray_data.named_engines import NAMESPACE
from mis_scoring.ray_data.tokenize import TokenizeRows


def score_on_engines(batch: pa.Table, spec: ScoreSpec, names: Sequence[str]) -> pa.Table:
    """Return the rows of `STAGED_SCORES`, in their order.

    Raises:
        EngineError: the engine failed, or its process died and may not start again.
    """
    return score_tokens(_tokenize_rows(spec)(batch), names)


def score_tokens(tokens: pa.Table, names: Sequence[str]) -> pa.Table:
    """Return the scores of rows of `TOKENIZED`; see `score_on_engines`."""
    name, engine = _least_busy(names)
    try:
        return ray.get(engine.score.remote(tokens))
    except RayActorError as error:
        raise EngineError(f"engine {name} died while it scored a batch: killed, out of memory, or hung") from error


@cache
def _tokenize_rows(spec: ScoreSpec) -> TokenizeRows:
    """One a process: Ray gives the next batch to a process that it has."""
    return TokenizeRows(spec)


def _least_busy(names: Sequence[str]) -> tuple[str, Any]:
    """Return the engine that answers first: each answers once it has done what it was given before."""
    try:
        engines = {name: ray.get_actor(name, namespace=NAMESPACE) for name in names}
    except ValueError as error:
        raise EngineError(f"an engine of {', '.join(names)} is gone") from error
    answers: dict[Any, str] = {engine.require_sound.remote(): name for name, engine in engines.items()}
    first, _ = ray.wait(list(answers))
    name = answers[first[0]]
    return name, engines[name]
