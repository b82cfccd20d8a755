"""Make decisions again from their texts by the pinned labeler, on an engine of this machine, and compare.

The reference is the default: an artifact's `tie_eps` bounds how far any engine's margin is from it. Another engine is
as far on its own side, so two of them may differ by twice that.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from jobs.pins import Pins
from jobs.replay.cases import Case, case_of_pair, cases_of_sample
from jobs.replay.rescore import REFERENCE, Rescorer, pinned_labeler
from jobs.settings import Settings
from jobs.table_reader import pins_of
from mis_scoring.core.identity import text_hash
from mis_scoring.core.readout import margin_of


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a case came to.

    Attributes:
        mismatch: its name; None: the same decision, from a margin within the tolerance.
        difference: of the margins; None where it was not scored.
    """

    case: Case
    mismatch: str | None
    detail: str
    difference: float | None


def replay_labels(
    settings: Settings,
    *,
    run_id: str | None = None,
    member_id: str | None = None,
    qualification_id: str | None = None,
    n_sample: int = 20,
    seed: int = 0,
    engine: str | None = None,
    tolerance: float | None = None,
) -> dict[str, Any]:
    """Score a sample of labels, or one pair, again.

    Args:
        run_id: labels that this run added or revised. qualification_id: with member_id, this pair alone.
        engine: as SEMLABEL_ENGINE; None: the reference.
        tolerance: of a margin; None: `tie_eps`, twice that for an engine that is not the reference.
    Returns:
        engine, n_labels, n_same, n_mismatches, max_difference; mismatches: member_id, qualification_id, mismatch
        (text_missing, text_altered, judgment_missing, score_altered, artifact_missing, margin, decision), detail.
    Raises:
        DataError: there is nothing to replay, or no such run; EngineError: the engine failed.
    """
    if member_id is not None and qualification_id is not None:
        cases = [case_of_pair(settings, member_id, qualification_id)]
    else:
        cases = cases_of_sample(settings, run_id=run_id, member_id=member_id, n_sample=n_sample, seed=seed)
    name = engine or REFERENCE
    outcomes = [_unscorable(case) for case in cases]
    found = [outcome for outcome in outcomes if outcome is not None]
    whole = [case for case, outcome in zip(cases, outcomes, strict=True) if outcome is None]
    for pins, of_artifact in _by_artifact(settings, whole):
        found += _replayed(settings, pins, of_artifact, engine=name, tolerance=tolerance)
    return _result(name, found)


def _unscorable(case: Case) -> Outcome | None:
    """Name what is wrong with a case before anything is scored."""
    for kind, hash_, text in (("query", case.query_hash, case.query_text), ("item", case.item_hash, case.item_text)):
        if text is None:
            return _mismatch(case, "text_missing", f"no {kind} text of hash {hash_[:12]} is kept")
        if text_hash(text) != hash_:
            return _mismatch(case, "text_altered", f"the {kind} text does not have its hash {hash_[:12]}")
    if case.margin is None:
        return _mismatch(case, "judgment_missing", "the judgment that the label names is not kept")
    if case.score is not None and case.score != case.judged_score:
        return _mismatch(case, "score_altered", f"published {case.score!r}, judged {case.judged_score!r}")
    return None


def _mismatch(case: Case, name: str, detail: str) -> Outcome:
    return Outcome(case=case, mismatch=name, detail=detail, difference=None)


def _by_artifact(settings: Settings, cases: Iterable[Case]) -> list[tuple[Pins, list[Case]]]:
    """Group cases by the artifact that decided them; labelers are loaded one after the other."""
    pins: dict[str, Pins] = {}
    groups: dict[str, list[Case]] = defaultdict(list)
    by_run: dict[str, Pins] = {}
    for case in cases:
        if case.pinned_by not in by_run:
            by_run[case.pinned_by] = pins_of(settings.tables, case.pinned_by)
        of_run = by_run[case.pinned_by]
        pins.setdefault(of_run.artifact_id, of_run)
        groups[of_run.artifact_id].append(case)
    return [(pins[artifact_id], group) for artifact_id, group in groups.items()]


def _replayed(
    settings: Settings, pins: Pins, cases: Sequence[Case], *, engine: str, tolerance: float | None
) -> list[Outcome]:
    labeler = pinned_labeler(settings, pins)
    if isinstance(labeler, str):
        return [_mismatch(case, "artifact_missing", labeler) for case in cases]
    artifact, rescorer = labeler.artifact, Rescorer.of(labeler, engine, threads=settings.engine_threads)
    by_default = artifact.tie_eps * (1 if engine == REFERENCE else 2)
    allowed = by_default if tolerance is None else tolerance
    by_query: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        by_query[case.query_text or ""].append(case)
    cut, found = margin_of(artifact.threshold), []
    for query, group in by_query.items():
        margins = rescorer.margins(query, [case.item_text or "" for case in group])
        found += [_compared(case, margin, cut, allowed) for case, margin in zip(group, margins, strict=True)]
    return found


def _compared(case: Case, margin: float, cut: float, allowed: float) -> Outcome:
    difference = abs(margin - (case.margin or 0.0))
    name, detail = None, ""
    if (margin >= cut) != case.is_accepted:
        name, detail = "decision", f"margin {margin:.6f} against the cut {cut:.6f}, judged {case.margin:.6f}"
    elif difference > allowed:
        name, detail = "margin", f"{margin:.6f}, judged {case.margin:.6f}: more than {allowed:g} apart"
    return Outcome(case=case, mismatch=name, detail=detail, difference=difference)


def _result(engine: str, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    wrong = [one for one in outcomes if one.mismatch is not None]
    return {
        "engine": engine,
        "n_labels": len(outcomes),
        "n_same": len(outcomes) - len(wrong),
        "n_mismatches": len(wrong),
        "max_difference": max((one.difference for one in outcomes if one.difference is not None), default=None),
        "mismatches": [
            {
                "member_id": one.case.member_id,
                "qualification_id": one.case.qualification_id,
                "mismatch": one.mismatch,
                "detail": one.detail,
            }
            for one in wrong
        ],
    }
