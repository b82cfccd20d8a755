"""Errors of the jobs, by what a caller can do about them; the command line maps each to an exit code."""

from collections.abc import Sequence

from mis_scoring.core.errors import DataError, SemlabelError


class MissingRequirementError(SemlabelError):
    """Something that the job needs is not there (a jar, a table, a labeler); the message says how to get it."""


class CheckFailedError(SemlabelError):
    """A check did not hold; nothing was written."""


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
