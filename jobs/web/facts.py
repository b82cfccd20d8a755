"""Every fact of an audit, under the step of the way that it belongs to; a fact with no place of its own comes last."""

from collections.abc import Iterator, Mapping
from typing import Any

_PLACES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("profile", "Profile", ("member_id", "profile_version", "profile_hash", "query_hash", "profiles_delta_version")),
    ("entry", "Catalog entry", ("qualification_id", "catalog_version", "item_hash", "catalog_delta_version")),
    ("labeler", "Labeler", ("labeler", "labeler_version", "artifact_id", "scorer_id", "threshold")),
    ("retrieval", "Retrieval", ("retriever_id", "candidates_per_member", "rank", "similarity")),
    ("round", "Round", ("round", "rounds", "depth", "stop_reason")),
    ("judgment", "Judgment", ("score", "margin", "is_reference", "judged_run_id", "judged_at", "engine")),
    ("label", "Label", ("published_run_id", "since_run_id", "run_id")),
)
_SHOWN_APART = ("state", "reason", "is_stale", "stale_reason", "texts")


def sections_of(audit: Mapping[str, Any]) -> list[tuple[str, str, list[tuple[str, Any]]]]:
    """Return (name, title, facts) a step; a fact is (key, value), and a nested one has the keys joined by dots."""
    left = dict(_flat({key: value for key, value in audit.items() if key not in _SHOWN_APART}))
    sections = []
    for name, title, keys in _PLACES:
        sections.append((name, title, [(key, left.pop(key)) for key in keys if key in left]))
    return [*sections, ("further", "Further facts", list(left.items()))] if left else sections


def _flat(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value
