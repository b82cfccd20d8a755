"""Resolve every moving thing of a run once: table versions, the labeler behind its alias, parameters.

The first pin of a run wins; a second attempt, or the same trigger fired twice, reads it back. Pins are a snapshot, so
those of two runs are never newer in one part and older in another, but for clocks that differ. Also repairs the
`published` event of an earlier run that ended between its commit on `labels` and the event.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jobs.catalog_version import catalog_version_of
from jobs.domain import domain_of
from jobs.errors import CheckFailedError
from jobs.labeler.registry import PinnedLabeler, pin_labeler
from jobs.ledger import event_payload, write_pins
from jobs.pins import PINNED, Pins, run_id_of
from jobs.published_event import repair_published_events
from jobs.rules.scope import LOOKS_AFTER
from jobs.rules.standing import PROFILE_UPDATES
from jobs.settings import Settings
from jobs.table_admin import create_missing, current_version, require
from jobs.table_reader import literal, query
from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.core.errors import DataError
from schemas.catalog import CATALOG
from schemas.every import RUN_TABLES
from schemas.judgments import JUDGMENTS
from schemas.profiles import PROFILES

MAX_ROUNDS = 16  # as many rounds as the DAGs declare
_SNAPSHOT_ATTEMPTS = 100  # of milliseconds each


@dataclass(frozen=True, kw_only=True)
class Params:
    """What a trigger says: the kind of run, its own identity, and whether to score anew what is judged already."""

    kind: str
    trigger_id: str
    recompute: bool = False


def run(settings: Settings, params: Params) -> dict[str, Any]:
    """Pin the run unless it is pinned, and return its id with the pins that stand.

    Raises:
        DataError: there is no such kind.
    """
    root = settings.tables
    if params.kind not in LOOKS_AFTER:
        raise DataError(f"{params.kind!r} is no kind of refresh; there are {', '.join(LOOKS_AFTER)}")
    require(root, PROFILES, CATALOG)
    create_missing(root, *RUN_TABLES)
    repaired = repair_published_events(root)
    run_id = run_id_of(params.kind, params.trigger_id, settings.environment)
    standing = event_payload(root, run_id, PINNED)
    pins = Pins(**standing) if standing else write_pins(root, resolve(settings, params, run_id))
    return {"run_id": run_id, "max_rounds": pins.n_rounds, "pinned_before": standing is not None, "repaired": repaired}


def resolve(settings: Settings, params: Params, run_id: str) -> Pins:
    """Return what a run would pin now; writes nothing into the ledger."""
    labeler = pin_labeler(settings)
    _require_few_rounds(settings, labeler.artifact)
    root = settings.tables
    profiles_delta_version, catalog_delta_version, pinned_at = snapshot(root)
    unvalidated_reason = _unvalidated_reason(settings, labeler)
    return Pins(
        run_id=run_id,
        kind=params.kind,
        trigger_id=params.trigger_id,
        pinned_at=pinned_at.isoformat(),
        profiles_delta_version=profiles_delta_version,
        catalog_delta_version=catalog_delta_version,
        catalog_version=catalog_version_of(root, catalog_delta_version),
        labeler=labeler.name,
        labeler_version=labeler.version,
        artifact_id=labeler.artifact.artifact_id,
        scorer_id=labeler.artifact.scorer_id,
        artifact_folder=str(labeler.folder),
        threshold=labeler.artifact.threshold,
        candidates_per_round=labeler.artifact.round_rule.candidates_per_round,
        stop_below=labeler.artifact.round_rule.stop_below,
        candidates_per_member=settings.candidates_per_member,
        retriever_id=_retriever_id(settings),
        engine=settings.engine,
        is_validated=not unvalidated_reason,
        unvalidated_reason=unvalidated_reason,
        generation=_next_generation(root, labeler.artifact.scorer_id) if params.recompute else 0,
        # a batch is no sample of the members, and a member who waits for labels pays for no further round
        stop_sample_share=0.0 if params.kind == PROFILE_UPDATES else settings.stop_sample_share,
        stop_sample_at_least=settings.stop_sample_at_least,
        stop_sample_from=settings.stop_sample_from,
    )


def snapshot(root: Path) -> tuple[int, int, datetime]:
    """Return the versions of profiles and catalog, and a time at which both were the current ones."""
    for _ in range(_SNAPSHOT_ATTEMPTS):
        versions = _input_versions(root)
        now = datetime.now(UTC)
        if _input_versions(root) == versions:
            return *versions, now
    raise CheckFailedError(
        f"profiles or catalog under {root} moved at each of {_SNAPSHOT_ATTEMPTS} looks: write them in fewer commits, "
        "or start the run again when they are written."
    )


def _next_generation(root: Path, scorer_id: str) -> int:
    """Return the generation after all that have a judgment by the scorer; at least 1."""
    sql = f"SELECT max(generation) AS newest FROM judgments WHERE scorer_id = {literal(scorer_id)}"
    return int(query(root, sql, JUDGMENTS)[0]["newest"] or 0) + 1


def _input_versions(root: Path) -> tuple[int, int]:
    return current_version(root, PROFILES), current_version(root, CATALOG)


def _retriever_id(settings: Settings) -> str:
    from jobs.retrieval.embedder import retriever_id_of

    return retriever_id_of(settings.minilm_dir)


def _require_few_rounds(settings: Settings, artifact: LabelerArtifact) -> None:
    n_rounds = -(-settings.candidates_per_member // artifact.round_rule.candidates_per_round)
    if n_rounds > MAX_ROUNDS:
        raise CheckFailedError(
            f"K={settings.candidates_per_member} in rounds of N={artifact.round_rule.candidates_per_round} needs "
            f"{n_rounds} rounds, and a DAG has {MAX_ROUNDS}: lower SEMLABEL_CANDIDATES_PER_MEMBER or register an "
            "artifact with a larger N."
        )


def _unvalidated_reason(settings: Settings, labeler: PinnedLabeler) -> str:
    """Why the labeler is not validated on this data; empty when it is."""
    known = str(labeler.artifact.domain.get("catalog", ""))
    found = {table.name: domain_of(settings.tables, table) for table in (PROFILES, CATALOG)}
    foreign = [f"{name} ({domain})" for name, domain in found.items() if domain != known]
    if not foreign:
        return ""
    return f"labeler {labeler.name} was evaluated on {known!r} only; outside it: {', '.join(foreign)}"
