"""One tree of errors: `DataError` (a rerun gives the same) and `EngineError` (a retry may help)."""

from collections.abc import Sequence


class SemlabelError(Exception):
    """Anything that semlabel itself reports."""


class DataError(SemlabelError):
    """An input is wrong: fail, do not retry."""


class EngineError(SemlabelError):
    """An engine failed: a retry may help."""


class MissingScoreError(DataError):
    """A score is not finite.

    Attributes:
        item_rows: the rows without a score.
    """

    def __init__(self, item_rows: Sequence[int]) -> None:
        self.item_rows = list(item_rows)
        super().__init__(f"no finite logits in item rows {self.item_rows}; a missing score is never 0")


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
