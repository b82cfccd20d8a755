"""One tree of errors: `DataError` (a rerun gives the same) and `EngineError` (a retry may help)."""

from collections.abc import Callable, Sequence
from typing import Any


class SemlabelError(Exception):
    """Anything that semlabel itself reports; it crosses processes with its fields, whatever its class asks for."""

    def __reduce__(self) -> tuple[Callable[..., "SemlabelError"], tuple[Any, ...]]:
        """Rebuild without `__init__`: pickle would call it with the message alone."""
        return _rebuilt, (type(self), self.args, self.__dict__)


def _rebuilt(kind: type[SemlabelError], args: tuple[Any, ...], fields: dict[str, Any]) -> SemlabelError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(fields)
    return error


class DataError(SemlabelError):
    """An input is wrong: fail, do not retry."""


class EngineError(SemlabelError):
    """An engine failed: a retry may help."""


class EngineDeadError(EngineError):
    """An engine's process ended or hung, and is gone: only a new one can score."""


class MissingRequirementError(SemlabelError):
    """Something that is needed is not there (a package, a jar, a table); the message says how to get it."""


class MissingScoreError(DataError):
    """A score is not finite.

    Attributes:
        item_rows: the rows without a score.
    """

    def __init__(self, item_rows: Sequence[int], why: str = "") -> None:
        self.item_rows = list(item_rows)
        said = f" ({why})" if why else ""
        super().__init__(f"no finite logits in item rows {self.item_rows}{said}; a missing score is never 0")


class PromptError(DataError):
    """A text does not fit the prompt contract of an artifact."""


class ArtifactError(DataError):
    """An artifact folder has faults, all listed.

    Attributes:
        faults: one sentence a fault.
    """

    def __init__(self, folder: str, faults: Sequence[str]) -> None:
        self.folder = folder
        self.faults = list(faults)
        super().__init__("\n".join([f"artifact {folder}: {len(self.faults)} fault(s)", *(f"  - {f}" for f in faults)]))
