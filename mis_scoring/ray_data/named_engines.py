"""Engines that outlive the driver that started them: detached, named Ray actors of one owner, a run say.

The next driver of the same owner finds them warm, by their names. Whoever owns them ends them, Ray never does; an owner
who waits for a place takes that of an engine of somebody else that stands idle, since who misses it starts it again.
"""

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from typing import Any

import pyarrow as pa
import ray
from ray.exceptions import GetTimeoutError, RayActorError, RayError
from ray.util import list_named_actors

from mis_scoring.core.errors import EngineError, SemlabelError
from mis_scoring.core.identity import digest
from mis_scoring.engines.score_spec import ScoreSpec
from mis_scoring.ray_data.failures import error_of
from mis_scoring.ray_data.placement import Placement
from mis_scoring.ray_data.score import ScoreRows

log = logging.getLogger(__name__)

NAMESPACE = "semlabel"
_ANSWERS_IN_S = 1.0  # an engine that scores answers when it is done with its batch


class NamedEngine:
    """The actor: what `ScoreRows` is inside a stage, for one stage after the other. Loads the model at first use."""

    def __init__(self, spec: ScoreSpec, request_timeout_s: float) -> None:
        self._spec, self._timeout_s = spec, request_timeout_s
        self._score_rows: ScoreRows | None = None
        self._used_at = time.monotonic()
        self._n_under_way = 0
        self._lock = threading.Lock()

    def idle_s(self) -> float:
        """Return for how long it has had nothing to do; answers as soon as it has its place."""
        return 0.0 if self._n_under_way else time.monotonic() - self._used_at

    def require_sound(self) -> None:
        """Answer once the engine can score; raise what went wrong with it, if anything did."""
        self._loaded().require_sound()

    def score(self, batch: pa.Table) -> pa.Table:
        """Return the rows of `STAGED_SCORES`, in their order; see `ScoreRows`."""
        with self._at_work():
            return self._loaded()(batch)

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        with self._lock:
            self._n_under_way += 1
        try:
            yield
        finally:
            with self._lock:
                self._n_under_way -= 1
            self._used_at = time.monotonic()

    def _loaded(self) -> ScoreRows:
        with self._lock:
            if self._score_rows is None:
                self._score_rows = ScoreRows(self._spec, self._timeout_s)
                self._used_at = time.monotonic()
            return self._score_rows


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
        _wait_until_ready(owner, [_get_or_start(name, spec, placement) for name in names], placement)
        yield replace(placement, engines=names)
    except (RayError, SemlabelError) as failure:
        found = _failure_of(names) or error_of(failure)
        _end(names)
        raise found from failure


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
        max_concurrency=placement.batches_per_engine,
        max_restarts=placement.max_restarts,
        max_task_retries=placement.max_restarts,
    )
    return started.remote(spec, placement.request_timeout_s)


def _wait_until_ready(owner: str, engines: Sequence[Any], placement: Placement) -> None:
    deadline = time.monotonic() + placement.start_timeout_s
    waiting = [engine.idle_s.remote() for engine in engines]
    while waiting and time.monotonic() < deadline:
        _, waiting = ray.wait(waiting, num_returns=len(waiting), timeout=placement.idle_after_s)
        if waiting:
            _end_idle(owner, placement.idle_after_s)
    try:
        left_s = max(0.0, deadline - time.monotonic())
        ray.get([engine.require_sound.remote() for engine in engines], timeout=left_s)
    except GetTimeoutError as error:
        owners = ", ".join(engines_by_owner())
        raise EngineError(
            f"{len(engines)} engines of {owner} were not ready in {placement.start_timeout_s:.0f} s. What they need "
            f"may be held by engines that score for somebody else; there are engines of {owners}."
        ) from error


def _failure_of(names: Iterable[str]) -> SemlabelError | None:
    """Return what an engine says went wrong with it: of an error that came by Ray Data, only its text is left."""
    for name in names:
        with suppress(ValueError, RayActorError, GetTimeoutError):  # gone, dead, or at work
            try:
                asked: Any = ray.get_actor(name, namespace=NAMESPACE).require_sound.remote()
                ray.get(asked, timeout=_ANSWERS_IN_S)
            except SemlabelError as failure:
                return failure
    return None


def _end_idle(owner: str, idle_after_s: float) -> None:
    others = [name for other, names in engines_by_owner().items() if other != owner for name in names]
    for name in others:
        with suppress(ValueError, RayError):  # gone meanwhile, or at work
            asked: Any = ray.get_actor(name, namespace=NAMESPACE).idle_s.remote()
            idle_s = ray.get(asked, timeout=_ANSWERS_IN_S)
            if idle_s >= idle_after_s:
                log.info("engine %s has been idle for %.0f s: its place goes to %s", name, idle_s, owner)
                _end([name])


def _end(names: Iterable[str]) -> None:
    for name in names:
        with suppress(ValueError):  # gone meanwhile
            ray.kill(ray.get_actor(name, namespace=NAMESPACE))
