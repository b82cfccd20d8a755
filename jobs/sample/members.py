"""The sample's members: facts, and a profile that tells them.

A member depends on (seed, index) and on the pool of concepts only, never on how many are drawn or in which order.
"""

import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from jobs.sample.catalog import CatalogEntry
from jobs.sample.draw import Pool, draw_facts
from jobs.sample.esco import Esco
from jobs.sample.facts import Facts
from jobs.sample.prose import write_profile

SHORT_SKILLS = ((1.0, 1, 4),)
SHORT_JOBS = ((1.0, 0, 1),)


@dataclass(frozen=True, kw_only=True)
class SampleMember:
    """One member; `facts` say what the profile supports."""

    member_id: str
    profile_text: str
    facts: Facts


def sample_members(
    esco: Esco, catalog: Sequence[CatalogEntry], *, n_members: int, seed: int, without: Collection[str] = ()
) -> Iterator[SampleMember]:
    """Draw members whose skills are the catalog's (nine in ten) and other ESCO skills.

    Args:
        seed: see `seeds`; the default sample is `SAMPLE_SEED`.
        without: concept ids that no profile may mention.
    """
    pool = Pool.of(esco, catalog, without=without)
    return (sample_member(pool, seed=seed, index=index) for index in range(n_members))


def sample_member(pool: Pool, *, seed: int, index: int, is_short: bool = False) -> SampleMember:
    """Draw the member number `index` of a seed; `is_short` keeps to a few facts (the start of training)."""
    rng = random.Random(f"semlabel member {seed}/{index}")
    facts = draw_facts(rng, pool, n_skills=SHORT_SKILLS, n_jobs=SHORT_JOBS) if is_short else draw_facts(rng, pool)
    return SampleMember(
        member_id=f"member-{seed}-{index:06d}", profile_text=write_profile(rng, pool.esco, facts), facts=facts
    )
