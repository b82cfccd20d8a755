"""Prove on this machine that a pair's bits are its own: `python -m mis_scoring.engines.prefill.check LABELER`.

Every member is scored once, its items in order. Then members come again, several at once, with some of their items in
another order, until so many pairs are compared; some pairs are scored alone; and a second process scores every member
anew. Bits must be the same throughout. Prints one JSON document; 1 where anything differs.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.core.engine import Engine
from mis_scoring.core.labels import LabelTokens
from mis_scoring.core.readout import FloatArray, decisions, margins
from mis_scoring.core.tokenizer import PromptTokenizer
from mis_scoring.engines.prefill.known_requests import Request, draw_requests, read_requests
from mis_scoring.engines.registry import make_engine

SUBSETS = (1, 7, 50, 200)  # items of a member that comes again; in between any number
GROUPS_AT_ONCE = 512


@dataclass(kw_only=True)
class Comparison:
    """Pairs whose bits were compared with those of the member alone."""

    n_pairs: int = 0
    n_moved: int = 0
    n_flips: int = 0
    largest: float = 0.0

    def add(self, found: FloatArray, expected: FloatArray, threshold: float) -> None:
        """Count one group's pairs; a score that is missing has moved."""
        self.n_pairs += len(found)
        self.n_moved += int((found != expected).any(axis=1).sum())
        self.largest = max(self.largest, float(np.abs(found - expected).max()))
        ours, theirs = (decisions(margins(logits), threshold) for logits in (found, expected))
        self.n_flips += int((ours != theirs).sum())


def main(arguments: Sequence[str] | None = None) -> int:
    """Check, print, and return 1 where a bit differs."""
    options = _parser().parse_args(arguments)
    engine = make_engine("prefill", options.labeler, **json.loads(options.options))
    try:
        labels, threshold, requests = _work(options, engine)
        truth = score_all(engine, requests, labels)
        report: dict[str, Any] = {"digest": digest_of(truth)}
        if not options.digest:
            report |= check(engine, requests, labels, truth, threshold, options)
            report["other_process"] = _digest_of_another(arguments)
    finally:
        engine.close()  # type: ignore[attr-defined]
    sys.stdout.write(json.dumps(report, indent=2) + "\n")
    return 0 if options.digest or holds(report) else 1


def check(
    engine: Engine,
    requests: Sequence[Request],
    labels: LabelTokens,
    truth: Sequence[FloatArray],
    threshold: float,
    options: argparse.Namespace,
) -> dict[str, Any]:
    """Compare regrouped and single pairs with the truth."""
    started = time.monotonic()
    regrouped = compare_regrouped(engine, requests, labels, truth, threshold, n_pairs=options.pairs)
    single = compare_single(engine, requests, labels, truth, threshold, n_pairs=options.singles)
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "engine": dict(engine.fingerprint),
        "n_members": len(requests),
        "n_pairs": sum(map(len, truth)),
        "margin_spread": float(np.concatenate([margins(logits) for logits in truth]).std()),
        "regrouped": asdict(regrouped),
        "single": asdict(single),
        "seconds": round(time.monotonic() - started, 1),
    }


def score_all(engine: Engine, requests: Sequence[Request], labels: LabelTokens) -> list[FloatArray]:
    """Score every member, one after the other: nothing shares a forward with it."""
    return [engine.label_logits(query, items, labels) for query, items in requests]


def compare_regrouped(
    engine: Engine,
    requests: Sequence[Request],
    labels: LabelTokens,
    truth: Sequence[FloatArray],
    threshold: float,
    *,
    n_pairs: int,
    seed: int = 0,
) -> Comparison:
    """Score random members with random items in random order, many at once, until enough pairs are compared."""
    draw, compared = np.random.default_rng(seed), Comparison()
    with ThreadPoolExecutor(engine.n_concurrent) as pool:
        while compared.n_pairs < n_pairs:
            groups = [_draw_group(draw, requests) for _ in range(GROUPS_AT_ONCE)]

            def score(group: tuple[int, list[int]]) -> FloatArray:
                query, items = requests[group[0]]
                return engine.label_logits(query, [items[place] for place in group[1]], labels)

            for (member, places), found in zip(groups, pool.map(score, groups), strict=True):
                compared.add(found, truth[member][places], threshold)
    return compared


def compare_single(
    engine: Engine,
    requests: Sequence[Request],
    labels: LabelTokens,
    truth: Sequence[FloatArray],
    threshold: float,
    *,
    n_pairs: int,
    seed: int = 1,
) -> Comparison:
    """Score random pairs, each in a forward of its own."""
    draw, compared = np.random.default_rng(seed), Comparison()
    for _ in range(n_pairs):
        member = int(draw.integers(len(requests)))
        place = int(draw.integers(len(requests[member][1])))
        query, items = requests[member]
        found = engine.label_logits(query, [items[place]], labels)
        compared.add(found, truth[member][place : place + 1], threshold)
    return compared


def digest_of(truth: Sequence[FloatArray]) -> str:
    """Return the SHA-256 of all logits' bits."""
    return hashlib.sha256(b"".join(np.ascontiguousarray(logits).tobytes() for logits in truth)).hexdigest()


def holds(report: dict[str, Any]) -> bool:
    """Whether nothing moved."""
    is_same = report["other_process"] == report["digest"]
    return is_same and report["regrouped"]["n_moved"] == 0 and report["single"]["n_moved"] == 0


def _draw_group(draw: np.random.Generator, requests: Sequence[Request]) -> tuple[int, list[int]]:
    member = int(draw.integers(len(requests)))
    n_items = len(requests[member][1])
    n_chosen = int(draw.choice([*SUBSETS, int(draw.integers(1, n_items + 1))]))
    return member, draw.permutation(n_items)[:n_chosen].tolist()


def _work(options: argparse.Namespace, engine: Engine) -> tuple[LabelTokens, float, list[Request]]:
    config = json.loads((options.labeler / "config.json").read_text(encoding="utf-8"))
    if options.rows is None:
        sizes = {"n_items": options.items, "max_prompt": engine.max_tokens, "vocab_size": config["vocab_size"]}
        return LabelTokens(yes=1, no=2), 0.5, draw_requests(options.members, **sizes)
    artifact = LabelerArtifact.load(options.labeler)
    tokenizer = PromptTokenizer(options.labeler / "tokenizer.json", artifact.prompt)
    labels = tokenizer.label_tokens(artifact.label_tokens["yes"], artifact.label_tokens["no"])
    return labels, artifact.threshold, read_requests(options.rows, tokenizer, most=options.members)


def _digest_of_another(arguments: Sequence[str] | None) -> str:
    given = list(sys.argv[1:] if arguments is None else arguments)
    command = [sys.executable, "-m", "mis_scoring.engines.prefill.check", *given, "--digest"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return str(json.loads(said)["digest"])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m mis_scoring.engines.prefill.check", description=__doc__)
    parser.add_argument("labeler", type=Path, help="folder of an artifact; with random members any checkpoint")
    parser.add_argument("--rows", type=Path, help="parquet with query_text and item_texts; left out: random tokens")
    parser.add_argument("--members", type=int, default=200, help="at most; default %(default)s")
    parser.add_argument("--items", type=int, default=200, help="of a random member; default %(default)s")
    parser.add_argument("--pairs", type=int, default=1_000_000, help="regrouped ones to compare; default %(default)s")
    parser.add_argument("--singles", type=int, default=2_000, help="pairs scored alone; default %(default)s")
    parser.add_argument("--options", default="{}", help="of the engine, as JSON")
    parser.add_argument("--digest", action="store_true", help="only score every member, and print the bits' digest")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
