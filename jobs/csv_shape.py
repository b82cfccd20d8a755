"""The shape of a CSV file, read line by line: its header, and the rows that don't have as many fields as it names.

Spark stops at the first such row, and names neither file nor line; here all of them are found.
"""

import csv
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

SHOWN = 5  # examples of a fault
_QUOTE = "a text with a comma, a quote or a line break goes in quotes, and a quote in it twice"


class CsvShape(NamedTuple):
    """The columns that a file names, and one sentence a fault."""

    header: list[str]
    faults: list[str]


def shape_of(path: Path) -> CsvShape:
    """Read a file once, one row at a time."""
    csv.field_size_limit(sys.maxsize)
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            return shape_of_lines(lines)
    except UnicodeDecodeError:
        return CsvShape([], ["is no UTF-8 text: save it as UTF-8"])


def shape_of_lines(lines: Iterable[str]) -> CsvShape:
    """Return the shape of a file's lines."""
    rows = _rows(lines)
    _, header = next(rows, (1, "no header"))
    if isinstance(header, str):
        return CsvShape([], [f"line 1: {header}: its first line must name the columns"])
    wrong: dict[str, list[int]] = {}
    n_rows = 0
    for line, row in rows:
        n_rows += 1
        if what := _fault_of(row, len(header)):
            wrong.setdefault(what, []).append(line)
    faults = [f"line {_listed(found)}: {what}" for what, found in wrong.items()]
    return CsvShape(header, faults if n_rows else ["holds no row under its header"])


def _fault_of(row: list[str] | str, n_columns: int) -> str | None:
    if isinstance(row, str):
        return f"{row}: {_QUOTE}"
    if len(row) == n_columns:
        return None
    return f"{len(row)} field(s) where the header names {n_columns}: {_QUOTE}"


def _rows(lines: Iterable[str]) -> Iterator[tuple[int, list[str] | str]]:
    """Yield the line that a row begins at, and its fields or what is wrong with it; empty lines are no rows."""
    reader = csv.reader(lines, strict=True)
    while True:
        begins_at = reader.line_num + 1
        try:
            row: list[str] | str = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            row = str(error)
        if row:
            yield begins_at, row


def _listed(lines: Sequence[int]) -> str:
    shown = ", ".join(str(line) for line in lines[:SHOWN])
    return shown if len(lines) <= SHOWN else f"{shown} and {len(lines) - SHOWN} more"
