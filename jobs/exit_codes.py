"""Exit codes of the command line, by error."""

from jobs.errors import CheckFailedError, MissingRequirementError
from mis_scoring.core.errors import DataError, EngineError, SemlabelError

UNEXPECTED = 70  # no error of ours: the machine, the network, a bug; Python's own 1 would say "a check did not hold"

_BY_ERROR: tuple[tuple[type[SemlabelError], int], ...] = (
    (CheckFailedError, 1),
    (MissingRequirementError, 4),
    (EngineError, 5),
    (DataError, 3),
)


def exit_code_of(error: SemlabelError) -> int:
    """1 a check did not hold, 3 bad input, 4 something needed is missing, 5 an engine failed."""
    return next((code for kind, code in _BY_ERROR if isinstance(error, kind)), 1)
