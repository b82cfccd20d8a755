"""Open a pinned version of a table, whole or not at all: maintenance deletes the files of old versions."""

from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from jobs.errors import MissingVersionError
from jobs.table_path import table_path
from schemas.table import Table


def open_version(root: Path, table: Table, version: int) -> DeltaTable:
    """Return a table at a version whose files are all there.

    Raises:
        MissingVersionError: its log or a file of it is gone.
    """
    try:
        delta = DeltaTable(table_path(root, table), version=version)
    except DeltaError as error:
        raise MissingVersionError(table.name, version) from error
    if not all(Path(path).exists() for path in file_paths(delta.file_uris())):
        raise MissingVersionError(table.name, version)
    return delta


def file_paths(uris: Iterable[str]) -> list[str]:
    """Return the paths of files as delta-rs names them."""
    return [unquote(uri.removeprefix("file://")) for uri in uris]
