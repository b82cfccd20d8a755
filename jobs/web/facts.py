"""Every fact of an audit, under the step of the way that it belongs to; a fact with no place of its own comes last."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_PLACES = {  # section -> title, and its facts: a key of the audit, or a group of them, which ends in a dot
    "profile": ("Profile", ("member_id", "profile.")),
    "entry": ("Catalog entry", ("qualification_id", "qualification.")),
    "labeler": ("Labeler", ("artifact.",)),
    "retrieval": (
        "Retrieval",
        ("rank", "similarity", "coverage.retriever_id", "coverage.candidates_per_member", "coverage.candidates"),
    ),
    "round": ("Round", ("round", "coverage.")),
    "judgment": ("Judgment", ("score", "margin", "threshold", "judgment.", "cost.")),
    "label": ("Decision", ("as_of.", "erasure.")),
}
_RUNS = ("judged", "published", "since", "confirmed")  # what a run may have done for a pair
_TEXTS = ("profile.query_text", "qualification.item_text")
_SHOWN_APART = ("state", "reason", "is_stale", "stale_reasons", "taken_away", "runs.", *_TEXTS)
_SAME = {"judgment.score": "score", "judgment.margin": "margin"}  # said once where they agree
_NAMED_WITH_GROUP = ("as_of", "cost", "erasure", "judgment.revocation")
_NAMES = {"as_of.at": "as_of published_at"} | {key: key.replace(".", " ") for key in _SAME}


@dataclass(frozen=True, kw_only=True)
class Section:
    """One step's facts, as (name, value)."""

    name: str
    title: str
    facts: tuple[tuple[str, Any], ...]


def flat(audit: Mapping[str, Any]) -> dict[str, Any]:
    """Return an audit without nesting: keys of inner documents are joined by dots."""
    return dict(_leaves(audit, ""))


def sections_of(audit: Mapping[str, Any]) -> list[Section]:
    """Return every fact that is known of a flat audit, in the order of the picture."""
    left = {key: value for key, value in audit.items() if value is not None and not _is_apart(key, audit)}
    sections = []
    for name, (title, places) in _PLACES.items():
        keys = dict.fromkeys(key for place in places for key in left if _belongs(key, place))
        facts = tuple((_told(key), left.pop(key)) for key in keys)
        sections.append(Section(name=name, title=title, facts=facts))
    further = Section(name="further", title="Further facts", facts=tuple(left.items()))
    return [*sections, further] if left else sections


def runs_of(audit: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the runs behind a flat audit, as (what it did, its facts)."""
    found = []
    for role in _RUNS:
        group = f"runs.{role}."
        facts = {key.removeprefix(group): value for key, value in audit.items() if key.startswith(group)}
        if facts:
            found.append((role, facts))
    return found


def _is_apart(key: str, audit: Mapping[str, Any]) -> bool:
    is_said = key in _SAME and audit[key] == audit.get(_SAME[key])
    return is_said or any(_belongs(key, place) for place in _SHOWN_APART)


def _belongs(key: str, place: str) -> bool:
    return key == place or (place.endswith(".") and key.startswith(place))


def _told(key: str) -> str:
    group, _, name = key.rpartition(".")
    return _NAMES.get(key) or (f"{group.rpartition('.')[2]} {name}" if group in _NAMED_WITH_GROUP else name)


def _leaves(values: Mapping[str, Any], before: str) -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value
