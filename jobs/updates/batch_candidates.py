"""Propose the top K of each member of a batch: `retrieve_candidates` for a handful of members, without Spark."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jobs.pins import Pins
from jobs.retrieval.sections import split_sections
from jobs.retrieval.topk import top_candidates
from jobs.table_writer import replace_rows
from jobs.updates.batch_inputs import ProfileRow
from jobs.updates.embeddings import Embeddings, Vectors
from jobs.updates.pinned_catalog import Fault, PinnedCatalog
from mis_scoring.core.errors import DataError
from mis_scoring.core.identity import text_hash
from schemas.candidates import CANDIDATES
from schemas.quarantine import QUARANTINE

STEP = "retrieve_candidates"

Candidates = Mapping[str, Sequence[str]]
"""member_id -> qualification ids, best first."""


def write_candidates(
    root: Path, pins: Pins, profiles: Mapping[str, ProfileRow], catalog: PinnedCatalog, embeddings: Embeddings
) -> tuple[Candidates, dict[str, int]]:
    """Embed what is new, write `candidates` of the run, and set faulty inputs aside.

    Args:
        profiles: of the members in scope.
    Returns:
        the candidates, and what `retrieve_candidates` says of them.
    Raises:
        DataError: the catalog has no entry to propose.
    """
    sections = {member: split_sections(profile.text or "") for member, profile in profiles.items() if not profile.fault}
    vectors = embeddings.of([text for texts in sections.values() for text in texts], pins.retriever_id)
    vectors.keep(root, pins.retriever_id, transaction=f"{pins.run_id}:{STEP}")
    ranked = {member: _rank(texts, vectors, catalog, pins) for member, texts in sections.items()}
    ranked = {member: found for member, found in ranked.items() if found}
    rows = [row for member, found in ranked.items() for row in _rows(pins, member, profiles[member], found)]
    replace_rows(root, CANDIDATES, rows, run_id=pins.run_id)
    faults = [*_profile_faults(profiles, ranked), *catalog.faults]
    set_aside(root, pins, STEP, faults)
    counts = {
        "members": len(ranked),
        "candidates": len(rows),
        "quarantined": len(faults),
        "texts_embedded": len(vectors.new),
    }
    return {member: [key for key, _ in found] for member, found in ranked.items()}, counts


def set_aside(root: Path, pins: Pins, step: str, faults: Sequence[Fault]) -> None:
    """Write the faults of one step of the run to `quarantine`."""
    where = {"run_id": pins.run_id, "step": step}
    now = datetime.now(UTC)
    replace_rows(root, QUARANTINE, [where | vars(fault) | {"at": now} for fault in faults], **where)


def _rank(sections: Sequence[str], vectors: Vectors, catalog: PinnedCatalog, pins: Pins) -> list[tuple[str, float]]:
    directed = [text for text in sections if vectors.has_direction(text)]
    if not directed:
        return []
    if catalog.index is None:
        raise DataError(
            f"catalog version {pins.catalog_delta_version} holds no usable entry: load a catalog with active entries "
            "that have a text."
        )
    ids, similarity = top_candidates(catalog.index, vectors.stacked(directed), k=pins.candidates_per_member)
    return list(zip(ids.tolist(), similarity.tolist(), strict=True))


def _rows(pins: Pins, member_id: str, profile: ProfileRow, found: Sequence[tuple[str, float]]) -> list[dict[str, Any]]:
    return [
        {
            "run_id": pins.run_id,
            "member_id": member_id,
            "rank": rank,
            "qualification_id": qualification_id,
            "similarity": similarity,
            "profile_version": profile.version or 0,
            "profile_hash": profile.hash,
            "catalog_version": pins.catalog_version,
            "retriever_id": pins.retriever_id,
        }
        for rank, (qualification_id, similarity) in enumerate(found)
    ]


def _profile_faults(profiles: Mapping[str, ProfileRow], ranked: Mapping[str, Any]) -> list[Fault]:
    reasons = {
        member: profile.fault or "embeds to nothing" for member, profile in profiles.items() if member not in ranked
    }
    return [
        Fault(
            table="profiles",
            key=member,
            reason=reason,
            value_hash=None if (text := profiles[member].text) is None else text_hash(text),
        )
        for member, reason in reasons.items()
    ]
