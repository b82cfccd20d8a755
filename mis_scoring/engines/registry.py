"""Engines by name, for settings; modules are imported when one is made."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from mis_scoring.core.engine import Engine
from mis_scoring.core.errors import DataError


def make_engine(name: str, checkpoint_dir: Path, **settings: Any) -> Engine:
    """Return the engine of a name.

    Args:
        name: one of `engine_names()`.
        settings: of its constructor, as `threads`.
    Raises:
        DataError: no engine has that name, or it has no such setting.
        ArchitectureError: the engine does not compute such a checkpoint.
        MissingRequirementError: what it runs on is not there.
    """
    if name not in _MAKERS:
        raise DataError(f"no engine is named {name!r}; known: {', '.join(engine_names())}")
    return _MAKERS[name](Path(checkpoint_dir), **settings)


def engine_names() -> tuple[str, ...]:
    """Return the names that `make_engine` knows."""
    return tuple(_MAKERS)


def name_fault(name: str) -> str | None:
    """Say what is wrong with an engine's name; None where it is known, or has the form of an own engine's.

    Whether `module:function` is there, only the machine that scores can tell: nothing is imported here.
    """
    module, colon, function = name.partition(":")
    if colon and all(part.isidentifier() for part in (*module.split("."), function)):
        return None
    if name in _MAKERS:
        return None
    known = ", ".join(engine_names())
    return f"no engine is named {name!r}; known: {known}; or `module:function`, which makes an own one"


def _cascade(checkpoint_dir: Path, **settings: Any) -> Engine:
    from mis_scoring.engines.cascade import CascadeEngine

    return CascadeEngine(checkpoint_dir, **settings)


def _dense(checkpoint_dir: Path, **settings: Any) -> Engine:
    from mis_scoring.engines.dense import DenseEngine

    return DenseEngine(checkpoint_dir, **settings)


def _prefill(checkpoint_dir: Path, **settings: Any) -> Engine:
    from mis_scoring.engines.prefill.engine import PrefillEngine

    return PrefillEngine(checkpoint_dir, **settings)


def _single(checkpoint_dir: Path, **settings: Any) -> Engine:
    from mis_scoring.engines.single import SingleItemEngine

    return SingleItemEngine(checkpoint_dir, **settings)


def _sglang(checkpoint_dir: Path, **settings: Any) -> Engine:
    from mis_scoring.engines.sglang import SGLangEngine

    return SGLangEngine(checkpoint_dir, **settings)


_MAKERS: dict[str, Callable[..., Engine]] = {
    "cascade": _cascade,
    "dense": _dense,
    "prefill": _prefill,
    "sglang": _sglang,
    "single": _single,
}
