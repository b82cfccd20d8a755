"""Retrieve the candidates of evaluation members, as a refresh would, and write them with their answers.

    python -m jobs.sample.prepare_evaluation --data .cache/data --out var/esco-small

Makes a work folder of `--out`: writes `splits/validation.jsonl.gz` (members on whom the threshold is chosen),
`test` (the default sample), `unseen_wordings` (every skill told by a label that training never used) and
`unseen_concepts` (every skill a concept that training never met).
"""

import argparse
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from jobs.retrieval.embedder import GRID
from jobs.retrieval.sections import split_sections
from jobs.retrieval.topk import CatalogIndex, top_candidates
from jobs.sample.catalog import CatalogEntry, sample_catalog
from jobs.sample.esco import ESCO_FILE, Esco, read_esco
from jobs.sample.members import SampleMember, sample_members
from jobs.sample.neighbours import BatchEmbedder, embed_catalog
from jobs.sample.reference import SUPPORTED, Reference
from jobs.sample.seeds import SAMPLE_SEED, VALIDATION_SEED
from jobs.sample.unseen import unseen_catalog, unseen_concepts, unseen_wordings
from mis_scoring.evaluation.members import UNSUPPORTED, EvaluationCandidate, EvaluationMember, write_members

LOG = logging.getLogger(__name__)
K = 200
MEMBERS_PER_CHUNK = 100


def evaluation_members(
    esco: Esco, catalog: Sequence[CatalogEntry], members: Sequence[SampleMember], embedder: BatchEmbedder, *, k: int
) -> Iterator[EvaluationMember]:
    """Yield members with their k candidates in rank order."""
    reference = Reference(esco, catalog)
    entries = {entry.qualification_id: entry for entry in catalog}
    vectors = np.round(embed_catalog(embedder, catalog).astype(np.float64) * GRID) / GRID
    index = CatalogIndex.build([entry.qualification_id for entry in catalog], vectors)
    for start in range(0, len(members), MEMBERS_PER_CHUNK):
        chunk = members[start : start + MEMBERS_PER_CHUNK]
        sections = [split_sections(member.profile_text) for member in chunk]
        flat = embedder.embed([section for part in sections for section in part]).astype(np.float64)
        parts = np.split(np.round(flat * GRID) / GRID, np.cumsum([len(part) for part in sections])[:-1])
        for member, part in zip(chunk, parts, strict=True):
            ids, similarities = top_candidates(index, part, k=k)
            yield _evaluation_member(member, reference, entries, ids.tolist(), similarities.tolist())


def _evaluation_member(
    member: SampleMember,
    reference: Reference,
    entries: dict[str, CatalogEntry],
    ids: Sequence[str],
    similarities: Sequence[float],
) -> EvaluationMember:
    answers = reference.answers(member.facts)
    candidates = [
        EvaluationCandidate(
            qualification_id=q,
            category=entries[q].category,
            text=entries[q].text,
            similarity=similarity,
            answer=answers.get(q, UNSUPPORTED),
        )
        for q, similarity in zip(ids, similarities, strict=True)
    ]
    return EvaluationMember(
        member_id=member.member_id,
        profile_text=member.profile_text,
        candidates=candidates,
        supported=[q for q, answer in answers.items() if answer == SUPPORTED],
    )


def prepare_evaluation(data_dir: Path, out_dir: Path, *, threads: int, n_members: int, few: int) -> None:
    """Write the four files."""
    splits = out_dir / "splits"
    splits.mkdir(parents=True, exist_ok=True)
    esco = read_esco(data_dir / ESCO_FILE)
    embedder = BatchEmbedder(data_dir / "minilm", threads=threads)
    default, unseen, kept_out = sample_catalog(esco), unseen_catalog(esco), unseen_concepts(esco)
    seen, retold = set(esco.concepts) - kept_out, unseen_wordings(esco)
    files = {
        # Validation members never hold an unseen concept; like the sample's, they use unseen wordings too.
        "validation": (default, sample_members(esco, default, n_members=few, seed=VALIDATION_SEED, without=kept_out)),
        "test": (default, sample_members(esco, default, n_members=n_members, seed=SAMPLE_SEED)),
        "unseen_wordings": (
            default,
            sample_members(retold, default, n_members=few, seed=SAMPLE_SEED + 1, without=kept_out),
        ),
        "unseen_concepts": (
            unseen,
            sample_members(esco, unseen, n_members=few, seed=SAMPLE_SEED + 2, without=seen),
        ),
    }
    for name, (catalog, members) in files.items():
        judged = evaluation_members(esco, catalog, list(members), embedder, k=K)
        write_members(splits / f"{name}.jsonl.gz", judged)
        LOG.info(f"wrote {splits / name}.jsonl.gz")


def main() -> None:
    """Parse the command line."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with the ESCO file and minilm/")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--members", type=int, default=500, help="of the default sample")
    parser.add_argument("--few", type=int, default=300, help="members of each other file")
    args = parser.parse_args()
    prepare_evaluation(args.data, args.out, threads=args.threads, n_members=args.members, few=args.few)


if __name__ == "__main__":
    main()
