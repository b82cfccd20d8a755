"""What a member's facts say about catalog entries."""

import pytest

from jobs.sample.catalog import sample_catalog
from jobs.sample.esco import Concept, Esco
from jobs.sample.facts import Degree, Facts, Job, Mention, Permit
from jobs.sample.reference import SUPPORTED, UNKNOWN, Reference

NOTHING = Facts(mentions=(), wishes=(), jobs=(), degrees=(), permits=())
LABELS = {
    "staff": ("manage staff", ("supervise personnel", "lead people")),
    "music-staff": ("manage musical staff", ("manage staff of music", "direct musicians")),
    "records": ("keep clinical records", ("maintain patient files", "lead people")),
    "welding": ("weld pipes", ("join tubes", "pipe welding of steel")),
    "painting": ("paint walls", ("wall painting", "weld pipes")),
}


@pytest.fixture
def esco() -> Esco:
    """Concepts whose labels are shared, contained, and another's preferred label."""
    concepts = {
        i: Concept(concept_id=i, preferred_label=preferred, alternative_labels=others, groups=("S1.1.1",))
        for i, (preferred, others) in LABELS.items()
    }
    return Esco(concepts=concepts, group_names={}, members_of={"S1.1.1": tuple(concepts)})


@pytest.fixture
def reference(esco: Esco) -> Reference:
    """Answers over the whole catalog."""
    return Reference(esco, sample_catalog(esco, full=True))


def answers(reference: Reference, **facts: object) -> dict[str, str]:
    """Return the answers for a member with these facts alone."""
    return reference.answers(Facts(**(vars(NOTHING) | facts)))  # type: ignore[arg-type]


def mention(concept_id: str, label: str) -> tuple[Mention]:
    """Return one mention."""
    return (Mention(concept_id=concept_id, label=label),)


def test_a_held_skill_is_supported_and_a_sibling_is_not(reference: Reference) -> None:
    found = answers(reference, mentions=mention("welding", "join tubes"))
    assert found == {"skill:welding": SUPPORTED}


def test_a_label_of_two_concepts_decides_neither(reference: Reference) -> None:
    found = answers(reference, mentions=mention("staff", "lead people"))
    assert found["skill:staff"] == UNKNOWN
    assert found["skill:records"] == UNKNOWN


def test_a_second_clear_mention_decides_a_shared_one(reference: Reference) -> None:
    both = mention("staff", "lead people") + mention("staff", "supervise personnel")
    assert answers(reference, mentions=both)["skill:staff"] == SUPPORTED


def test_a_label_that_is_anothers_preferred_label_decides_neither(reference: Reference) -> None:
    found = answers(reference, mentions=mention("painting", "weld pipes"))
    assert found["skill:painting"] == UNKNOWN
    assert found["skill:welding"] == UNKNOWN


def test_broader_and_narrower_skills_are_unknown(reference: Reference) -> None:
    assert answers(reference, mentions=mention("music-staff", "direct musicians"))["skill:staff"] == UNKNOWN
    assert answers(reference, mentions=mention("staff", "supervise personnel"))["skill:music-staff"] == UNKNOWN


def test_a_skill_contained_in_a_longer_label_is_unknown(reference: Reference) -> None:
    found = answers(reference, mentions=mention("music-staff", "manage staff of music"))
    assert found == {"skill:music-staff": SUPPORTED, "skill:staff": UNKNOWN}


def test_a_wish_supports_nothing(reference: Reference) -> None:
    assert answers(reference, wishes=mention("welding", "join tubes")) == {}


def test_years_support_fewer_years_and_never_more(reference: Reference) -> None:
    job = Job(occupation_id="nurse", wording="ward nurse", years=5)
    found = answers(reference, jobs=(job,))
    own = {q: a for q, a in found.items() if q.startswith("experience:nurse:")}
    assert own == {f"experience:nurse:{years}": SUPPORTED for years in (1, 3, 5)}


def test_enough_years_in_a_related_occupation_are_unknown(reference: Reference) -> None:
    found = answers(reference, jobs=(Job(occupation_id="nurse", wording="ward nurse", years=3),))
    assert found["experience:midwife:3"] == UNKNOWN
    assert "experience:midwife:5" not in found


def test_a_higher_degree_supports_the_lower_ones(reference: Reference) -> None:
    found = answers(reference, degrees=(Degree(level="master", field_id="nursing", is_finished=True),))
    assert found == {"education:bachelor:nursing": SUPPORTED, "education:master:nursing": SUPPORTED}


def test_a_degree_still_studied_for_leaves_the_lower_ones_unknown(reference: Reference) -> None:
    found = answers(reference, degrees=(Degree(level="master", field_id="nursing", is_finished=False),))
    assert found == {"education:bachelor:nursing": UNKNOWN}


def test_a_degree_in_a_related_field_is_unknown(reference: Reference) -> None:
    found = answers(reference, degrees=(Degree(level="bachelor", field_id="accounting", is_finished=True),))
    assert found == {"education:bachelor:accounting": SUPPORTED, "education:bachelor:finance": UNKNOWN}


@pytest.mark.parametrize("is_valid", [True, False])
def test_a_licence_supports_those_it_includes_while_it_is_valid(reference: Reference, is_valid: bool) -> None:
    found = answers(reference, permits=(Permit(licence_id="driving-c", is_valid=is_valid),))
    expected = {"licence:driving-c": SUPPORTED, "licence:driving-b": SUPPORTED}
    assert found == (expected if is_valid else {})
