"""A Spark session of a command that a person waits for: what its JVM says of its start is kept back until one fails."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import BinaryIO

import typer
from pyspark.sql import SparkSession

from jobs.settings import Settings
from jobs.spark_session import spark_session
from mis_scoring.core.errors import SemlabelError

_STDERR = 2


@contextmanager
def foreground_session(settings: Settings, name: str) -> Iterator[SparkSession]:
    """Yield a session as `spark_session` does."""
    with tempfile.TemporaryFile() as said, ExitStack() as stack:
        with shown_on_failure(said), stderr_to(said):  # a JVM keeps to its end the stderr that it is started with
            session = stack.enter_context(spark_session(settings, name))
        with shown_on_failure(said, unless=(SemlabelError, typer.Exit, typer.Abort)):  # those say all themselves
            yield session


@contextmanager
def shown_on_failure(said: BinaryIO, *, unless: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Print what a file holds on stderr when the block fails, unless by one of these errors."""
    try:
        yield
    except unless:
        raise
    except BaseException:
        said.seek(0)
        sys.stderr.flush()
        with os.fdopen(os.dup(_STDERR), "wb") as stderr:
            shutil.copyfileobj(said, stderr)
        raise


@contextmanager
def stderr_to(file: BinaryIO) -> Iterator[None]:
    """Send what this process, and whoever it starts, writes to stderr to a file."""
    sys.stderr.flush()
    kept = os.dup(_STDERR)
    os.dup2(file.fileno(), _STDERR)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, _STDERR)
        os.close(kept)
