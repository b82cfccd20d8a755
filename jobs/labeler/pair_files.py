"""The rows of a pairs file as plain values: CSV, Parquet or JSON lines, also gzipped; nothing is judged here but form.

An error never quotes a line: it may hold a profile.
"""

import csv
import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

from jobs.errors import FaultsError

MAX_FIELD_BYTES = 2**31 - 1  # the csv module's own bound, 128 KiB, is shorter than some profiles
_SHOWN = 20


def read_rows(path: Path) -> list[Mapping[str, Any]]:
    """Return the file's rows, in order.

    Raises:
        FaultsError: the file cannot be read as what its name says; all broken lines are listed.
    """
    name = path.name.lower().removesuffix(".gz")
    readers: dict[str, Callable[[Path], list[Mapping[str, Any]]]] = {
        ".csv": _csv_rows,
        ".jsonl": _json_rows,
        ".ndjson": _json_rows,
        ".parquet": _parquet_rows,
    }
    reader = readers.get(Path(name).suffix)
    if reader is None:
        raise FaultsError(str(path), [f"the name ends with none of {', '.join(readers)}: name the file by its form"])
    if not path.is_file():
        raise FaultsError(str(path), ["there is no such file"])
    try:
        return reader(path)
    except UnicodeDecodeError as error:
        raise FaultsError(str(path), [f"byte {error.start} is not UTF-8: save the file as UTF-8"]) from error
    except (OSError, csv.Error) as error:
        raise FaultsError(str(path), [f"it cannot be read: {error}"]) from error


def _open(path: Path) -> TextIO:
    # utf-8-sig: spreadsheets write a byte-order mark, which would become part of the first column's name
    if path.name.lower().endswith(".gz"):
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _csv_rows(path: Path) -> list[Mapping[str, Any]]:
    csv.field_size_limit(MAX_FIELD_BYTES)
    with _open(path) as file:
        rows = list(csv.DictReader(file, strict=True))
    broken = [number for number, row in enumerate(rows, 1) if None in row or None in row.values()]
    if broken:
        fault = "has more or fewer fields than the header: quote texts that hold commas or line breaks"
        raise FaultsError(str(path), [f"row {number} {fault}" for number in broken[:_SHOWN]] + _more(broken))
    return list(rows)


def _json_rows(path: Path) -> list[Mapping[str, Any]]:
    rows: list[Mapping[str, Any]] = []
    broken: list[int] = []
    with _open(path) as file:
        for number, value in enumerate(_parsed(file), 1):
            if isinstance(value, dict):
                rows.append(value)
            else:
                broken.append(number)
    if broken:
        faults = [f"row {number} is no JSON object: write one object a line" for number in broken[:_SHOWN]]
        raise FaultsError(str(path), faults + _more(broken))
    return rows


def _parsed(lines: TextIO) -> Iterator[Any]:
    for line in lines:
        if line.strip():
            try:
                yield json.loads(line)
            except ValueError:
                yield None


def _parquet_rows(path: Path) -> list[Mapping[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return list(pq.read_table(path).to_pylist())
    except pa.ArrowInvalid as error:
        raise FaultsError(str(path), ["it is no Parquet file"]) from error


def _more(broken: list[int]) -> list[str]:
    return [f"and {len(broken) - _SHOWN} more rows like these"] if len(broken) > _SHOWN else []
