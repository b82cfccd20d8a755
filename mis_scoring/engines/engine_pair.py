"""The engine of a score stage with the reference that checks it; models load in the process that calls this."""

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from mis_scoring.core.engine import Engine
from mis_scoring.core.errors import DataError
from mis_scoring.engines.score_spec import GPU_ENGINES, ScoreSpec

EnginePair = tuple[Engine, Engine]


def load_engine_pair(spec: ScoreSpec) -> EnginePair:
    """Return engine and reference of a score stage.

    Raises:
        DataError: there is no such engine.
    """
    return load_engines(
        spec.engine, Path(spec.artifact_folder), threads=spec.engine_threads, options=dict(spec.engine_options)
    )


def load_engines(name: str, folder: Path, *, threads: int, options: Mapping[str, Any] | None = None) -> EnginePair:
    """Return engine and reference of a checkpoint folder.

    `module:function` names an own factory: called with the folder, `threads` and the options, it returns both. The
    reference of an engine on a GPU is torch on the same one, in the same dtype: another code, and a pair's bits depend
    on it alone.

    Raises:
        DataError: there is no such engine, or it has no such option.
        MissingRequirementError: what it runs on is not there.
    """
    if ":" in name:
        return _own_pair(name, folder, threads=threads, **(options or {}))
    from mis_scoring.engines.reference import ReferenceEngine
    from mis_scoring.engines.registry import make_engine

    engine = make_engine(name, folder, threads=threads, **(options or {}))
    if name in GPU_ENGINES and engine.fingerprint["device"] != "cpu":
        dtype = engine.fingerprint["dtype"]
        return engine, ReferenceEngine(folder, threads=threads, device="cuda", dtype=dtype)
    return engine, ReferenceEngine(folder, threads=threads)


def _own_pair(path: str, folder: Path, **settings: Any) -> EnginePair:
    module, _, name = path.partition(":")
    try:
        factory = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise DataError(f"engine {path!r} can't be loaded: {error}") from error
    return cast(EnginePair, factory(folder, **settings))
