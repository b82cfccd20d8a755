"""The files that own data comes in: CSV or Parquet, a file or a folder of them; their columns, without Spark."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.dataset as ds

from jobs.csv_shape import shape_of
from schemas.table import Table

# what a file must have; the other columns of a table have a default
REQUIRED = {"profiles": ("member_id", "profile_text"), "catalog": ("qualification_id", "category", "text")}


class FileFaults(NamedTuple):
    """One sentence a fault of a file or folder.

    Attributes:
        file: it can't be read, or its columns are wrong: nothing can be said of its values.
        rows: the shape of single rows; the values of all others can be looked at.
    """

    file: list[str]
    rows: list[str]


def csv_files(path: Path) -> list[Path]:
    """Return the CSV files that a path is or, being a folder, holds; none where it is Parquet."""
    ones = sorted(path.iterdir()) if path.is_dir() else [path]
    return [one for one in ones if one.suffix.lower() == ".csv" and one.is_file()]


def file_faults(path: Path, table: Table) -> FileFaults:
    """Return what is wrong with a file or folder: whether it can be read, its columns, the shape of its rows."""
    files = csv_files(path)
    return _csv_faults(files, table) if files else FileFaults(_parquet_faults(path, table), [])


def _parquet_faults(path: Path, table: Table) -> list[str]:
    try:
        schema = ds.dataset(path, format="parquet", partitioning="hive").schema
    except pa.ArrowInvalid:
        return [f"{path}: is neither CSV (a name that ends in .csv) nor Parquet"]
    if not schema.names:
        return [f"{path}: holds no CSV or Parquet file"]
    nested = [f"column {one.name} holds {one.type}, not one value" for one in schema if pa.types.is_nested(one.type)]
    return [f"{path}: {fault}" for fault in column_faults(schema.names, table) + nested]


def _csv_faults(files: Sequence[Path], table: Table) -> FileFaults:
    shapes = {file: shape_of(file) for file in files}
    first = shapes[files[0]].header
    of_files, of_rows = list[str](), list[str]()
    for file, (header, faults) in shapes.items():
        of_files += [f"{file}: {fault}" for fault in (column_faults(header, table) if header else faults)]
        of_rows += [f"{file}: {fault}" for fault in (faults if header else ())]
        if header and header != first:
            of_files.append(f"{file}: has another header than {files[0].name}: give all the same")
    return FileFaults(of_files, of_rows)


def column_faults(names: Sequence[str], table: Table) -> list[str]:
    """Return one sentence a column that is missing, unknown or there several times."""
    required, known = REQUIRED[table.name], table.columns.names
    missing = [f"column {name} is missing; it needs {', '.join(required)}" for name in required if name not in names]
    unknown = [f"column {name} is unknown; known are {', '.join(known)}" for name in names if name not in known]
    doubled = [f"column {name} stands several times" for name, count in Counter(names).items() if count > 1]
    return missing + unknown + doubled
