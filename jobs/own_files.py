"""The files that own data comes in: CSV or Parquet, a file or a folder of them; their columns, without Spark."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds

from jobs.csv_shape import shape_of
from schemas.table import Table

# what a file must have; the other columns of a table have a default
REQUIRED = {"profiles": ("member_id", "profile_text"), "catalog": ("qualification_id", "category", "text")}


def csv_files(path: Path) -> list[Path]:
    """Return the CSV files that a path is or, being a folder, holds; none where it is Parquet."""
    ones = sorted(path.iterdir()) if path.is_dir() else [path]
    return [one for one in ones if one.suffix.lower() == ".csv" and one.is_file()]


def file_faults(path: Path, table: Table) -> list[str]:
    """Return one sentence a fault of a file or folder: whether it can be read, its columns, the shape of its rows."""
    files = csv_files(path)
    if files:
        return _csv_faults(files, table)
    try:
        schema = ds.dataset(path, format="parquet", partitioning="hive").schema
    except pa.ArrowInvalid:
        return [f"{path}: is neither CSV (a name that ends in .csv) nor Parquet"]
    if not schema.names:
        return [f"{path}: holds no CSV or Parquet file"]
    nested = [f"column {one.name} holds {one.type}, not one value" for one in schema if pa.types.is_nested(one.type)]
    return [f"{path}: {fault}" for fault in column_faults(schema.names, table) + nested]


def _csv_faults(files: Sequence[Path], table: Table) -> list[str]:
    shapes = {file: shape_of(file) for file in files}
    faults = [f"{file}: {fault}" for file, shape in shapes.items() for fault in _all_faults(*shape, table)]
    first = shapes[files[0]].header
    others = [file for file, shape in shapes.items() if shape.header and shape.header != first]
    return faults + [f"{file}: has another header than {files[0].name}: give all the same" for file in others]


def _all_faults(header: Sequence[str], faults: Sequence[str], table: Table) -> list[str]:
    return [*(column_faults(header, table) if header else ()), *faults]


def column_faults(names: Sequence[str], table: Table) -> list[str]:
    """Return one sentence a column that is missing, unknown or there several times."""
    required, known = REQUIRED[table.name], table.columns.names
    missing = [f"column {name} is missing; it needs {', '.join(required)}" for name in required if name not in names]
    unknown = [f"column {name} is unknown; known are {', '.join(known)}" for name in names if name not in known]
    doubled = [f"column {name} stands several times" for name, count in Counter(names).items() if count > 1]
    return missing + unknown + doubled
