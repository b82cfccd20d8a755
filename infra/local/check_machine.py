"""Refuse to set up a machine that lacks Python 3.11 or 3.12, Java 17, or the disk; says all faults at once.

Runs before anything is installed, so it uses the standard library only: `make setup` calls it.
"""

import re
import shutil
import subprocess
import sys

NEEDED_GB = 10


def faults() -> list[str]:
    """Return one sentence a fault."""
    found = []
    if not (3, 11) <= sys.version_info[:2] < (3, 13):
        found.append(f"Python {sys.version.split()[0]}: 3.11 or 3.12 is needed; `make PYTHON=python3.12 ...` names one")
    java = shutil.which("java")
    version = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr if java else ""
    major = re.search(r'version "(\d+)', version)
    if major is None or int(major.group(1)) < 17:
        found.append("Java 17 or 21 is needed (Debian: openjdk-17-jre-headless)")
    free_gb = shutil.disk_usage(".").free / 1e9
    if free_gb < NEEDED_GB:
        found.append(f"{free_gb:.0f} GB of disk are free, {NEEDED_GB} GB are needed")
    return found


if __name__ == "__main__":
    if listed := faults():
        sys.exit("This machine can't be set up:\n" + "\n".join(f"  - {fault}" for fault in listed))
