"""How much of the published set a run may touch before a person has looked at it.

Every share is of the whole population or of all published labels, so that a run over few members is never held for
having few. The first publication replaces nothing and is never held.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class GuardLimits:
    """The most that may be published unseen. A share of 1 turns a limit off.

    Attributes:
        quarantined: share of all members that are quarantined.
        incomplete: share of all members that could not be scored to the end.
        removed: share of the published labels that would go.
        category_change: change of a category's number of labels among members who had labels and keep a profile.
        ignored_below: members or labels; fewer than this hold no run, whatever share they are.
    """

    quarantined: float
    incomplete: float
    removed: float
    category_change: float
    ignored_below: int


@dataclass(frozen=True, kw_only=True)
class PublicationFigures:
    """What a publication would do, in counts.

    Attributes:
        labels: published now; by_category: the same, by the category of the entry.
        added, removed: labels, by category, of members who were covered before and are still there.
        removed_in_all: labels that would go, those of removed members too.
    """

    members: int
    quarantined: int
    incomplete: int
    labels: int
    removed_in_all: int
    by_category: Mapping[str, int] = field(default_factory=dict)
    added: Mapping[str, int] = field(default_factory=dict)
    removed: Mapping[str, int] = field(default_factory=dict)


def reasons_to_hold(
    figures: PublicationFigures, limits: GuardLimits, approved: PublicationFigures | None = None
) -> list[str]:
    """Return one sentence for each limit that the publication is past; none lets it through.

    Args:
        approved: what a person has seen and let through: as much of the same is past no limit.
    """
    if figures.labels == 0:
        return []
    seen = {what: count for what, count, *_ in _measured(approved, limits)} if approved else {}
    return [
        f"{what}: {count} of {whole} ({count / whole:.1%}), limit {limit:.1%} ({setting})"
        for what, count, whole, limit, setting in _measured(figures, limits)
        if count >= limits.ignored_below and count > max(limit * whole, seen.get(what, 0))
    ]


def _measured(figures: PublicationFigures, limits: GuardLimits) -> Iterator[tuple[str, int, int, float, str]]:
    members = max(figures.members, 1)
    yield "members quarantined", figures.quarantined, members, limits.quarantined, "SEMLABEL_HOLD_QUARANTINED"
    yield "members incomplete", figures.incomplete, members, limits.incomplete, "SEMLABEL_HOLD_INCOMPLETE"
    yield "labels removed", figures.removed_in_all, figures.labels, limits.removed, "SEMLABEL_HOLD_REMOVED"
    for category, published in sorted(figures.by_category.items()):
        moved = abs(figures.added.get(category, 0) - figures.removed.get(category, 0))
        yield (
            f"labels of category {category}, net change",
            moved,
            published,
            limits.category_change,
            "SEMLABEL_HOLD_CATEGORY_CHANGE",
        )
