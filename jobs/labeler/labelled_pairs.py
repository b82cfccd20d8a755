"""Read somebody's own labelled pairs from CSV, Parquet or JSON lines; every fault of the file is listed at once.

Columns: `member_id`, `profile_text`, `qualification_id`, `qualification_text`, `answer` (yes, no, unknown, supported or
unsupported), and if wanted `category` and `similarity` (the retriever's cosine; computed where it is not given).

The whole file is in memory, as rows and then as members: the pairs of a training set fit there. It grows with
pairs x length of a profile; 64,000 pairs of profiles of 2 KB took 0.2 GB.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from jobs.errors import FaultsError
from jobs.labeler.pair_files import read_rows
from jobs.labeler.pair_rows import PairRow, contradictions, shortages, to_rows
from jobs.labeler.pair_similarity import with_similarities
from mis_scoring.evaluation.members import SUPPORTED, UNKNOWN, EvaluationCandidate, EvaluationMember

DEFAULT_CATEGORY = "qualification"


@dataclass(frozen=True, kw_only=True)
class LabelledPairs:
    """The members of a pairs file, in the file's order, candidates best first.

    Attributes:
        n_duplicates: rows left out because they repeat another.
    """

    members: Sequence[EvaluationMember]
    n_duplicates: int

    @property
    def n_pairs(self) -> int:
        """All pairs, unknown ones too."""
        return sum(len(member.candidates) for member in self.members)

    @property
    def n_unknown(self) -> int:
        """Pairs that neither train nor count."""
        return sum(c.answer == UNKNOWN for member in self.members for c in member.candidates)


def read_labelled_pairs(path: Path, *, minilm_dir: Path) -> LabelledPairs:
    """Read a pairs file.

    Args:
        minilm_dir: the retriever's embedding model; used only where a similarity is missing.
    Raises:
        FaultsError: lists every fault with its rows; row 1 is the first after a header.
    """
    rows, faults = to_rows(read_rows(path))
    faults += contradictions(rows)
    if faults := faults or shortages(rows):  # what good rows lack shows once all rows are good
        raise FaultsError(str(path), faults)
    kept: dict[tuple[str, str], PairRow] = {}
    for row in rows:
        kept.setdefault((row.member_id, row.qualification_id), row)
    members = _members(list(kept.values()))
    return LabelledPairs(
        members=[_in_rank_order(member) for member in with_similarities(members, minilm_dir=minilm_dir)],
        n_duplicates=len(rows) - len(kept),
    )


def _members(rows: Sequence[PairRow]) -> list[EvaluationMember]:
    by_member: dict[str, list[PairRow]] = {}
    for row in rows:
        by_member.setdefault(row.member_id, []).append(row)
    return [
        EvaluationMember(
            member_id=member_id,
            profile_text=own[0].profile_text,
            candidates=[_candidate(row) for row in own],
            supported=[row.qualification_id for row in own if row.answer == SUPPORTED],
        )
        for member_id, own in by_member.items()
    ]


def _candidate(row: PairRow) -> EvaluationCandidate:
    return EvaluationCandidate(
        qualification_id=row.qualification_id,
        category=row.category or DEFAULT_CATEGORY,
        text=row.qualification_text,
        similarity=float("nan") if row.similarity is None else row.similarity,
        answer=row.answer,
    )


def _in_rank_order(member: EvaluationMember) -> EvaluationMember:
    return replace(member, candidates=sorted(member.candidates, key=lambda c: (-c.similarity, c.qualification_id)))
