"""What lies in a round's folder, counted from its files: it describes the round, however many attempts that took.

Of a round this process holds the members' ids, as Arrow has them (some 20 bytes each), and of scores a batch at a time.
"""

import json
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mis_scoring.core.errors import EngineError
from mis_scoring.ray_data.staging import FIRST_EPOCH, STAGED_SCORES

EMPTY_FILE = "empty.parquet"
_PENDING = ".pending.parquet"  # Ray: the ids of a file that may not be whole


def prepare_folder(folder: Path) -> None:
    """Make `data/` with a file of the schema and no row, so that a reader finds the columns whatever happens."""
    data = folder / "data"
    data.mkdir(parents=True, exist_ok=True)
    if not (data / EMPTY_FILE).exists():
        part = data / f".{EMPTY_FILE}.part"
        pq.write_table(STAGED_SCORES.empty_table(), part)
        os.replace(part, data / EMPTY_FILE)


def members_done(folder: Path) -> pa.Array:
    """Return the members whose file is complete; none while Ray has files to clean up."""
    files = list((folder / "checkpoint").rglob("*.parquet"))
    if any(file.name.endswith(_PENDING) for file in files):
        files = []
    return _ids(files)


def n_rows_staged(folder: Path) -> int:
    """Count the rows that are committed so far; cheap, reads footers only."""
    files = (file for file in (folder / "checkpoint").rglob("*.parquet") if not file.name.endswith(_PENDING))
    return sum(_n_rows(file) for file in files)


def read_staged(folder: Path, columns: list[str]) -> pa.Table:
    """Return columns of all staged rows."""
    return pa.concat_tables([pq.read_table(file, columns=columns) for file in _data_files(folder)])


def n_missing(members: pa.Array, others: pa.Array) -> int:
    """Count the members who are not among others."""
    return len(members) - (pc.sum(pc.is_in(members, value_set=others)).as_py() or 0)


def check_one_to_one(folder: Path, member_ids: pa.Array, settled: pa.Array) -> None:
    """Prove that each member has one row and nobody else has any.

    Args:
        member_ids: strings, each once.
        settled: members who need no row, and may have one of an earlier attempt.
    Raises:
        EngineError: counts the rows that are missing, doubled or foreign.
    """
    staged = _ids(_data_files(folder))
    members = pc.unique(staged)
    missing, doubled = n_missing(member_ids, members), len(staged) - len(members)
    foreign = n_missing(members, pa.concat_arrays([member_ids, settled]))
    if missing or foreign or doubled:
        raise EngineError(
            f"{folder}: {missing} rows are missing, {doubled} doubled and {foreign} of other members; remove "
            "the folder and score the round again"
        )


def summarise(folder: Path) -> dict[str, Any]:
    """Count a round: rows, scored pairs, errors, tie checks, tokens, engines started, engine fingerprint.

    An engine counts as started where its first batch is staged: one that an earlier round left warm does not.
    """
    counts, engines, first_epochs = Counter[str](), set[str](), set[str]()
    columns = ["margins", "is_reference", "n_tokens", "tie_tokens", "error", "engine", "canary_epoch"]
    for file in _data_files(folder):
        for batch in pq.ParquetFile(file).iter_batches(columns=columns):
            counts.update(_counts(batch))
            engines.update(pc.unique(batch["engine"]).to_pylist())
            first_epochs.update(name for name in pc.unique(batch["canary_epoch"]).to_pylist() if _is_first(name))
    described = [json.loads(text) for text in sorted(engines)]
    return {
        **{name: counts[name] for name in ("rows", "scored", "errors", "tie_checked", "tie_tokens", "tokens")},
        "engines_started": len(first_epochs),
        "engine": described[0] if len(described) == 1 else described,
    }


def _counts(batch: pa.RecordBatch) -> dict[str, int]:
    return {
        "rows": batch.num_rows,
        "scored": len(pc.list_flatten(batch["margins"])),
        "errors": batch.num_rows - batch["error"].null_count,
        "tie_checked": pc.sum(pc.list_flatten(batch["is_reference"])).as_py() or 0,
        "tie_tokens": pc.sum(batch["tie_tokens"]).as_py() or 0,
        "tokens": pc.sum(batch["n_tokens"]).as_py() or 0,
    }


def _is_first(epoch: str) -> bool:
    return epoch.endswith(FIRST_EPOCH)


def _data_files(folder: Path) -> list[Path]:
    return sorted((folder / "data").rglob("*.parquet"))


def _ids(files: Sequence[Path]) -> pa.Array:
    tables = [pq.read_table(file, columns=["member_id"])["member_id"].cast(pa.large_string()) for file in files]
    return pa.chunked_array([chunk for ids in tables for chunk in ids.chunks], pa.large_string()).combine_chunks()


def write_summary(folder: Path, summary: dict[str, Any]) -> None:
    """Write `summary.json`, whole or not at all."""
    part = folder / ".summary.json.part"
    part.write_text(json.dumps(summary, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    os.replace(part, folder / "summary.json")


def _n_rows(file: Path) -> int:
    try:
        return int(pq.read_metadata(file).num_rows)
    except (OSError, pa.ArrowInvalid):  # renamed or not whole while we look: counted at the next look
        return 0
