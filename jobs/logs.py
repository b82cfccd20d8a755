"""Where the jobs log: one line a message on stderr, since stdout is for results."""

import logging
import sys

_OURS = ("jobs", "mis_scoring")


def log_to_stderr() -> None:
    """Send what semlabel's own code logs to stderr, once, and nothing to handlers of a host such as Airflow."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", datefmt="%H:%M:%S"))
    for name in _OURS:
        logger = logging.getLogger(name)
        logger.setLevel(logging.INFO)
        logger.handlers = [handler]
        logger.propagate = False
