"""What is true of a sample member: the profile is written from it, and the reference is read from it."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Mention:
    """A skill and the alternative label by which the profile names it."""

    concept_id: str
    label: str


@dataclass(frozen=True, kw_only=True)
class Job:
    """Work in one occupation, told by one of its wordings, for a whole number of years."""

    occupation_id: str
    wording: str
    years: int


@dataclass(frozen=True, kw_only=True)
class Degree:
    """A degree in a field; not `is_finished` means that the member still studies for it."""

    level: str
    field_id: str
    is_finished: bool


@dataclass(frozen=True, kw_only=True)
class Permit:
    """A licence; not `is_valid` means that the profile says it has lapsed."""

    licence_id: str
    is_valid: bool


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Everything that a profile tells.

    Attributes:
        mentions: skills held.
        wishes: skills that the profile names as not held yet, such as those the member wants to learn.
    """

    mentions: tuple[Mention, ...]
    wishes: tuple[Mention, ...]
    jobs: tuple[Job, ...]
    degrees: tuple[Degree, ...]
    permits: tuple[Permit, ...]
