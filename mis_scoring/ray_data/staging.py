"""What the score stage leaves behind: a fixed schema from the first write, in a folder keyed by run, round and scorer.

A Ray checkpoint knows nothing of model or run, so its folder must. Imports pyarrow only.
"""

from pathlib import Path

import pyarrow as pa

STAGED_SCORES = pa.schema(
    [
        ("member_id", pa.string()),
        ("query_hash", pa.string()),
        ("item_ids", pa.list_(pa.string())),
        ("item_hashes", pa.list_(pa.string())),
        ("margins", pa.list_(pa.float32())),  # null when the row failed, else aligned with the items
        ("is_reference", pa.list_(pa.bool_())),  # scored on its own by the reference (tie rule)
        ("n_tokens", pa.int64()),
        ("tie_tokens", pa.int64()),
        ("error", pa.string()),
        ("engine", pa.string()),  # fingerprint, canonical JSON
        ("canary_epoch", pa.string()),  # see `epoch_name`; closed by a passing canary before its rows are staged
        ("scorer_id", pa.string()),
    ]
)


FIRST_EPOCH = ":1"


def epoch_name(engine_id: str, number: int) -> str:
    """Name the batches of one engine process, from 1."""
    return f"{engine_id}:{number}"


def scores_folder(staging: Path, run_id: str, round: int, scorer_id: str) -> Path:
    """Return where a round's scores are staged: `data/`, `checkpoint/` and `summary.json` lie below it."""
    return staging / "scores" / f"run_id={run_id}" / f"round={round}" / f"scorer={scorer_id[:16]}"
