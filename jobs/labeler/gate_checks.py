"""The five checks of the paper's Table 1, each a function from a staged artifact to its figures.

Quality comes from the artifact's own evaluation, which must be of this scorer at this threshold; what a machine can get
wrong (canary, packing, speed, the paths' agreement) is measured here and now on a smoke set.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from jobs.labeler.gate_result import GateCheck, GateFigure, GateLimits
from jobs.labeler.profile_change import NotCompared, ProfileChange
from jobs.labeler.profile_checks import profile_figures
from jobs.labeler.scoring import LabelerPrompt, LabelerScorer
from jobs.labeler.smoke_set import PROFILE, smoke_texts
from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.core.contract import PromptContract
from mis_scoring.core.engine import Engine
from mis_scoring.core.errors import SemlabelError
from mis_scoring.core.readout import FloatArray
from mis_scoring.engines.canary import canary_pairs, check_canary
from mis_scoring.engines.engine_pair import load_engine_pair
from mis_scoring.engines.pair_scores import PairScorer
from mis_scoring.engines.score_spec import ScoreSpec

_TIMED_ROUNDS = 3


@dataclass(frozen=True, kw_only=True)
class Gated:
    """What the checks look at.

    Attributes:
        registered_id: the digest under which the version was registered.
        engine_options: as a refresh's; an artifact in fp8 needs its quantisation named there.
        flips: how its labels differ from the champion's, or why that is not known.
        profile: what its numeric profile did to the same model's labels, or why that is not known.
    """

    folder: Path
    artifact: LabelerArtifact
    registered_id: str
    engine_name: str
    threads: int
    limits: GateLimits
    flips: Mapping[str, Any]
    profile: ProfileChange | NotCompared = field(default=NotCompared(reason="not looked for"))
    engine_options: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def spec(self) -> ScoreSpec:
        """What the score stage of a refresh would run."""
        return ScoreSpec.of(
            self.artifact,
            self.folder,
            engine=self.engine_name,
            engine_threads=self.threads,
            engine_options=self.engine_options,
        )

    @cached_property
    def engines(self) -> tuple[Engine, Engine]:
        """The engine and its reference."""
        return load_engine_pair(self.spec)

    @cached_property
    def smoke(self) -> FloatArray:
        """Margins of the smoke set in one round."""
        return self.scorer.together(PROFILE, self.texts)

    @cached_property
    def scorer(self) -> LabelerScorer:
        """The path of the evaluation."""
        return LabelerScorer(prompt=LabelerPrompt.of(self.folder, self.contract), engine=self.engines[0])

    @property
    def contract(self) -> PromptContract:
        """What the artifact promises of its prompt."""
        return PromptContract.of(self.artifact.prompt, self.artifact.label_tokens)

    @property
    def texts(self) -> list[str]:
        """As many candidates as a round has."""
        return smoke_texts(self.artifact.round_rule.candidates_per_round)

    def figure(self, *path: str) -> Any:
        """Return a value of the artifact's evaluation; None where it has none."""
        found: Any = self.artifact.evaluation
        for name in path:
            found = found.get(name) if isinstance(found, Mapping) else None
        return found


def run_checks(gated: Gated) -> list[GateCheck]:
    """Run all five; one that raises an error of ours fails with it, and the others go on."""
    return [
        GateCheck(stage=stage, asks=asks, figures=_figures(check, gated)) for stage, (asks, check) in CHECKS.items()
    ]


def _figures(check: Callable[[Gated], list[GateFigure]], gated: Gated) -> list[GateFigure]:
    try:
        return check(gated)
    except SemlabelError as error:
        return [GateFigure.failed("the check itself", error)]


def _prompt(gated: Gated) -> list[GateFigure]:
    faults = gated.contract.faults(gated.folder / "tokenizer.json")
    return [GateFigure.limited("faults of the prompt contract", len(faults), "==", 0, note="; ".join(faults))]


def _training(gated: Gated) -> list[GateFigure]:
    limits = gated.limits
    return [
        _same("scorer that was evaluated", gated.figure("measured", "scorer_id"), gated.artifact.scorer_id),
        GateFigure.limited("F1", gated.figure("f1"), ">=", limits.f1_floor),
        GateFigure.limited(
            "balanced agreement",
            gated.figure("slices", "test", "balanced", "expected"),
            ">=",
            limits.balanced_floor,
        ),
        GateFigure.measured("precision", gated.figure("precision")),
        GateFigure.measured("recall", gated.figure("recall")),
        GateFigure.measured("F1 of the cosine", gated.figure("cosine_f1")),
        GateFigure.measured("decided test pairs", gated.figure("n_pairs")),
    ]


