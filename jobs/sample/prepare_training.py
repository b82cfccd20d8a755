"""Compute what training needs and a GPU machine cannot: the neighbours of every profile phrase.

    python -m jobs.sample.prepare_training --data .cache/data --out var/esco-small

About 90,000 short texts: some 5 minutes on one core. Writes `neighbours.npz` and a copy of the ESCO file.
"""

import argparse
import logging
import shutil
from pathlib import Path

from jobs.sample.catalog import sample_catalog
from jobs.sample.esco import ESCO_FILE, read_esco
from jobs.sample.neighbours import (
    BatchEmbedder,
    embed_catalog,
    find_neighbours,
    profile_phrases,
    save_neighbours,
)
from jobs.sample.unseen import wide_catalog

LOG = logging.getLogger(__name__)


def prepare_training(data_dir: Path, out_dir: Path, *, threads: int) -> None:
    """Write the training inputs to `out_dir`."""
    out_dir.mkdir(parents=True, exist_ok=True)
    shutil.copy(data_dir / ESCO_FILE, out_dir / ESCO_FILE)
    esco = read_esco(out_dir / ESCO_FILE)
    embedder = BatchEmbedder(data_dir / "minilm", threads=threads)
    phrases = profile_phrases(esco)
    LOG.info(f"embedding {len(phrases)} phrases")
    vectors = embedder.embed(phrases)
    catalogs = {"default": sample_catalog(esco), "wide": wide_catalog(esco)}
    tables = {n: find_neighbours(phrases, vectors, embed_catalog(embedder, c)) for n, c in catalogs.items()}
    save_neighbours(out_dir / "neighbours.npz", tables)


def main() -> None:
    """Parse the command line."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with the ESCO file and minilm/")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    prepare_training(args.data, args.out, threads=args.threads)


if __name__ == "__main__":
    main()
