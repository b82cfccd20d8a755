"""What went wrong in an actor, as the error that its code raised; Ray wraps it in several of its own."""

from itertools import takewhile

from mis_scoring.core.errors import EngineError, SemlabelError

_LONGEST_REASON = 1000


def error_of(failure: BaseException) -> SemlabelError:
    """Return the error that a failed dataset came from.

    An actor that failed in its constructor, or died, leaves no error object behind: its text tells why.
    """
    seen: list[BaseException] = []
    todo: list[BaseException | None] = [failure]
    while todo:
        error = todo.pop()
        if error is None or error in seen:
            continue
        if isinstance(error, SemlabelError):
            return error
        seen.append(error)
        cause = getattr(error, "cause", None)
        todo += [error.__context__, error.__cause__, cause if isinstance(cause, BaseException) else None]
    return EngineError(f"the score stage ended: {_reason(failure)}")


def _reason(failure: BaseException) -> str:
    """The last error of ours in a traceback that came as text, with the faults that it lists, a line each."""
    lines = [line.strip() for line in str(failure).splitlines() if line.strip()]
    ours = [place for place, line in enumerate(lines) if line.startswith("mis_scoring.")]
    if not ours:
        return (lines or [type(failure).__name__])[-1][:_LONGEST_REASON]
    faults = takewhile(lambda line: line.startswith("- "), lines[ours[-1] + 1 :])
    return "\n".join([lines[ours[-1]], *faults])[:_LONGEST_REASON]