def _readout(gated: Gated) -> list[GateFigure]:
    injected = gated.figure("slices", "injection", "labeler", "false_yes_share")
    return [
        _same("threshold that was evaluated", gated.figure("measured", "threshold"), gated.artifact.threshold),
        GateFigure.measured("false positives", gated.figure("slices", "test", "counts", "false_yes")),
        GateFigure.measured("false negatives", gated.figure("slices", "test", "counts", "false_no")),
        GateFigure.limited("false YES under injection", injected, "<=", gated.limits.injection_false_yes),
        GateFigure.measured("calibration error", gated.figure("slices", "test", "calibration", "ece")),
        *profile_figures(gated.profile, gated.artifact, gated.limits),
    ]


def _inference(gated: Gated) -> list[GateFigure]:
    engine, reference = gated.engines
    limits, margin_limit = gated.limits, gated.limits.margin_limit(gated.artifact)
    order = {rule: gated.figure("order", rule, "changed_share") for rule in ("with_tie_rule", "without_tie_rule")}
    return [
        _canary(gated, engine, reference),
        GateFigure.at_most(
            "margin, packed against single, evaluation",
            gated.figure("tie", "max_difference"),
            margin_limit,
            note=f"over {gated.figure('tie', 'n_pairs')} pairs",
        ),
        GateFigure.at_most("margin, packed against single, smoke set", _moved(gated, reference), margin_limit),
        GateFigure.limited("tie band share", gated.figure("tie", "share"), "<=", limits.tie_band_share),
        GateFigure.limited("labels changed by order, tie rule on", order["with_tie_rule"], "<=", 0.0),
        GateFigure.limited(
            "labels changed by order, tie rule off", order["without_tie_rule"], "<=", limits.order_changed_share
        ),
        GateFigure.limited(
            "longest prompt, tokens", gated.figure("cost", "longest_prompt_tokens"), "<=", engine.max_tokens
        ),
        GateFigure.limited("pairs a second, measured", _pairs_per_s(gated), ">=", limits.pairs_per_s_floor),
    ]


def _integration(gated: Gated) -> list[GateFigure]:
    loaded = LabelerArtifact.load(gated.folder)
    served = PairScorer(
        engine=gated.engines[0],
        reference=gated.engines[1],
        label_tokens=gated.spec.label_tokens(gated.spec.tokenizer()),
        threshold=gated.spec.threshold,
        tie_eps=0.0,
    ).score(*gated.scorer.prompt.request(PROFILE, gated.texts))
    n_differ = int((served.margins != gated.smoke).sum())
    n_missing = int((~np.isfinite(gated.smoke)).sum())
    return [
        _same("artifact that loads", loaded.artifact_id, gated.registered_id),
        GateFigure.limited("smoke scores that are not finite", n_missing, "==", 0, note=f"of {len(gated.smoke)}"),
        GateFigure.limited("smoke scores of refresh and evaluation that differ", n_differ, "==", 0),
        GateFigure.measured("flips against the champion", gated.flips.get("flipped_share", gated.flips.get("reason"))),
    ]


CHECKS: dict[str, tuple[str, Callable[[Gated], list[GateFigure]]]] = {
    "prompt": ("Single-token answers, split tokens match", _prompt),
    "training": ("Held-out quality on the served prompt", _training),
    "readout": ("Held-out FP/FN against references at chosen τ", _readout),
    "inference": ("Matches single-item scores, N fits limits", _inference),
    "integration": ("Same checkpoint, answer tokens, and τ on all paths", _integration),
}


def _same(name: str, found: Any, wanted: Any) -> GateFigure:
    if found is None:
        return GateFigure.unmeasured(name, f"== {wanted}")
    return GateFigure(name=name, value=found, limit=f"== {wanted}", holds=found == wanted)


def _canary(gated: Gated, engine: Engine, reference: Engine) -> GateFigure:
    """The score stage's own canary; a 16-bit engine may move a margin by what its rounding explains."""
    name, tolerance = "canary, largest move of a margin", max(gated.limits.canary_tolerance, engine.rounding)
    pairs = canary_pairs(item_suffix=gated.spec.tokenizer().item_suffix)
    try:
        moved = check_canary(engine, reference, gated.scorer.prompt.label_tokens, pairs=pairs, tolerance=tolerance)
    except SemlabelError as error:
        return GateFigure(name=name, value=None, limit=f"<= {tolerance:g}", holds=False, note=str(error))
    return GateFigure.limited(name, max(moved.values()), "<=", tolerance)


def _moved(gated: Gated, reference: Engine) -> float:
    scorer = LabelerScorer(prompt=gated.scorer.prompt, engine=reference)
    return float(np.abs(gated.smoke - scorer.together(PROFILE, gated.texts)).max())


def _pairs_per_s(gated: Gated) -> float:
    began = time.monotonic()
    for _ in range(_TIMED_ROUNDS):
        gated.scorer.together(PROFILE, gated.texts)
    return round(_TIMED_ROUNDS * len(gated.texts) / (time.monotonic() - began), 1)
