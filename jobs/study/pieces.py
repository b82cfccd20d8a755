"""Cut a file into pieces that fit one trip to a GPU machine, and join them there.

    python -m jobs.study.pieces cut MODEL.gguf .carry/base --mebibytes 48
    python -m jobs.study.pieces join .carry/base-1 .carry/base-2 --out MODEL.gguf

Each piece gets a folder of its own (`.carry/base-1`, ...) with a note of its place and of the whole file's SHA-256.
"""

import argparse
import json
import logging
from collections.abc import Sequence
from pathlib import Path

from mis_scoring.core.errors import DataError
from mis_scoring.core.identity import file_digest

LOG = logging.getLogger(__name__)
PIECE_FILE, NOTE_FILE = "piece.bin", "piece.json"


def cut(path: Path, folder: Path, *, piece_bytes: int) -> list[Path]:
    """Write `folder-1`, `folder-2`, ... and return them."""
    size, whole = path.stat().st_size, file_digest(path)
    n_pieces = -(-size // piece_bytes)
    folders = []
    with path.open("rb") as file:
        for number in range(1, n_pieces + 1):
            piece = folder.with_name(f"{folder.name}-{number}")
            piece.mkdir(parents=True, exist_ok=True)
            (piece / PIECE_FILE).write_bytes(file.read(piece_bytes))
            note = {"number": number, "n_pieces": n_pieces, "sha256": whole}
            (piece / NOTE_FILE).write_text(json.dumps(note) + "\n", encoding="utf-8")
            folders.append(piece)
    return folders


def join(folders: Sequence[Path], out: Path) -> None:
    """Write the whole file.

    Raises:
        DataError: a piece is missing, is of another file, or the whole is not what was cut.
    """
    notes = {json.loads((f / NOTE_FILE).read_text(encoding="utf-8"))["number"]: f for f in folders}
    contents = [json.loads((f / NOTE_FILE).read_text(encoding="utf-8")) for f in folders]
    n_pieces = contents[0]["n_pieces"]
    if len({(c["n_pieces"], c["sha256"]) for c in contents}) > 1:
        raise DataError(f"{', '.join(map(str, folders))} are pieces of different files")
    if missing := sorted(set(range(1, n_pieces + 1)) - set(notes)):
        raise DataError(f"pieces {missing} of {n_pieces} are missing: give all of them")
    with out.open("wb") as file:
        for number in range(1, n_pieces + 1):
            file.write((notes[number] / PIECE_FILE).read_bytes())
    if file_digest(out) != contents[0]["sha256"]:
        out.unlink()
        raise DataError(f"the joined file is not the one that was cut (SHA-256 {contents[0]['sha256']}): cut it again")


def main() -> None:
    """Parse the command line."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    cutting = commands.add_parser("cut")
    cutting.add_argument("file", type=Path)
    cutting.add_argument("folder", type=Path)
    cutting.add_argument("--mebibytes", type=int, default=48)
    joining = commands.add_parser("join")
    joining.add_argument("folders", type=Path, nargs="+")
    joining.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    if args.command == "cut":
        LOG.info(" ".join(map(str, cut(args.file, args.folder, piece_bytes=args.mebibytes * 2**20))))
    else:
        join(args.folders, args.out)


if __name__ == "__main__":
    main()
