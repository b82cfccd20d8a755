"""The sample's catalog: big enough, well formed, the same every time."""

import pytest

from jobs.sample.catalog import YEARS, sample_catalog
from jobs.sample.education import FIELDS
from jobs.sample.esco import Concept, Esco
from jobs.sample.licences import LICENCES
from jobs.sample.occupations import OCCUPATIONS


@pytest.fixture
def esco() -> Esco:
    """Three groups of concepts, one bigger than a group may be in the catalog."""
    sizes = {"S1.1.1": 60, "S1.1.2": 5, "K0101": 5}
    concepts = {
        f"{group}-{i}": Concept(
            concept_id=f"{group}-{i}",
            preferred_label=f"handle thing {i} of {group}",
            alternative_labels=(f"thing {i} of {group} handling",),
            groups=(group,),
        )
        for group, size in sizes.items()
        for i in range(size)
    }
    members = {group: tuple(f"{group}-{i}" for i in range(size)) for group, size in sizes.items()}
    return Esco(concepts=concepts, group_names={}, members_of=members)


def test_ids_and_texts_are_unique_in_the_full_catalog(esco: Esco) -> None:
    catalog = sample_catalog(esco, full=True)
    assert len({entry.qualification_id for entry in catalog}) == len(catalog)
    assert len({entry.text.casefold() for entry in catalog}) == len(catalog)


def test_the_default_bounds_a_group_and_the_full_catalog_does_not(esco: Esco) -> None:
    default = [e for e in sample_catalog(esco) if e.category == "skill"]
    full = [e for e in sample_catalog(esco, full=True) if e.category == "skill"]
    assert len(full) == len(esco.concepts)
    assert sum("S1.1.1" in e.qualification_id for e in default) == 40


def test_every_occupation_has_an_entry_a_number_of_years(esco: Esco) -> None:
    texts = {e.qualification_id: e.text for e in sample_catalog(esco)}
    assert texts["experience:tax-accountant:5"] == "5+ years as a tax accountant"
    assert texts["experience:tax-accountant:1"] == "1+ year as a tax accountant"
    assert texts["experience:electrician:3"] == "3+ years as an electrician"
    assert sum(q.startswith("experience:") for q in texts) == len(OCCUPATIONS) * len(YEARS)


def test_no_profile_wording_is_the_catalogs_own() -> None:
    pairs = [(o.title, o.wordings) for o in OCCUPATIONS.values()]
    pairs += [(f.title, f.wordings) for f in FIELDS.values()]
    pairs += [(x.title, x.wordings) for x in LICENCES.values()]
    for title, wordings in pairs:
        assert wordings
        assert title.casefold() not in {w.casefold() for w in wordings}


def test_related_and_included_entries_exist() -> None:
    assert all(related in OCCUPATIONS for o in OCCUPATIONS.values() for related in o.related)
    assert all(related in FIELDS for f in FIELDS.values() for related in f.related)
    assert all(included in LICENCES for x in LICENCES.values() for included in x.includes)


def test_occupations_are_related_both_ways() -> None:
    assert all(o.occupation_id in OCCUPATIONS[r].related for o in OCCUPATIONS.values() for r in o.related)
    assert all(f.field_id in FIELDS[r].related for f in FIELDS.values() for r in f.related)
