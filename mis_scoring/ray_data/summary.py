"""What lies in a round's folder, counted from its files: it describes the round, however many attempts that took."""

import json
import os
from collections.abc import Iterable
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


def members_done(folder: Path) -> set[str]:
    """Return the members whose file is complete; none while Ray has files to clean up."""
    files = list((folder / "checkpoint").rglob("*.parquet"))
    if any(file.name.endswith(_PENDING) for file in files):
        return set()
    return {member for file in files for member in pq.read_table(file, columns=["member_id"])["member_id"].to_pylist()}


def n_rows_staged(folder: Path) -> int:
    """Count the rows that are committed so far; cheap, reads footers only."""
    files = (file for file in (folder / "checkpoint").rglob("*.parquet") if not file.name.endswith(_PENDING))
    return sum(_n_rows(file) for file in files)


def read_staged(folder: Path, columns: list[str]) -> pa.Table:
    """Return columns of all staged rows."""
    files = sorted((folder / "data").rglob("*.parquet"))
    return pa.concat_tables([pq.read_table(file, columns=columns) for file in files])


def check_one_to_one(folder: Path, member_ids: Iterable[str], settled: Iterable[str] = ()) -> None:
    """Prove that each member has one row and nobody else has any.

    Args:
        settled: members who need no row, and may have one of an earlier attempt.
    Raises:
        EngineError: counts the rows that are missing, doubled or foreign.
    """
    expected = set(member_ids)
    staged = read_staged(folder, ["member_id"])["member_id"].to_pylist()
    missing, foreign, doubled = (
        expected - set(staged),
        set(staged) - expected - set(settled),
        len(staged) - len(set(staged)),
    )
    if missing or foreign or doubled:
        raise EngineError(
            f"{folder}: {len(missing)} rows are missing, {doubled} doubled and {len(foreign)} of other members; remove "
            "the folder and score the round again"
        )


def summarise(folder: Path) -> dict[str, Any]:
    """Count a round: rows, scored pairs, errors, tie checks, tokens, engines started, engine fingerprint.

    An engine counts as started where its first batch is staged: one that an earlier round left warm does not.
    """
    rows = read_staged(folder, ["margins", "is_reference", "n_tokens", "tie_tokens", "error", "engine", "canary_epoch"])
    epochs = set(rows["canary_epoch"].to_pylist())
    engines = [json.loads(text) for text in sorted(set(rows["engine"].to_pylist()))]
    return {
        "rows": rows.num_rows,
        "scored": len(pc.list_flatten(rows["margins"])),
        "errors": rows.num_rows - rows["error"].null_count,
        "tie_checked": pc.sum(pc.list_flatten(rows["is_reference"])).as_py() or 0,
        "tie_tokens": pc.sum(rows["tie_tokens"]).as_py() or 0,
        "tokens": pc.sum(rows["n_tokens"]).as_py() or 0,
        "engines_started": sum(epoch.endswith(FIRST_EPOCH) for epoch in epochs),
        "engine": engines[0] if len(engines) == 1 else engines,
    }


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
