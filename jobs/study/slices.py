"""The held-out members that both methods are judged on, at the retrieved share of supported pairs and balanced."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mis_scoring.evaluation.members import SUPPORTED, UNKNOWN, UNSUPPORTED, EvaluationMember, read_members

VALIDATION = "validation"
RETRIEVED = ("test", "unseen_concepts")
BALANCED_SUFFIX = "_balanced"
BALANCE_SEED = 7


@dataclass(frozen=True, kw_only=True)
class Slice:
    """Members of one slice.

    Attributes:
        members: with the candidates that are judged.
    """

    name: str
    members: Sequence[EvaluationMember]

    @property
    def n_candidates(self) -> list[int]:
        """Candidates of each member."""
        return [len(member.candidates) for member in self.members]

    @property
    def answers(self) -> npt.NDArray[np.bool_]:
        """(n,) bool, over all members' candidates; meaningless where unknown."""
        return np.array([c.answer == SUPPORTED for m in self.members for c in m.candidates])

    @property
    def is_known(self) -> npt.NDArray[np.bool_]:
        """(n,) bool: the pairs with a reference answer."""
        return np.array([c.answer != UNKNOWN for m in self.members for c in m.candidates])


def read_slices(data_dir: Path, *, n_members: int) -> dict[str, Slice]:
    """Return all slices by name, each of at most that many members."""
    slices = {}
    for name in (VALIDATION, *RETRIEVED):
        members = read_members(data_dir / f"{name}.jsonl.gz")[:n_members]
        slices[name] = Slice(name=name, members=members)
        if name in RETRIEVED:
            slices[name + BALANCED_SUFFIX] = balanced(slices[name])
    return slices


def balanced(retrieved: Slice) -> Slice:
    """Return a slice with all supported candidates and as many unsupported ones, drawn per member; rank order stays."""
    rng = random.Random(BALANCE_SEED)
    members = []
    for member in retrieved.members:
        supported = [i for i, c in enumerate(member.candidates) if c.answer == SUPPORTED]
        others = [i for i, c in enumerate(member.candidates) if c.answer == UNSUPPORTED]
        kept = sorted(supported + rng.sample(others, min(len(supported), len(others))))
        if kept:
            members.append(replace(member, candidates=[member.candidates[i] for i in kept]))
    return Slice(name=retrieved.name + BALANCED_SUFFIX, members=members)
