"""Judge the model of a work folder on held-out members, choose its threshold, and make it an artifact.

Reads `WORK/splits`, `WORK/model`, `WORK/contract.json`; writes `WORK/evaluation` and `WORK/labeler`. The threshold is
chosen on validation members alone; on the test members nothing is chosen. What the clock says stays out of the
artifact: the same evaluation makes the same artifact.
"""

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from jobs.labeler.artifact import without_bins, write_artifact
from jobs.labeler.card import write_card
from jobs.labeler.evaluation_slices import (
    TEST,
    VALIDATION,
    answer_codes,
    categories_of,
    members_digest,
    read_slices,
)
from jobs.labeler.judged import find_judged
from jobs.labeler.reference_check import ReferenceCheck, check_against_reference
from jobs.labeler.scoring_pool import ScorerSpec, ScoringPool
from jobs.labeler.slice_scores import Scored, champion_flips, score_in_order, score_slices
from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.core.readout import margin_of
from mis_scoring.core.rounds import RoundRule
from mis_scoring.engines.score_spec import numeric_profile_of
from mis_scoring.evaluation.borderline import borderline_pairs
from mis_scoring.evaluation.judgement import Cuts, scored_pairs
from mis_scoring.evaluation.slice_figures import leading_figures, slice_figures, without_nan
from mis_scoring.evaluation.stops import stop_summary
from mis_scoring.evaluation.targets import BEST_F1, Target
from mis_scoring.evaluation.thresholds import best_margin, threshold_of_margin
from mis_scoring.evaluation.tie_band import rounded_up

TIE_PAIRS = 100_000
DERIVED_MEMBERS = 200
DEFAULT_RULE = RoundRule(candidates_per_round=50, stop_below=0.02)
_SURE = 30.0  # a cut beyond this margin has a score that rounds to 0 or 1


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What the scored members say: cuts, the threshold that they round to, and the reference's margins."""

    aim: Target
    cuts: Cuts
    threshold: float
    reference: ReferenceCheck


def evaluate_work(
    work_dir: Path,
    *,
    domain: Mapping[str, str],
    name: str | None = None,
    target: str = BEST_F1,
    engine: str = "cascade",
    engine_options: Mapping[str, Any] | None = None,
    threads: int = 1,
    processes: int = 1,
    tie_pairs: int = TIE_PAIRS,
    derived_members: int = DERIVED_MEMBERS,
    round_rule: RoundRule = DEFAULT_RULE,
    artifact_folder: Path | None = None,
    champion_folder: Path | None = None,
    notes: str = "",
) -> dict[str, Any]:
    """Evaluate and package; returns what `evaluation.json` holds.

    Args:
        domain: `catalog` and `description`, what the members stand for.
        name: of the artifact; the work folder's name, or that of the artifact that is judged, when None.
        target: `best_f1`, or a floor such as `precision>=0.98`.
        engine: what scores; its dtype, and the quantisation among its options, become the artifact's numeric profile.
        processes: that score, each with an engine of so many `threads`; their number changes no figure.
        tie_pairs: at least so many test pairs are scored by the reference too; all, where there are fewer.
        derived_members: test members that the injection and non-English slices and the order check take.
        artifact_folder: what is judged instead of `WORK/model` with `WORK/contract.json`.
        champion_folder: an artifact whose decisions on the test members are compared.
        notes: Markdown for the artifact's card.
    Raises:
        FaultsError, PromptError, ArtifactError: lists what is wrong with the folders.
        DataError: no threshold reaches the target.
    """
    began = time.monotonic()
    aim, judged = Target.parse(target), find_judged(work_dir, artifact_folder)
    slices = read_slices(work_dir, derived_members=derived_members)
    options = dict(engine_options or {})
    spec = ScorerSpec(
        folder=judged.folder,
        contract=judged.contract,
        engine=engine,
        threads=threads,
        engine_options=tuple(sorted(options.items())),
    )
    with ScoringPool(processes) as pool:
        scored = score_slices(pool, spec, slices, round_rule, where=str(work_dir / "splits"))
        cuts, threshold = _choose(scored, aim)
        reference = check_against_reference(
            slices[TEST],
            scored.margins[TEST],
            packed=partial(score_in_order, pool, spec, by_reference=False),
            alone=partial(score_in_order, pool, spec, by_reference=True),
            is_exact=pool.scorers(spec)[0].engine.batch_invariant,
            threshold=threshold,
            candidates_per_round=round_rule.candidates_per_round,
            n_pairs=tie_pairs,
            order_members=derived_members,
        )
        flips = champion_flips(champion_folder, pool, spec, scored, cuts.margin)
    verdict = Verdict(aim=aim, cuts=cuts, threshold=threshold, reference=reference)
    figures = _figures(scored, verdict, round_rule)
    artifact = write_artifact(
        work_dir / "labeler",
        judged.folder,
        name=name or judged.name,
        contract=judged.contract,
        numeric_profile=numeric_profile_of(engine, options),
        threshold=threshold,
        round_rule=round_rule,
        tie_eps=figures["tie"]["tie_eps"],
        domain=domain,
        evaluation=without_bins(figures),
        gate_limits=judged.gate_limits,
    )
    figures |= _of_artifact(artifact) | {
        "margin": cuts.margin,
        "cosine_cut": cuts.similarity,
        "members_digest": members_digest(slices[TEST]),
        "engine": {**scored.engine, "processes": str(processes)},
        "time": without_nan(scored.cost.time_figures()),
        "flips": flips,
        "training": None if artifact_folder else _training(work_dir),
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(time.monotonic() - began, 1),
    }
    write_card(work_dir / "labeler", figures, notes=notes)
    _write(work_dir / "evaluation", figures, scored, verdict)
    return figures


