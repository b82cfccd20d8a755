"""A work folder with the tiny labeler's model and made-up members, for tests of evaluation and versions."""

import random
from collections.abc import Sequence
from pathlib import Path

from mis_scoring.core.artifact import CHECKPOINT_FILES
from mis_scoring.core.contract import PromptContract
from mis_scoring.core.prompt import COMPACT, PromptLayout
from mis_scoring.evaluation.members import (
    SUPPORTED,
    UNKNOWN,
    UNSUPPORTED,
    EvaluationCandidate,
    EvaluationMember,
    write_members,
)
from tests.tiny_labeler import write_tiny_labeler

SECRET = "Zanzibarian"  # stands in every profile: what must not get out shows by it
_WORDS = ("nurse", "tax accountant", "degree", "licence", "welder", "cook", "lawyer", "driver", "café owner")


def made_up_members(n_members: int, *, seed: int, n_candidates: int = 12) -> list[EvaluationMember]:
    """Return members whose answers are drawn: nothing can be learned, everything can be counted."""
    draw = random.Random(seed)
    return [_member(draw, f"{seed}-{number}", n_candidates) for number in range(n_members)]


def _member(draw: random.Random, member_id: str, n_candidates: int) -> EvaluationMember:
    candidates = [
        EvaluationCandidate(
            qualification_id=f"q{place}",
            category=draw.choice(("skill", "licence")),
            text=f"{place + 1} years as a {draw.choice(_WORDS)}",
            similarity=round(1.0 - place / n_candidates, 3),
            answer=draw.choices((SUPPORTED, UNSUPPORTED, UNKNOWN), (4, 7, 1))[0],
        )
        for place in range(n_candidates)
    ]
    words = " ".join(draw.choices(_WORDS, k=draw.randint(3, 20)))
    supported = [c.qualification_id for c in candidates if c.answer == SUPPORTED]
    return EvaluationMember(
        member_id=member_id, profile_text=f"{SECRET} {words}", candidates=candidates, supported=[*supported, "missed"]
    )


def write_work(
    work_dir: Path,
    *,
    seed: int = 0,
    layout: PromptLayout = COMPACT,
    further: Sequence[str] = (),
    n_members: int = 5,
) -> Path:
    """Write splits, model and contract; `seed` makes another model for the same members."""
    (work_dir / "splits").mkdir(parents=True)
    names = ("train", "validation", "test", *further)
    for number, name in enumerate(names):
        write_members(work_dir / "splits" / f"{name}.jsonl.gz", made_up_members(n_members, seed=number))
    write_tiny_labeler(work_dir / "model", seed=seed)
    for path in (work_dir / "model").iterdir():
        if path.name not in CHECKPOINT_FILES:
            path.unlink()
    PromptContract(layout=layout, answers=("YES", "NO")).save(work_dir / "contract.json")
    return work_dir
