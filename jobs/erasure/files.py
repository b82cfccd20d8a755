"""What lies on disk beside the rows that a reader sees: replaced files of tables, staged files, work folders.

A vacuum without retention would take files that other runs still read or have not committed yet. So each file that no
current version has is looked into, and only those that hold the member go.
"""

import gzip
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable

from jobs.erasure.rows import Rows
from jobs.table_path import table_path

_STAGED = ("retrieval", "scores")  # folders under the staging root
_DERIVED = ("borderline.html", "borderline.json")  # of an evaluation, which writes them again


@dataclass(frozen=True, kw_only=True)
class Cleaned:
    """What became of files.

    Attributes:
        n_files: deleted or rewritten.
        unread: those that cannot be read and are young: a writer may be at them, and so they may hold the member.
    """

    n_files: int
    unread: list[Path]


def remove_old_files(root: Path, rows: Rows, *, broken_after_s: float) -> Cleaned:
    """Delete the files of no current version that hold the rows.

    Args:
        broken_after_s: a file that cannot be read goes too when it is older: a writer that was killed left it.
    """
    return _clean(_unreferenced(root, rows), lambda file: _delete_if_holding(file, rows), broken_after_s)


def rewrite_staged(staging: Path, member_id: str, *, broken_after_s: float) -> Cleaned:
    """Take the member's rows out of every staged file.

    What other members have staged stays, so that a run which is tried again goes on from there.
    """
    files = (file for name in _STAGED for file in (staging / name).rglob("*.parquet"))
    return _clean(files, lambda file: _rewrite(file, member_id), broken_after_s)


def _clean(files: Iterable[Path], clean: Callable[[Path], bool], broken_after_s: float) -> Cleaned:
    """Clean each file; a run that goes on over other members may write or remove some meanwhile."""
    n_files, unread = 0, []
    for file in files:
        try:
            n_files += clean(file)
        except FileNotFoundError:
            continue
        except (OSError, pa.ArrowInvalid):
            if time.time() - file.stat().st_mtime < broken_after_s:
                unread.append(file)
            else:
                _delete(file)
                n_files += 1
    return Cleaned(n_files=n_files, unread=unread)


def clean_work(work: Path, member_id: str) -> int:
    """Take the member out of a labeler's work folder; return how many files had the member, or may have.

    The files that show pairs one by one are deleted. A model that was trained on the member stays what it is.
    """
    derived = [file for name in _DERIVED for file in work.rglob(name)]
    for file in derived:
        file.unlink()
    return len(derived) + sum(_without_lines(file, member_id) for file in work.rglob("*.jsonl.gz"))


def _unreferenced(root: Path, rows: Rows) -> Iterator[Path]:
    folder = Path(table_path(root, rows.table))
    current = {Path(unquote(uri.removeprefix("file://"))) for uri in DeltaTable(str(folder)).file_uris()}
    for file in folder.rglob("*.parquet"):
        if "_delta_log" not in file.parts and file not in current and Path(unquote(str(file))) not in current:
            yield file


def _delete_if_holding(file: Path, rows: Rows) -> bool:
    column = pq.ParquetFile(file).read([rows.column])[rows.column]
    holds = bool(pc.any(pc.is_in(column, pa.array(sorted(rows.values), pa.string()))).as_py())
    if holds:
        _delete(file)
    return holds


def _rewrite(file: Path, member_id: str) -> bool:
    content = pq.ParquetFile(file).read()
    if "member_id" not in content.column_names:
        return False
    kept = content.filter(pc.not_equal(content["member_id"], member_id))
    if len(kept) == len(content):
        return False
    partial = file.with_name(f".{file.name}.partial")
    pq.write_table(kept, partial)
    os.replace(partial, file)
    _checksum(file).unlink(missing_ok=True)
    return True


def _without_lines(file: Path, member_id: str) -> int:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        every = list(lines)
    kept = [line for line in every if json.loads(line).get("member_id") != member_id]
    if len(kept) == len(every):
        return 0
    partial = file.with_name(f".{file.name}.partial")
    with gzip.open(partial, "wt", encoding="utf-8") as out:
        out.writelines(kept)
    os.replace(partial, file)
    return 1


def _delete(file: Path) -> None:
    file.unlink(missing_ok=True)
    _checksum(file).unlink(missing_ok=True)


def _checksum(file: Path) -> Path:
    """Spark's sidecar of a file, which would no longer match."""
    return file.with_name(f".{file.name}.crc")