def _figures(scored: Scored, verdict: Verdict, rule: RoundRule) -> dict[str, Any]:
    """Return the figures that belong to the artifact: nothing here comes from the clock."""
    cuts, tie = verdict.cuts, verdict.reference.tie
    slices = {part: slice_figures(members, scored.margins[part], cuts) for part, members in scored.slices.items()}
    found = {
        "target": str(verdict.aim),
        "slices": slices,
        "tie": asdict(tie)
        | {"tie_eps": rounded_up(tie.tie_eps), "share": tie.share, "engine": scored.engine["engine"]},
        "order": verdict.reference.order,
        "stops": stop_summary([m >= cuts.margin for m in scored.margins[TEST] if len(m)], rule),
        "cost": scored.cost.token_figures() | {"engine_max_tokens": scored.max_tokens},
    }
    apart = [part for part in slices if part not in (VALIDATION, TEST)]
    clean: dict[str, Any] = without_nan(leading_figures(slices, apart) | found)
    return clean


def _of_artifact(artifact: LabelerArtifact) -> dict[str, Any]:
    content = artifact.as_dict()
    kept = ("threshold", "round_rule", "prompt", "label_tokens", "domain")
    ids = {"labeler": artifact.name, "artifact_id": artifact.artifact_id, "scorer_id": artifact.scorer_id}
    return ids | {part: content[part] for part in kept}


def _choose(scored: Scored, aim: Target) -> tuple[Cuts, float]:
    """Return the cuts, the labeler's as its rounded threshold means it, and that threshold."""
    validation = scored_pairs(scored.slices[VALIDATION], scored.margins[VALIDATION])
    margin = min(max(aim.margin(validation.margins, validation.answers), -_SURE), _SURE)
    exact = threshold_of_margin(margin)
    threshold = round(exact, 6) if 1e-3 < exact < 1.0 - 1e-3 else exact
    similarity = best_margin(validation.similarities, validation.answers)
    return Cuts(margin=margin_of(threshold), similarity=similarity), threshold


def _training(work_dir: Path) -> Any:
    """Return `training.json` with a count for the members that it names: the report goes where they must not."""
    path = work_dir / "training.json"
    if not path.is_file():
        return None
    found = json.loads(path.read_text(encoding="utf-8"))
    return found | {"left_out_too_long": len(found.get("left_out_too_long", {}))}


def _write(folder: Path, figures: dict[str, Any], scored: Scored, verdict: Verdict) -> None:
    from jobs.labeler.report import write_borderline, write_report

    folder.mkdir(parents=True, exist_ok=True)
    arrays: dict[str, Any] = {name: scored.flat(name) for name in scored.slices}
    arrays |= {f"{name}.answers": answer_codes(members) for name, members in scored.slices.items()}
    arrays |= {f"{name}.categories": categories_of(members) for name, members in scored.slices.items()}
    np.savez_compressed(
        folder / "margins.npz", allow_pickle=False, **arrays, **{"test.reference": verdict.reference.margins}
    )
    text = json.dumps(figures, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
    (folder / "evaluation.json").write_text(text + "\n", encoding="utf-8")
    write_report(folder / "report.html", figures, scored_pairs(scored.slices[TEST], scored.margins[TEST]))
    nearest = borderline_pairs(scored.slices[TEST], scored.margins[TEST], verdict.cuts.margin)
    write_borderline(folder, nearest)
