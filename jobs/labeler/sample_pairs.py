"""Write a file of labelled pairs from the sample's generator: pairs to learn the labeler's recipe on.

    python -m jobs.labeler.sample_pairs --data .cache/data --out pairs.parquet --members 400

A member's pairs are drawn from its retrieved candidates at their own share of YES, and a few are entries that its
facts nearly support (more years, a higher degree). Its members are none of the default sample's, of the evaluation's
or of the bundled labeler's training; like the latter they hold no unseen concept and use no unseen wording.
"""

import argparse
import csv
import logging
import random
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from jobs.errors import FaultsError, MissingRequirementError
from jobs.sample.catalog import sample_catalog
from jobs.sample.esco import ESCO_FILE, read_esco
from jobs.sample.members import SampleMember, sample_members
from jobs.sample.neighbours import BatchEmbedder
from jobs.sample.prepare_evaluation import MEMBERS_PER_CHUNK, K, evaluation_members
from jobs.sample.seeds import PAIRS_SEED_FROM
from jobs.sample.training_pairs import hard_negatives
from jobs.sample.unseen import seen_wordings, unseen_concepts
from mis_scoring.evaluation.members import SUPPORTED, UNSUPPORTED, EvaluationCandidate, EvaluationMember

LOG = logging.getLogger(__name__)
PAIRS_PER_MEMBER = 40
HARD_SHARE = 0.1  # of a member's pairs
WORD_OF = {SUPPORTED: "yes", UNSUPPORTED: "no"}
COLUMNS = (
    "member_id",
    "profile_text",
    "qualification_id",
    "qualification_text",
    "answer",
    "category",
    "similarity",
)


def sample_pairs(
    data_dir: Path,
    out_file: Path,
    *,
    n_members: int,
    pairs_per_member: int = PAIRS_PER_MEMBER,
    supported_share: float = 0.0,
    seed: int = 0,
    threads: int = 1,
) -> dict[str, int]:
    """Write a .csv or .parquet file, a few hundred members in memory at a time, and return the counts of answers.

    Takes some 20 s for the catalog and 0.2 s a member on one core.

    Args:
        supported_share: at least this share of a member's pairs is supported, as far as retrieval found so many;
            0 keeps retrieval's own share, some 7%. More teaches faster, but a threshold chosen on a part of the same
            file is then one for another share than a refresh meets.
        seed: other members for another seed, none of them elsewhere in the sample.
    Raises:
        MissingRequirementError: ESCO's file or the embedding model is not there.
        FaultsError: the file's form or a number makes no sense.
    """
    _require_data(data_dir)
    _require_sense(out_file, n_members, pairs_per_member, supported_share, seed)
    esco = read_esco(data_dir / ESCO_FILE)
    embedder = BatchEmbedder(data_dir / "minilm", threads=threads)
    told, catalog = seen_wordings(esco), sample_catalog(esco)
    members = list(
        sample_members(told, catalog, n_members=n_members, seed=PAIRS_SEED_FROM + seed, without=unseen_concepts(esco))
    )
    # all entries are ranked, so that those beyond the retrieved ones have their similarity too
    judged = evaluation_members(esco, catalog, members, embedder, k=len(catalog))
    rows = (
        [_row(found, c) for c in _chosen(member, found, n=pairs_per_member, supported_share=supported_share)]
        for member, found in zip(members, judged, strict=True)
    )
    counts = {"members": n_members, "pairs": 0, "yes": 0, "no": 0, "unknown": 0}
    out_file.parent.mkdir(parents=True, exist_ok=True)
    _write(out_file, _counted(rows, counts))
    return counts


def _require_data(data_dir: Path) -> None:
    for needed in (data_dir / ESCO_FILE, data_dir / "minilm" / "model.safetensors"):
        if not needed.exists():
            raise MissingRequirementError(f"{needed} is missing: run `make setup`")


def _require_sense(out_file: Path, n_members: int, pairs_per_member: int, supported_share: float, seed: int) -> None:
    faults = [] if out_file.suffix in (".csv", ".parquet") else [f"{out_file.name} ends with neither .csv nor .parquet"]
    faults += [f"members is {n_members}: want at least 1"] if n_members < 1 else []
    faults += [] if 1 <= pairs_per_member <= K else [f"pairs_per_member is {pairs_per_member}: want 1 to {K}"]
    faults += [] if 0 <= supported_share <= 1 else [f"supported_share is {supported_share}: want 0 to 1"]
    faults += [f"seed is {seed}: want 0 or more"] if seed < 0 else []
    if faults:
        raise FaultsError("sample pairs", faults)


def _chosen(
    member: SampleMember, found: EvaluationMember, *, n: int, supported_share: float
) -> list[EvaluationCandidate]:
    """Draw a member's pairs: a few hard negatives, supported ones up to their share, and any retrieved."""
    rng = random.Random(f"semlabel pairs {member.member_id}")
    by_id = {c.qualification_id: c for c in found.candidates}
    nearly = [by_id[q] for q in dict.fromkeys(hard_negatives(rng, member.facts)) if q in by_id]
    hard = [c for c in nearly if c.answer == UNSUPPORTED][: round(HARD_SHARE * n)]
    retrieved = list(found.candidates[:K])
    supported = [c for c in retrieved if c.answer == SUPPORTED]
    first = rng.sample(supported, min(len(supported), round(supported_share * n), n - len(hard))) + hard
    taken = {c.qualification_id for c in first}
    return first + rng.sample([c for c in retrieved if c.qualification_id not in taken], n - len(first))


def _row(member: EvaluationMember, candidate: EvaluationCandidate) -> dict[str, Any]:
    return {
        "member_id": member.member_id,
        "profile_text": member.profile_text,
        "qualification_id": candidate.qualification_id,
        "qualification_text": candidate.text,
        "answer": WORD_OF.get(candidate.answer, candidate.answer),
        "category": candidate.category,
        "similarity": candidate.similarity,
    }


def _counted(rows: Iterable[list[dict[str, Any]]], counts: dict[str, int]) -> Iterator[list[dict[str, Any]]]:
    for own in rows:
        counts["pairs"] += len(own)
        for row in own:
            counts[row["answer"]] += 1
        yield own


def _write(path: Path, members: Iterator[list[dict[str, Any]]]) -> None:
    if path.suffix == ".csv":
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            for own in members:
                writer.writerows(own)
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {"similarity": pa.float64()}
    schema = pa.schema([(name, types.get(name, pa.string())) for name in COLUMNS])
    with pq.ParquetWriter(path, schema) as writer:
        while chunk := list(islice(members, MEMBERS_PER_CHUNK)):
            writer.write_table(pa.Table.from_pylist([row for own in chunk for row in own], schema=schema))


def main() -> None:
    """Parse the command line."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(".cache/data"), help="folder with the ESCO file and minilm/")
    parser.add_argument("--out", type=Path, required=True, help="a .csv or .parquet file")
    parser.add_argument("--members", type=int, default=400)
    parser.add_argument("--pairs-per-member", type=int, default=PAIRS_PER_MEMBER)
    parser.add_argument("--supported-share", type=float, default=0.0, help="of a member's pairs, at the least")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    counts = sample_pairs(
        args.data,
        args.out,
        n_members=args.members,
        pairs_per_member=args.pairs_per_member,
        supported_share=args.supported_share,
        seed=args.seed,
        threads=args.threads,
    )
    LOG.info(f"wrote {args.out}: {counts}")


if __name__ == "__main__":
    main()
