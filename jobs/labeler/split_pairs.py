"""Split somebody's own pairs by member into training, validation and test files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jobs.errors import FaultsError
from jobs.labeler.labelled_pairs import read_labelled_pairs
from jobs.settings import Settings
from mis_scoring.evaluation.members import SUPPORTED, UNSUPPORTED, EvaluationMember, write_members
from mis_scoring.training.splits import DEFAULT_SHARES, SPLITS, Shares, split_of


def split_pairs(
    pairs_file: Path,
    work_dir: Path,
    *,
    seed: int,
    shares: Shares = DEFAULT_SHARES,
    minilm_dir: Path | None = None,
) -> dict[str, Any]:
    """Write `splits/{train,validation,test}.jsonl.gz` and return their counts.

    Args:
        minilm_dir: the retriever's embedding model; by default that of the settings.
    Raises:
        FaultsError: the file has faults, or a split would lack an answer; nothing was written.
    """
    pairs = read_labelled_pairs(pairs_file, minilm_dir=minilm_dir or Settings().minilm_dir)
    splits: dict[str, list[EvaluationMember]] = {name: [] for name in SPLITS}
    for member in pairs.members:
        splits[split_of(member.member_id, seed=seed, shares=shares)].append(member)
    if faults := _faults(splits, seed):
        raise FaultsError(str(pairs_file), faults)
    (work_dir / "splits").mkdir(parents=True, exist_ok=True)
    for name, members in splits.items():
        write_members(work_dir / "splits" / f"{name}.jsonl.gz", members)
    counts = {name: _counts(members) for name, members in splits.items()}
    return {"seed": seed, "duplicates": pairs.n_duplicates, "unknown": pairs.n_unknown, "splits": counts}


def _faults(splits: Mapping[str, Sequence[EvaluationMember]], seed: int) -> list[str]:
    return [
        f"split {name} has {len(members)} member(s) and no pair that is {answer}: give more members, or another seed "
        f"than {seed}"
        for name, members in splits.items()
        for answer in (SUPPORTED, UNSUPPORTED)
        if not any(c.answer == answer for member in members for c in member.candidates)
    ]


def _counts(members: Sequence[EvaluationMember]) -> dict[str, int]:
    answers = [c.answer for member in members for c in member.candidates]
    return {
        "members": len(members),
        "pairs": len(answers),
        "supported": answers.count(SUPPORTED),
        "unsupported": answers.count(UNSUPPORTED),
    }
