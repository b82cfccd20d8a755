"""Write `labeler.json` beside a trained model: threshold, round rule and figures from its evaluation.

    python -m jobs.sample.package_labeler --folder labelers/esco-small --evaluation OUT/evaluation \\
        --stop-below 0.02 --tie-eps 1e-4

Refuses a model whose tokenizer splits prompts otherwise than it joins them, or whose answers are not single tokens.
"""

import argparse
import json
import logging
from pathlib import Path

import numpy as np

from jobs.labeler.artifact import NUMERIC_PROFILE
from jobs.sample.catalog import sample_catalog
from jobs.sample.esco import ESCO_FILE, read_esco
from jobs.sample.members import sample_members
from jobs.sample.prepare_evaluation import K
from jobs.sample.seeds import VALIDATION_SEED
from mis_scoring.core.artifact import LabelerArtifact, digests_of
from mis_scoring.core.prompt import COMPACT
from mis_scoring.core.rounds import RoundRule
from mis_scoring.core.tokenizer import PromptTokenizer
from mis_scoring.evaluation.slice_figures import leading_figures, without_nan
from mis_scoring.evaluation.stops import stop_summary
from mis_scoring.training.tokenizer import ANSWERS

LOG = logging.getLogger(__name__)
CANDIDATES_PER_ROUND = 50
N_SPLIT_PROFILES = 20
_APART = ("unseen_wordings", "unseen_concepts")
DOMAIN = {
    "catalog": "ESCO v1.1.1, default sample",
    "description": "English profiles of the sample's generator, candidates retrieved by sections with MiniLM (K=200)",
}


def package_labeler(args: argparse.Namespace) -> LabelerArtifact:
    """Check the tokenizer, then write and read back the artifact."""
    _check_tokenizer(args.folder, args.data)
    figures = json.loads((args.evaluation / "evaluation.json").read_text(encoding="utf-8"))
    rule = RoundRule(candidates_per_round=CANDIDATES_PER_ROUND, stop_below=args.stop_below)
    artifact = LabelerArtifact(
        name=args.folder.name,
        prompt=COMPACT,
        label_tokens=dict(zip(("yes", "no"), ANSWERS, strict=True)),
        numeric_profile=NUMERIC_PROFILE,
        threshold=round(figures["threshold"], 6),
        round_rule=rule,
        tie_eps=args.tie_eps,
        domain=DOMAIN,
        evaluation=without_nan(leading_figures(figures["slices"], _APART) | {"slices": figures["slices"]})
        | {"stops": _stops(args.evaluation, figures["margin"], rule)},
        digests=digests_of(args.folder),
    )
    artifact.save(args.folder)
    return LabelerArtifact.load(args.folder)


def _check_tokenizer(folder: Path, data_dir: Path) -> None:
    tokenizer = PromptTokenizer(folder / "tokenizer.json", COMPACT)
    tokenizer.label_tokens(*ANSWERS)
    esco = read_esco(data_dir / ESCO_FILE)
    catalog = sample_catalog(esco)
    members = sample_members(esco, catalog, n_members=N_SPLIT_PROFILES, seed=VALIDATION_SEED)
    tokenizer.check_split([m.profile_text for m in members], [entry.text for entry in catalog[::20]])


def _stops(folder: Path, cut: float, rule: RoundRule) -> dict[str, float]:
    with np.load(folder / "margins.npz", allow_pickle=False) as arrays:
        accepted = arrays["test"].reshape(-1, K) >= cut
    return stop_summary(list(accepted), rule)


def main() -> None:
    """Parse the command line."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--folder", type=Path, required=True, help="with config.json, model.safetensors, tokenizer.json"
    )
    parser.add_argument("--evaluation", type=Path, required=True, help="what jobs.sample.evaluate_labeler wrote")
    parser.add_argument("--data", type=Path, default=Path(".cache/data"), help="folder with the ESCO file")
    parser.add_argument("--stop-below", type=float, required=True)
    parser.add_argument("--tie-eps", type=float, required=True)
    artifact = package_labeler(parser.parse_args())
    LOG.info(f"scorer_id {artifact.scorer_id}\nartifact_id {artifact.artifact_id}")


if __name__ == "__main__":
    main()
