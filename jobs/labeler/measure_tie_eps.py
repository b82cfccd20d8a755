"""Measure how far the CPU engine's margins lie from the reference's: the labeler's `tie_eps`.

    python -m jobs.labeler.measure_tie_eps --labeler labelers/esco-small --data .carry/labeler --out eps.json

Scores each member's candidates in rounds of N with the cascade engine, and each pair alone with the reference. The
default sample's 500 members give 100,000 pairs: some ten minutes on one core.
"""

import argparse
import json
import logging
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from jobs.labeler.scoring import LabelerPrompt, LabelerScorer, contract_of
from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.engines.registry import make_engine
from mis_scoring.evaluation.members import read_members
from mis_scoring.evaluation.tie_band import TieBand

LOG = logging.getLogger(__name__)
_FIGURES = ("n_pairs", "max_difference", "tie_eps", "n_in_band", "n_flips", "n_accepted")


def measure_tie_eps(labeler_dir: Path, data_dir: Path, *, n_members: int, threads: int) -> dict[str, Any]:
    """Return the largest difference, the bound to store, and how many pairs lie within it of the threshold."""
    from mis_scoring.engines.reference import ReferenceEngine

    artifact = LabelerArtifact.load(labeler_dir)
    prompt = LabelerPrompt.of(labeler_dir, contract_of(artifact))
    members = read_members(data_dir / "test.jsonl.gz")[:n_members]
    found = []
    for engine in (make_engine("cascade", labeler_dir, threads=threads), ReferenceEngine(labeler_dir, threads=threads)):
        scorer = LabelerScorer(
            prompt=prompt, engine=engine, candidates_per_round=artifact.round_rule.candidates_per_round
        )
        found.append(np.concatenate(scorer.score(members, what=engine.fingerprint["engine"])[0]))
    packed, alone = found
    band = asdict(TieBand.of(packed, alone, threshold=artifact.threshold))
    return {name: band[name] for name in _FIGURES}


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
