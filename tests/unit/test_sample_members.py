"""Members: everything true of them is told, nothing is told in the catalog's words, and seeds part them."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.sample.catalog import sample_catalog
from jobs.sample.draw import Pool
from jobs.sample.education import FIELDS, LEVEL_WORDINGS
from jobs.sample.esco import Concept, Esco
from jobs.sample.licences import LICENCES
from jobs.sample.members import SampleMember, sample_member, sample_members
from jobs.sample.seeds import SAMPLE_SEED, TRAINING_SEED_FROM, VALIDATION_SEED
from jobs.sample.training_batches import SEEDS_PER_START

N_GROUPS, PER_GROUP = 8, 12


def make_esco() -> Esco:
    """Return 96 concepts in eight groups, half of them things known."""
    concepts = {}
    for g in range(N_GROUPS):
        code = f"K{g:03}" if g % 2 else f"S{g}.1.1"
        for i in range(PER_GROUP):
            concepts[f"{g}-{i}"] = Concept(
                concept_id=f"{g}-{i}",
                preferred_label=f"handle preferred{g}x{i}",
                alternative_labels=tuple(f"handling alternative{g}x{i}x{n}" for n in range(3)),
                groups=(code,),
            )
    by_group: dict[str, list[str]] = {}
    for concept in concepts.values():
        by_group.setdefault(concept.groups[0], []).append(concept.concept_id)
    return Esco(concepts=concepts, group_names={}, members_of={g: tuple(ids) for g, ids in by_group.items()})


ESCO = make_esco()
CATALOG = sample_catalog(ESCO)
POOL = Pool.of(ESCO, CATALOG)
indexes = st.integers(min_value=0, max_value=1_000_000)


def draw(index: int, seed: int = SAMPLE_SEED) -> SampleMember:
    """Return one member of the small classification."""
    return sample_member(POOL, seed=seed, index=index)


@given(index=indexes)
@settings(max_examples=200)
def test_every_fact_is_told(index: int) -> None:
    member = draw(index)
    text = member.profile_text.casefold()
    facts = member.facts
    assert all(m.label.casefold() in text for m in (*facts.mentions, *facts.wishes))
    assert all(job.wording.casefold() in text for job in facts.jobs)
    for permit in facts.permits:
        assert any(w.casefold() in text for w in LICENCES[permit.licence_id].wordings)
    for degree in facts.degrees:
        assert any(w.casefold() in text for w in FIELDS[degree.field_id].wordings)
        assert any(w.casefold() in text for w in LEVEL_WORDINGS[degree.level])


@given(index=indexes)
@settings(max_examples=200)
def test_no_profile_uses_the_catalogs_wording_of_a_skill(index: int) -> None:
    assert "preferred" not in draw(index).profile_text


@given(index=indexes)
@settings(max_examples=100)
def test_years_told_by_dates_are_the_years_of_the_job(index: int) -> None:
    member = draw(index)
    spans = re.findall(r"\((\d{4}) ?(?:-|–|to) ?(\d{4})\)", member.profile_text)  # noqa: RUF001
    assert {int(end) - int(start) for start, end in spans} <= {job.years for job in member.facts.jobs}


def test_a_member_depends_on_seed_and_index_alone() -> None:
    few = list(sample_members(ESCO, CATALOG, n_members=3, seed=7))
    many = list(sample_members(ESCO, CATALOG, n_members=10, seed=7))
    assert many[:3] == few
    assert sample_member(POOL, seed=7, index=2) == few[2]


def test_members_of_the_sample_are_never_met_in_training_or_validation() -> None:
    n_members = 300
    sample = [draw(i) for i in range(n_members)]
    others = [draw(i, seed) for seed in (VALIDATION_SEED, TRAINING_SEED_FROM) for i in range(n_members)]
    assert not {m.member_id for m in sample} & {m.member_id for m in others}
    assert not {m.profile_text for m in sample} & {m.profile_text for m in others}


def test_the_seeds_of_sample_validation_and_training_are_disjoint() -> None:
    assert SAMPLE_SEED < VALIDATION_SEED < TRAINING_SEED_FROM
    assert SEEDS_PER_START > 0  # training moves upwards from its first seed


def test_profiles_vary_in_length_and_form() -> None:
    texts = [draw(i).profile_text for i in range(300)]
    lengths = sorted(map(len, texts))
    assert lengths[-15] > 3 * lengths[15]
    n_lines = sorted(text.count("\n") + 1 for text in texts)
    assert n_lines[15] <= 3
    assert n_lines[-60] >= 15
    assert any(text.startswith(("- ", "* ", "• ", "+ ", "> ")) for text in texts)


def test_kept_out_concepts_are_never_mentioned() -> None:
    kept_out = {f"0-{i}" for i in range(PER_GROUP)}
    for member in sample_members(ESCO, CATALOG, n_members=100, seed=1, without=kept_out):
        assert not kept_out & {m.concept_id for m in (*member.facts.mentions, *member.facts.wishes)}


def test_one_skill_in_ten_is_outside_the_catalog() -> None:
    half = [e for e in CATALOG if e.category != "skill" or e.qualification_id.split(":")[1][0] in "0123"]
    held = [m.concept_id for x in sample_members(ESCO, half, n_members=300, seed=1) for m in x.facts.mentions]
    inside = sum(concept_id[0] in "0123" for concept_id in held) / len(held)
    assert 0.8 < inside < 0.95
