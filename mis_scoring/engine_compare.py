"""Compare the decisions of two engines, and of one with itself item by item, on a labeler's own pairs.

    python -m mis_scoring.engine_compare LABELER --rows rows.parquet --engine prefill --other sglang

Every pair is scored in rounds by both engines, and alone by the first. Prints one JSON document: how many margins and
decisions differ, and each decision that does, with both margins. No tie rule: what the engines themselves say.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.core.readout import decisions
from mis_scoring.core.tokenizer import PromptTokenizer
from mis_scoring.engine_check import read_members, score_order
from mis_scoring.engines.registry import make_engine
from mis_scoring.evaluation.order_sensitivity import orders_of

Margins = npt.NDArray[np.float32]
ROUND = 50


def main(arguments: Sequence[str] | None = None) -> int:
    """Score, print, and return 1 where the first engine decides a pair otherwise alone than in its round."""
    options = _parser().parse_args(arguments)
    artifact = LabelerArtifact.load(options.artifact)
    tokenizer = PromptTokenizer(options.artifact / "tokenizer.json", artifact.prompt)
    members = read_members(options.rows, tokenizer)
    labels = tokenizer.label_tokens(artifact.label_tokens["yes"], artifact.label_tokens["no"])
    n_candidates = [len(member.items) for member in members]
    orders = {size: orders_of(n_candidates, group_sizes=(size,), seed=0)[0] for size in (ROUND, 1)}
    found: dict[str, Margins] = {}
    engines: dict[str, Any] = {}
    for name, settings, sizes in (
        (options.engine, options.options, {"packed": ROUND, "alone": 1}),
        (options.other, options.other_options, {"other": ROUND}),
    ):
        engine = make_engine(name, options.artifact, **json.loads(settings))
        engines[name] = dict(engine.fingerprint)
        try:
            found |= {key: score_order(engine, members, orders[size], labels) for key, size in sizes.items()}
        finally:
            getattr(engine, "close", lambda: None)()
    alone = difference(found["packed"], found["alone"], artifact.threshold)
    report = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "artifact": artifact.name,
        "engines": engines,
        "n_members": len(members),
        "alone": alone,
        "other": difference(found["packed"], found["other"], artifact.threshold),
    }
    sys.stdout.write(json.dumps(report, indent=2) + "\n")
    return int(alone["n_flips"] > 0)


def difference(ours: Margins, theirs: Margins, threshold: float) -> dict[str, Any]:
    """Return how two engines' margins, (n_pairs,), differ, and every pair that they decide differently."""
    moved = np.abs(ours - theirs)
    flipped = np.flatnonzero(decisions(ours, threshold) != decisions(theirs, threshold))
    return {
        "n_pairs": len(ours),
        "n_moved": int((ours != theirs).sum()),
        "largest": float(moved.max()),
        "p999": float(np.quantile(moved, 0.999)),
        "n_flips": len(flipped),
        "flips": [
            {"pair": int(place), "margin": float(ours[place]), "other": float(theirs[place])} for place in flipped
        ],
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m mis_scoring.engine_compare", description=__doc__.splitlines()[0])
    parser.add_argument("artifact", type=Path, help="folder of an artifact")
    parser.add_argument("--rows", type=Path, required=True, help="parquet with query_text and item_texts")
    parser.add_argument("--engine", default="prefill")
    parser.add_argument("--options", default="{}", help="of the engine, as JSON")
    parser.add_argument("--other", default="sglang")
    parser.add_argument("--other-options", default="{}", help="of the other engine, as JSON")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
