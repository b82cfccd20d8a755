"""The boxes of the picture of a label's lineage: what each shows, where it stands, and what leads to it."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Part:
    """A step of every way.

    Attributes:
        name: of the section that has all its facts.
        facts: (word before it, key of the audit); those that are known are shown.
        column, y: where its box stands.
        follows: the steps that lead to it.
    """

    name: str
    title: str
    facts: tuple[tuple[str, str], ...]
    column: int
    y: int
    follows: tuple[str, ...] = ()


PARTS = (
    Part(
        name="profile",
        title="Profile",
        facts=(("version", "profile.profile_version"), ("text", "profile.query_hash")),
        column=0,
        y=4,
    ),
    Part(
        name="entry",
        title="Catalog entry",
        facts=(
            ("", "qualification.status"),
            ("catalog", "qualification.catalog_version"),
            ("text", "qualification.item_hash"),
        ),
        column=0,
        y=119,
    ),
    Part(
        name="labeler",
        title="Labeler",
        facts=(
            ("version", "artifact.labeler_version"),
            ("artifact", "artifact.artifact_id"),
            ("threshold", "threshold"),
        ),
        column=0,
        y=234,
    ),
    Part(
        name="retrieval",
        title="Retrieval",
        facts=(("rank", "rank"), ("similarity", "similarity"), ("K", "coverage.candidates_per_member")),
        column=1,
        y=62,
        follows=("profile", "entry"),
    ),
    Part(
        name="round",
        title="Round",
        facts=(("number", "round"), ("judged to rank", "coverage.depth"), ("", "coverage.stop_reason")),
        column=2,
        y=62,
        follows=("retrieval",),
    ),
    Part(
        name="judgment",
        title="Judgment",
        facts=(("score", "score"), ("margin", "margin"), ("", "judgment.judged_at")),
        column=3,
        y=148,
        follows=("round", "labeler"),
    ),
    Part(
        name="label",
        title="Label",
        facts=(
            ("", "runs.published.published_at"),
            ("", "runs.published.kind"),
        ),
        column=4,
        y=148,
        follows=("judgment",),
    ),
)
