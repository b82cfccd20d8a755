"""Measure how far the CPU engine's margins lie from the reference's: the labeler's `tie_eps`.

    python -m jobs.measure_tie_eps --labeler labelers/esco-small --data .carry/labeler --out eps.json

Scores each member's candidates in rounds of N with the cascade engine, and each pair alone with the reference. The
default sample's 500 members give 100,000 pairs: some ten minutes on one core.
"""

import argparse
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.core.readout import margins
from mis_scoring.core.tokenizer import PromptTokenizer
from mis_scoring.engines.registry import make_engine
from mis_scoring.evaluation.members import EvaluationMember, read_members

LOG = logging.getLogger(__name__)
SAFETY = 2.0  # the stored bound is this many times the largest difference seen


def measure_tie_eps(labeler_dir: Path, data_dir: Path, *, n_members: int, threads: int) -> dict[str, Any]:
    """Return the largest difference, the bound to store, and how many pairs lie within it of the threshold."""
    from mis_scoring.engines.reference import ReferenceEngine

    artifact = LabelerArtifact.load(labeler_dir)
    tokenizer = PromptTokenizer(labeler_dir / "tokenizer.json", artifact.prompt)
    labels = tokenizer.label_tokens(artifact.label_tokens["yes"], artifact.label_tokens["no"])
    engine = make_engine("cascade", labeler_dir, threads=threads)
    reference = ReferenceEngine(labeler_dir, threads=threads)
    packed: list[Any] = []
    alone: list[Any] = []
    members = read_members(data_dir / "test.jsonl.gz")[:n_members]
    for number, member in enumerate(members):
        for query, items in _rounds(artifact, tokenizer, member):
            packed.append(margins(engine.label_logits(query, items, labels)))
            alone.append(margins(reference.label_logits(query, items, labels)))
        if number % 50 == 0:
            LOG.info("member %s of %s", number, len(members))
    return _summary(artifact, np.concatenate(packed), np.concatenate(alone))


def _rounds(
    artifact: LabelerArtifact, tokenizer: PromptTokenizer, member: EvaluationMember
) -> Iterator[tuple[list[int], list[list[int]]]]:
    query = tokenizer.encode_query(artifact.prompt.render_query(member.profile_text))
    size = artifact.round_rule.candidates_per_round
    for start in range(0, len(member.candidates), size):
        texts = [candidate.text for candidate in member.candidates[start : start + size]]
        yield query, [tokenizer.encode_item(artifact.prompt.render_item(text)) for text in texts]


def _summary(artifact: LabelerArtifact, packed: Any, alone: Any) -> dict[str, Any]:
    cut = float(np.log(artifact.threshold) - np.log1p(-artifact.threshold))
    eps = float(np.abs(packed.astype(np.float64) - alone).max())
    bound = SAFETY * eps
    return {
        "n_pairs": len(packed),
        "max_difference": eps,
        "tie_eps": bound,
        "n_in_band": int((np.abs(packed.astype(np.float64) - cut) <= bound).sum()),
        "n_flips": int(((packed >= cut) != (alone >= cut)).sum()),
        "n_accepted": int((packed >= cut).sum()),
    }


def main() -> None:
    """Parse the command line."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labeler", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--members", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    found = measure_tie_eps(args.labeler, args.data, n_members=args.members, threads=args.threads)
    args.out.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    LOG.info(json.dumps(found))


if __name__ == "__main__":
    main()
