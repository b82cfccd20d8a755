"""Measure an engine on a labeler's own pairs, and make the artifact of its scores.

    python -m mis_scoring.engine_check labelers/esco-small --engine sglang --rows rows.parquet --out checked

Scores every pair in rounds (rank order, then shuffled and regrouped), by the reference of the tie rule, and by the
dense mask in float32 on the same device. `--out` gets `report.json` and, where the artifact's scores are in another
dtype, an artifact `labeler/` with the same files, the engine's dtype and the measured `tie_eps`. Rows are those of the
score stage (`query_text`, `item_texts`).
"""

import argparse
import json
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from mis_scoring.core.artifact import CHECKPOINT_FILES, LabelerArtifact
from mis_scoring.core.engine import Engine
from mis_scoring.core.labels import LabelTokens, TokenIds
from mis_scoring.core.readout import decisions, margins
from mis_scoring.core.tie import in_tie_band
from mis_scoring.core.tokenizer import PromptTokenizer
from mis_scoring.engines.canary import canary_pairs, check_canary
from mis_scoring.engines.engine_pair import load_engines
from mis_scoring.evaluation.order_sensitivity import Order, OrderChanges, orders_of
from mis_scoring.evaluation.tie_band import TieBand, rounded_up

Margins = npt.NDArray[np.float32]
GROUP_SIZES = (50, 50, 200, 7)  # candidates asked together, an order of them each


@dataclass(frozen=True, kw_only=True)
class Member:
    """One query and its items, as token ids."""

    query: TokenIds
    items: Sequence[TokenIds]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, write, and return 0."""
    options = _parser().parse_args(arguments)
    folder = options.artifact.resolve()
    artifact = LabelerArtifact.load(folder)
    engine, reference = load_engines(options.engine, folder, threads=2, options=json.loads(options.options))
    tokenizer = PromptTokenizer(folder / "tokenizer.json", artifact.prompt)
    members = read_members(options.rows, tokenizer)
    report, eps = measure(artifact, tokenizer, members, engine, reference, lambda: _oracle(folder, options.device))
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "report.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    dtype = report["engine"]["dtype"]
    if dtype != artifact.numeric_profile["dtype"]:
        write_variant(artifact, folder, options.out / "labeler", dtype=dtype, tie_eps=eps, tie=report["tie"])
    sys.stdout.write(json.dumps(report, indent=2) + "\n")
    return 0


def measure(
    artifact: LabelerArtifact,
    tokenizer: PromptTokenizer,
    members: Sequence[Member],
    engine: Engine,
    reference: Engine,
    oracle: Callable[[], Engine],
) -> tuple[dict[str, Any], float]:
    """Return the report and the tie rule's bound."""
    labels = tokenizer.label_tokens(artifact.label_tokens["yes"], artifact.label_tokens["no"])
    canary = check_canary(engine, reference, labels, pairs=canary_pairs(item_suffix=tokenizer.item_suffix))
    orders = orders_of([len(member.items) for member in members], group_sizes=GROUP_SIZES, seed=0)
    seconds: list[float] = []
    found = [_timed(lambda order=order: score_order(engine, members, order, labels), seconds) for order in orders]
    alone = _timed(lambda: score_order(reference, members, orders[0], labels), seconds)
    exact = _timed(lambda: score_order(oracle(), members, orders[0], labels), seconds)
    band = TieBand.of(np.concatenate(found), np.tile(alone, len(found)), threshold=artifact.threshold)
    eps = rounded_up(band.tie_eps)
    ties = [in_tie_band(margin, threshold=artifact.threshold, tie_eps=eps) for margin in found]
    ruled = [np.where(tie, alone, margin) for tie, margin in zip(ties, found, strict=True)]
    report = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "artifact": artifact.name,
        "engine": dict(engine.fingerprint),
        "reference": dict(reference.fingerprint),
        "canary": dict(canary),
        "n_members": len(members),
        "n_pairs": len(alone),
        "threshold": artifact.threshold,
        "tie": asdict(band) | {"share": band.share, "tie_eps": eps},
        "tie_cost": _tie_cost(engine, reference, members, orders[0], ties[0]),
        "order_without_tie_rule": _changes(found, artifact.threshold),
        "order_with_tie_rule": _changes(ruled, artifact.threshold),
        "against_float32": _against(exact, {"engine": found[0], "reference": alone}, artifact.threshold),
        "seconds": [round(s, 2) for s in seconds],
    }
    return report, eps


