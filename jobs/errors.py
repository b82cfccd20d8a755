"""Errors of the jobs, by what a caller can do about them; the command line maps each to an exit code."""

from collections.abc import Sequence

from mis_scoring.core.errors import DataError, SemlabelError
from mis_scoring.core.errors import MissingRequirementError as MissingRequirementError


class CheckFailedError(SemlabelError):
    """A check did not hold; nothing was written."""


class HeldError(CheckFailedError):
    """A publication is past a limit and waits for a person.

    Attributes:
        run_id: what `semlabel approve` takes.
        reasons: one sentence a limit: figure, limit, setting.
    """

    def __init__(self, run_id: str, reasons: Sequence[str]) -> None:
        self.run_id, self.reasons = run_id, list(reasons)
        super().__init__(
            "\n".join(
                [
                    f"Run {run_id} is held; the labels are as they were:",
                    *(f"  - {reason}" for reason in self.reasons),
                    f"`semlabel runs {run_id}` shows the figures, table label_changes the diff. "
                    f"`semlabel approve {run_id}` lets it go on: then run publish_labels again.",
                ]
            )
        )


class CeilingError(CheckFailedError):
    """A plan may cost more than a setting allows; nothing was spent."""


class MissingVersionError(DataError):
    """A pinned version of a table can't be read any more, and no retry brings it back.

    Attributes:
        table, version: which.
    """

    def __init__(self, table: str, version: int) -> None:
        self.table, self.version = table, version
        super().__init__(
            f"{table} version {version} can't be read any more: files that no version of the last "
            "SEMLABEL_VACUUM_HOURS needs are deleted. Start a new run, which pins what stands now."
        )


class FaultsError(DataError):
    """An input has faults; all of them are listed at once.

    Attributes:
        where: the table or file.
        faults: one sentence a fault: field, value, remedy.
    """

    def __init__(self, where: str, faults: Sequence[str]) -> None:
        self.where = where
        self.faults = list(faults)
        super().__init__("\n".join([f"{where}: {len(self.faults)} fault(s)", *(f"  - {fault}" for fault in faults)]))


class SchemaError(FaultsError):
    """A frame or a table does not have the columns that its schema file defines."""
