"""Judge a trained model on evaluation members: threshold from validation, figures on the sample and the unseen.

    python -m jobs.sample.evaluate_labeler --data .carry/labeler --model OUT/model --out OUT/evaluation

Writes `evaluation.json` (figures, cuts) and `margins.npz` (a margin a candidate, in the members' order).
"""

import argparse
import json
import logging
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForCausalLM

from jobs.sample.training_watch import to_example
from mis_scoring.core.prompt import COMPACT
from mis_scoring.core.tokenizer import PromptTokenizer
from mis_scoring.evaluation.injection import with_injections
from mis_scoring.evaluation.judgement import Cuts, judge_slices, scored_pairs
from mis_scoring.evaluation.members import read_members
from mis_scoring.training.pair_scoring import margins_of
from mis_scoring.training.tokenizer import ANSWERS, pad_id_of

LOG = logging.getLogger(__name__)
FILES = ("validation", "test", "unseen_wordings", "unseen_concepts")
INJECTION = "injection"  # the test members again, with an instruction to answer YES in their profiles


def evaluate_labeler(data_dir: Path, model_dir: Path, out_dir: Path, *, n_members: int) -> dict[str, Any]:
    """Score all slices and return the figures."""
    out_dir.mkdir(parents=True, exist_ok=True)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    decoder: Any = AutoModelForCausalLM.from_pretrained(model_dir, dtype=torch.float32, local_files_only=True)
    decoder = decoder.to(device)
    tokenizer = PromptTokenizer(model_dir / "tokenizer.json", COMPACT)
    labels = tokenizer.label_tokens(*ANSWERS)
    began = time.monotonic()
    members = {name: read_members(data_dir / f"{name}.jsonl.gz")[:n_members] for name in FILES}
    members[INJECTION] = list(with_injections(members["test"]))
    pad_id = pad_id_of(model_dir / "tokenizer.json")
    margins = {
        name: margins_of(
            decoder, [to_example(tokenizer, m) for m in chosen], yes_id=labels.yes, no_id=labels.no, pad_id=pad_id
        )
        for name, chosen in members.items()
    }
    cuts = Cuts.choose(scored_pairs(members["validation"], margins["validation"]))
    figures: dict[str, Any] = {
        "threshold": cuts.threshold,
        "margin": cuts.margin,
        "cosine_cut": cuts.similarity,
        "slices": judge_slices({name: (members[name], margins[name]) for name in members}, cuts),
        "device": torch.cuda.get_device_name() if device == "cuda" else "cpu",
        "seconds": round(time.monotonic() - began, 1),
    }
    arrays: dict[str, Any] = {name: np.concatenate(m) for name, m in margins.items()}
    np.savez_compressed(out_dir / "margins.npz", **arrays)
    (out_dir / "evaluation.json").write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return figures


def main() -> None:
    """Parse the command line."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--members", type=int, default=1_000_000, help="of each slice, for a quick look")
    args = parser.parse_args()
    LOG.info(json.dumps(evaluate_labeler(args.data, args.model, args.out, n_members=args.members), indent=2))


if __name__ == "__main__":
    main()
