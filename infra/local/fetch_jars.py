"""Fetch Delta's jars once, through Spark's own Ivy, and keep the seven that pyspark does not ship.

Ivy also brings hadoop-client, parquet and others, older than pyspark's: they must not reach the class path.
Run by `make setup`: python infra/local/fetch_jars.py DESTINATION
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CHECKSUMS = Path(__file__).with_name("jars.sha256")
COORDINATE = "io.delta:delta-spark_4.2_2.13:4.4.0"
RESOLVE = """
import sys
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
builder.config("spark.jars.ivy", sys.argv[1]).config("spark.jars.packages", sys.argv[2]).getOrCreate().stop()
"""


def expected_jars() -> dict[str, str]:
    """File name -> SHA-256 of each jar that a session needs."""
    lines = (line.split() for line in CHECKSUMS.read_text().splitlines() if line.strip())
    return {name: checksum for checksum, name in lines}


def is_complete(folder: Path) -> bool:
    """Whether every jar is there with its checksum."""
    return all(_sha256(folder / name) == checksum for name, checksum in expected_jars().items())


def fetch(folder: Path) -> None:
    """Resolve with Ivy into a temporary cache, then copy the wanted jars to `folder`.

    Ivy also asks a second repository, which may not answer, and reports at length: shown only where it fails.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as cache:
        env = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1"}
        command = [sys.executable, "-c", RESOLVE, cache, COORDINATE]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"Ivy could not resolve {COORDINATE}:\n{done.stdout}\n{done.stderr}")
        for name in expected_jars():
            shutil.copy(Path(cache, "jars", name), folder / name)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""


if __name__ == "__main__":
    destination = Path(sys.argv[1])
    if not is_complete(destination):
        fetch(destination)
    if not is_complete(destination):
        sys.exit(f"The jars in {destination} do not match {CHECKSUMS}: remove the folder and run `make setup` again.")