def read_members(rows: Path, tokenizer: PromptTokenizer) -> list[Member]:
    """Return the tokens of each row."""
    return [
        Member(
            query=tokenizer.encode_query(row["query_text"]),
            items=[tokenizer.encode_item(text) for text in row["item_texts"]],
        )
        for row in pq.read_table(rows, columns=["query_text", "item_texts"]).to_pylist()
    ]


def score_order(engine: Engine, members: Sequence[Member], order: Order, labels: LabelTokens) -> Margins:
    """Return the margins of all pairs, (n_pairs,), in the candidates' own order."""
    starts = np.cumsum([0, *(len(member.items) for member in members)])
    found = np.full(starts[-1], np.nan, np.float32)

    def score(group: tuple[int, Sequence[int]]) -> None:
        member, places = group
        items = [members[member].items[place] for place in places]
        found[starts[member] + np.asarray(places)] = margins(engine.label_logits(members[member].query, items, labels))

    with ThreadPoolExecutor(engine.n_concurrent) as pool:
        list(pool.map(score, order.groups()))
    return found


def write_variant(
    artifact: LabelerArtifact, folder: Path, out: Path, *, dtype: str, tie_eps: float, tie: dict[str, Any]
) -> LabelerArtifact:
    """Write the same model as an artifact whose scores are those of another dtype; its evaluation is still the old."""
    variant = replace(
        artifact,
        name=f"{artifact.name}-{dtype}",
        numeric_profile={**artifact.numeric_profile, "dtype": dtype},
        tie_eps=tie_eps,
        evaluation={**artifact.evaluation, "tie": tie},
    )
    out.mkdir(parents=True, exist_ok=True)
    for name in CHECKPOINT_FILES:
        shutil.copyfile(folder / name, out / name)
    variant.save(out)
    return variant


def _tie_cost(
    engine: Engine, reference: Engine, members: Sequence[Member], order: Order, is_tie: npt.NDArray[np.bool_]
) -> dict[str, float]:
    """The reference's tokens for the ties of each round, and the engine's for all."""
    starts = np.cumsum([0, *(len(member.items) for member in members)])
    tokens = tie_tokens = 0
    for number, places in order.groups():
        member = members[number]
        lengths = [len(member.items[place]) for place in places]
        tied = [len(member.items[place]) for place in places if is_tie[starts[number] + place]]
        tokens += engine.prefill_tokens(len(member.query), lengths)
        tie_tokens += reference.prefill_tokens(len(member.query), tied)
    return {"tokens": tokens, "tie_tokens": tie_tokens, "share": tie_tokens / tokens}


def _changes(found: Sequence[Margins], threshold: float) -> dict[str, Any]:
    changes = OrderChanges.of([decisions(margin, threshold) for margin in found])
    return asdict(changes) | {"changed_share": changes.changed_share}


def _against(exact: Margins, found: dict[str, Margins], threshold: float) -> dict[str, Any]:
    return {
        name: {
            "max_difference": float(np.abs(margin - exact).max()),
            "p999_difference": float(np.quantile(np.abs(margin - exact), 0.999)),
            "n_flips": int((decisions(margin, threshold) != decisions(exact, threshold)).sum()),
        }
        for name, margin in found.items()
    }


def _oracle(folder: Path, device: str) -> Engine:
    from mis_scoring.engines.dense import DenseEngine

    return DenseEngine(folder, device=device)


def _timed(measured: Any, seconds: list[float]) -> Margins:
    started = time.perf_counter()
    found: Margins = measured()
    seconds.append(time.perf_counter() - started)
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m mis_scoring.engine_check", description=__doc__.splitlines()[0])
    parser.add_argument("artifact", type=Path, help="folder of an artifact")
    parser.add_argument("--engine", default="sglang", help="default %(default)s")
    parser.add_argument("--options", default="{}", help="of the engine, as JSON")
    parser.add_argument("--rows", type=Path, required=True, help="parquet with query_text and item_texts")
    parser.add_argument("--device", default="cuda", help="of the float32 oracle; default %(default)s")
    parser.add_argument("--out", type=Path, required=True)
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
