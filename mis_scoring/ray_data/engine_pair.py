"""The engine of a score stage with the reference that checks it; models load in the process that calls this."""

import importlib
from pathlib import Path
from typing import cast

from mis_scoring.core.engine import Engine
from mis_scoring.core.errors import DataError
from mis_scoring.ray_data.spec import ScoreSpec

EnginePair = tuple[Engine, Engine]


def load_engine_pair(spec: ScoreSpec) -> EnginePair:
    """Return engine and reference of a score stage.

    Raises:
        DataError: there is no such engine.
    """
    return load_engines(spec.engine, Path(spec.artifact_folder), threads=spec.engine_threads)


def load_engines(name: str, folder: Path, *, threads: int) -> EnginePair:
    """Return engine and reference of a checkpoint folder.

    `module:function` names an own factory: called with the folder and `threads`, it returns both.

    Raises:
        DataError: there is no such engine.
    """
    if ":" in name:
        return _own_pair(name, folder, threads)
    from mis_scoring.engines.reference import ReferenceEngine
    from mis_scoring.engines.registry import make_engine

    return make_engine(name, folder, threads=threads), ReferenceEngine(folder, threads=threads)


def _own_pair(path: str, folder: Path, threads: int) -> EnginePair:
    module, _, name = path.partition(":")
    try:
        factory = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise DataError(f"engine {path!r} can't be loaded: {error}") from error
    return cast(EnginePair, factory(folder, threads=threads))
