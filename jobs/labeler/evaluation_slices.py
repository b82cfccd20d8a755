"""The members that a labeler is judged on: the files of a work folder, and slices made from its test members."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from jobs.errors import FaultsError
from mis_scoring.core.identity import digest
from mis_scoring.evaluation.injection import with_injections
from mis_scoring.evaluation.members import SUPPORTED, UNKNOWN, UNSUPPORTED, EvaluationMember, read_members
from mis_scoring.evaluation.non_english import in_other_languages

VALIDATION, TEST, TRAIN = "validation", "test", "train"
INJECTION = "injection"  # test members with an instruction to answer YES in their profiles
NON_ENGLISH = "non_english"  # test members with foreign text around their facts
_ENDING = ".jsonl.gz"
_CODES = {SUPPORTED: 1, UNSUPPORTED: 0, UNKNOWN: -1}

Slices = dict[str, list[EvaluationMember]]


def read_slices(work_dir: Path, *, derived_members: int) -> Slices:
    """Read every split but the training one, and derive the injection and the non-English slice.

    Args:
        derived_members: how many test members the derived slices take.
    Raises:
        FaultsError: lists what is missing, unreadable or of one class only.
    """
    folder = work_dir / "splits"
    files = {path.name.removesuffix(_ENDING): path for path in sorted(folder.glob(f"*{_ENDING}"))}
    files.pop(TRAIN, None)
    faults = [f"{name}{_ENDING} is missing: split the pairs first" for name in (VALIDATION, TEST) if name not in files]
    slices: Slices = {}
    for name in (VALIDATION, TEST, *files):
        if name in files and name not in slices:
            slices[name], wrong = _read(files[name], needs_both=name in (VALIDATION, TEST))
            faults += [f"{name}{_ENDING}: {fault}" for fault in wrong]
    if faults:
        raise FaultsError(str(folder), faults)
    few = slices[TEST][:derived_members]
    return slices | {INJECTION: list(with_injections(few)), NON_ENGLISH: list(in_other_languages(few))}


def answer_codes(members: Sequence[EvaluationMember]) -> np.ndarray:
    """Return 1 supported, 0 unsupported, -1 unknown for each pair, (n,) int8."""
    return np.array([_CODES[c.answer] for member in members for c in member.candidates], np.int8)


def categories_of(members: Sequence[EvaluationMember]) -> np.ndarray:
    """Return the category of each pair, (n,) str."""
    return np.array([c.category for member in members for c in member.candidates], np.str_)


def members_digest(members: Sequence[EvaluationMember]) -> str:
    """Return what tells whether two evaluations judged the same pairs."""
    return digest(
        [[m.member_id, m.profile_text, [[c.qualification_id, c.text, c.answer] for c in m.candidates]] for m in members]
    )


def _read(path: Path, *, needs_both: bool) -> tuple[list[EvaluationMember], list[str]]:
    try:
        members = read_members(path)
    except (OSError, EOFError, ValueError, TypeError, KeyError) as error:
        return [], [f"it cannot be read: {error}"]
    codes = answer_codes(members)
    wanted = (SUPPORTED, UNSUPPORTED) if needs_both else ()
    return members, [f"no pair is {answer}" for answer in wanted if _CODES[answer] not in codes]
