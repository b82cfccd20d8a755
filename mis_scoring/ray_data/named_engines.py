"""Engines that outlive the driver that started them: detached, named Ray actors of one owner, a run say.

The next driver of the same owner finds them warm, by their names. Whoever owns them ends them: Ray never does.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from typing import Any

import pyarrow as pa
import ray
from ray.exceptions import GetTimeoutError, RayError
from ray.util import list_named_actors

from mis_scoring.core.errors import EngineError, SemlabelError
from mis_scoring.core.identity import digest
from mis_scoring.ray_data.failures import error_of
from mis_scoring.ray_data.score import ScoreRows
from mis_scoring.ray_data.spec import Placement, ScoreSpec

NAMESPACE = "semlabel"


class NamedEngine:
    """The actor: what `ScoreRows` is inside a stage, for one stage after the other."""

    def __init__(self, spec: ScoreSpec, request_timeout_s: float) -> None:
        self._score_rows = ScoreRows(spec, request_timeout_s)

    def require_sound(self) -> None:
        """Answer once the engine can score; raise what went wrong with it, if anything did."""
        self._score_rows.require_sound()

    def score(self, batch: pa.Table) -> pa.Table:
        """Return the rows of `STAGED_SCORES`, in their order; see `ScoreRows`."""
        return self._score_rows(batch)


@contextmanager
def named_engines(owner: str, spec: ScoreSpec, placement: Placement) -> Iterator[Placement]:
    """Start what is missing of an owner's engines and yield the placement of a stage that is a client of them.

    They stay warm when the block ends, also when its process is killed, and are ended when it fails: an engine that
    failed once is not asked again. One of another spec is replaced.

    Raises:
        EngineError: an engine failed, its canary did, or it was not ready in time.
    """
    names = tuple(f"{owner}/{digest(asdict(spec))[:8]}/{number}" for number in range(placement.n_engines))
    _end(name for name in engines_by_owner().get(owner, []) if name not in names)
    try:
        _wait_until_ready([_get_or_start(name, spec, placement) for name in names], placement.start_timeout_s)
        yield replace(placement, engines=names)
    except (RayError, SemlabelError) as failure:
        _end(names)
        raise error_of(failure) from failure


def end_engines(owner: str) -> list[str]:
    """End an owner's engines and return their names; to have none is no error."""
    names = engines_by_owner().get(owner, [])
    _end(names)
    return names


def engines_by_owner() -> dict[str, list[str]]:
    """Return the names of all engines that this Ray has, by owner."""
    found = defaultdict(list)
    for actor in list_named_actors(all_namespaces=True):
        if actor["namespace"] == NAMESPACE:
            found[actor["name"].rsplit("/", 2)[0]].append(actor["name"])
    return {owner: sorted(found[owner]) for owner in sorted(found)}


def _get_or_start(name: str, spec: ScoreSpec, placement: Placement) -> Any:
    started = ray.remote(NamedEngine).options(
        name=name,
        namespace=NAMESPACE,
        lifetime="detached",
        get_if_exists=True,
        num_cpus=placement.cpus_per_actor,
        num_gpus=placement.gpus_per_engine,
        max_restarts=placement.max_restarts,
        max_task_retries=placement.max_restarts,
    )
    return started.remote(spec, placement.request_timeout_s)


def _wait_until_ready(engines: list[Any], timeout_s: float) -> None:
    try:
        ray.get([engine.require_sound.remote() for engine in engines], timeout=timeout_s)
    except GetTimeoutError as error:
        owners = ", ".join(engines_by_owner())
        raise EngineError(
            f"{len(engines)} engines were not ready in {timeout_s:.0f} s. What they need may be held by the engines of "
            f"other owners, which end with their runs; there are engines of {owners}."
        ) from error


def _end(names: Iterable[str]) -> None:
    for name in names:
        with suppress(ValueError):  # gone meanwhile
            ray.kill(ray.get_actor(name, namespace=NAMESPACE))
