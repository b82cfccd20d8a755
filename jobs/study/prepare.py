"""Write the study's inputs, small enough to travel to a GPU machine.

    python -m jobs.study.prepare --data var/esco-small --out .carry/study

Needs what `jobs.sample.prepare_training` and `jobs.sample.prepare_evaluation` wrote to `--data`. Writes
`training.jsonl.gz` (members of the training seeds, drawn as the bundled labeler's are, 40 candidates each) and the
first members of each evaluation file: `validation`, `test`, `unseen_concepts`.
"""

import argparse
import itertools
import logging
import random
from collections.abc import Iterator
from pathlib import Path

from jobs.sample.catalog import sample_catalog
from jobs.sample.draw import Pool
from jobs.sample.esco import ESCO_FILE, read_esco
from jobs.sample.neighbours import load_neighbours, profile_phrases
from jobs.sample.seeds import TRAINING_SEED_FROM
from jobs.sample.training_batches import WIDE_SHARE
from jobs.sample.training_pairs import PairSource
from jobs.sample.unseen import seen_wordings, unseen_concepts, wide_catalog
from jobs.study.members_file import TrainingMember, write_members
from mis_scoring.evaluation.members import read_members as read_evaluation
from mis_scoring.evaluation.members import write_members as write_evaluation

LOG = logging.getLogger(__name__)
CANDIDATES_PER_MEMBER = 40  # two lists of packed generation
STUDY_SEED = TRAINING_SEED_FROM + 900_000  # of no training run so far
EVALUATION_MEMBERS = {"validation": 50, "test": 150, "unseen_concepts": 100}


def training_members(data_dir: Path, *, seed: int) -> Iterator[TrainingMember]:
    """Yield training members without end."""
    esco = read_esco(data_dir / ESCO_FILE)
    phrases, kept_out, told = profile_phrases(esco), unseen_concepts(esco), seen_wordings(esco)
    sources = [
        PairSource(
            esco,
            catalog,
            Pool.of(told, catalog, without=kept_out),
            load_neighbours(data_dir / "neighbours.npz", phrases, name),
            n_items=CANDIDATES_PER_MEMBER,
        )
        for name, catalog in (("default", sample_catalog(esco)), ("wide", wide_catalog(esco)))
    ]
    rng = random.Random(seed)
    for index in itertools.count():
        source = sources[int(rng.random() < WIDE_SHARE)]
        pairs = source.draw(seed=seed, index=index, is_short=False)
        yield TrainingMember(
            profile_text=pairs.member.profile_text,
            qualifications=[source.catalog[place].text for place in pairs.places],
            answers=pairs.answers,
        )


def _with_pairs(members: Iterator[TrainingMember], n_pairs: int) -> Iterator[TrainingMember]:
    n = 0
    while n < n_pairs:
        member = next(members)
        n += len(member.answers)
        yield member


def prepare(data_dir: Path, out_dir: Path, *, n_pairs: int) -> None:
    """Write the four files."""
    out_dir.mkdir(parents=True, exist_ok=True)
    write_members(out_dir / "training.jsonl.gz", _with_pairs(training_members(data_dir, seed=STUDY_SEED), n_pairs))
    for name, n_members in EVALUATION_MEMBERS.items():
        members = read_evaluation(data_dir / "splits" / f"{name}.jsonl.gz")[:n_members]
        write_evaluation(out_dir / f"{name}.jsonl.gz", members)
    sizes = {path.name: path.stat().st_size for path in sorted(out_dir.glob("*.gz"))}
    LOG.info(f"wrote {sizes}, {sum(sizes.values()) / 2**20:.1f} MiB in all")


def main() -> None:
    """Parse the command line."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=262_144, help="labelled pairs of training members")
    args = parser.parse_args()
    prepare(args.data, args.out, n_pairs=args.pairs)


if __name__ == "__main__":
    main()
