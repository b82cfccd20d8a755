"""Make a labeler's artifact folder from a trained model, its contract and its evaluation."""

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mis_scoring.core.artifact import CHECKPOINT_FILES, LabelerArtifact, digests_of
from mis_scoring.core.contract import PromptContract
from mis_scoring.core.rounds import RoundRule

_BINS = "bins"  # of the reliability plot: in the report, too long for an artifact


def write_artifact(
    folder: Path,
    model_dir: Path,
    *,
    name: str,
    contract: PromptContract,
    numeric_profile: Mapping[str, str],
    threshold: float,
    round_rule: RoundRule,
    tie_eps: float,
    domain: Mapping[str, str],
    evaluation: Mapping[str, Any],
    gate_limits: Mapping[str, float] | None = None,
) -> LabelerArtifact:
    """Copy the checkpoint and write `labeler.json` beside it; what lay in the folder is replaced once that is done.

    The evaluation is stored with the scorer and the threshold that it is of (`measured`), so that figures cannot pass
    for those of another one.

    Raises:
        ArtifactError: what was written does not load.
    """
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    for file in CHECKPOINT_FILES:
        shutil.copyfile(model_dir / file, partial / file)
    artifact = LabelerArtifact(
        name=name,
        prompt=contract.layout,
        label_tokens=dict(zip(("yes", "no"), contract.answers, strict=True)),
        numeric_profile=numeric_profile,
        threshold=threshold,
        round_rule=round_rule,
        tie_eps=tie_eps,
        domain=domain,
        evaluation={},
        digests=digests_of(partial),
        gate_limits=dict(gate_limits or {}),
    )
    measured = {"scorer_id": artifact.scorer_id, "threshold": threshold}
    replace(artifact, evaluation={**evaluation, "measured": measured}).save(partial)
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)
    return LabelerArtifact.load(folder)


def without_bins(value: Any) -> Any:
    """Return figures without the reliability bins."""
    if isinstance(value, dict):
        return {key: without_bins(part) for key, part in value.items() if key != _BINS}
    return value
