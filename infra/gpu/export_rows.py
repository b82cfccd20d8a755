"""Write rows to score from the tables of a run: a member's query and all its candidates, one row a member.

    python infra/gpu/export_rows.py --tables var/tables --run weekly_full-... --out rows.parquet

A GPU machine needs no tables with them (`mis_scoring.engine_check`, the score stage). The texts are people's data.
"""

import argparse
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from jobs.artifact_folder import load_artifact
from jobs.table_reader import literal, pins_of, query
from mis_scoring.core.identity import text_hash
from schemas.candidates import CANDIDATES
from schemas.catalog import CATALOG
from schemas.profiles import PROFILES


def rows_of(tables: Path, run_id: str) -> list[dict[str, Any]]:
    """Return the rows of `mis_scoring.ray_data.pipeline.INPUT_COLUMNS`, rendered by the run's artifact."""
    layout = load_artifact(pins_of(tables, run_id)).prompt
    found = query(
        tables,
        "SELECT c.member_id, p.profile_text, q.qualification_id, q.text FROM candidates c "
        "JOIN profiles p ON p.member_id = c.member_id JOIN catalog q ON q.qualification_id = c.qualification_id "
        f"WHERE c.run_id = {literal(run_id)} ORDER BY c.member_id, c.rank",
        CANDIDATES,
        PROFILES,
        CATALOG,
    )
    rows: dict[str, dict[str, Any]] = {}
    for pair in found:
        text = layout.render_query(pair["profile_text"])
        row = rows.setdefault(
            pair["member_id"],
            {"member_id": pair["member_id"], "query_text": text, "query_hash": text_hash(text)}
            | {name: [] for name in ("item_ids", "item_hashes", "item_texts")},
        )
        item = layout.render_item(pair["text"])
        row["item_ids"].append(pair["qualification_id"])
        row["item_hashes"].append(text_hash(item))
        row["item_texts"].append(item)
    return list(rows.values())


def main() -> None:
    """Read and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=Path, required=True)
    parser.add_argument("--run", required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    pq.write_table(pa.Table.from_pylist(rows_of(options.tables, options.run)), options.out)


if __name__ == "__main__":
    main()
