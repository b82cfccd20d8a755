"""Look at everything that a run needs, and say of each what is wrong and how to mend it."""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from jobs.labeler.registry import has_labeler
from jobs.settings import Settings
from jobs.spark_session import delta_jars
from jobs.table_path import table_exists
from jobs.write_sample import ESCO_CSV
from mis_scoring.core.errors import SemlabelError
from schemas.catalog import CATALOG
from schemas.profiles import PROFILES

_NEEDED_GB = 2
_VERSIONS = {"pyspark": "4.2.", "delta-spark": "4.4.0", "ray": "2.60.", "apache-airflow": "3.3.", "mlflow": "3.17."}


@dataclass(frozen=True, kw_only=True)
class Check:
    """One thing looked at; `message` says what was found, or what to do.

    Attributes:
        is_optional: a run works without it, after the command that `message` names.
    """

    name: str
    is_ok: bool
    message: str
    is_optional: bool = False

    def as_dict(self) -> dict[str, object]:
        """Return the check with stable keys."""
        return asdict(self)


def examine(settings: Settings) -> list[Check]:
    """Run every check; none stops the others."""
    looks: list[Callable[[Settings], Check]] = [
        _python,
        _java,
        _jars,
        _data,
        _versions,
        _disk,
        *(lambda s, name=name: _writable(name, getattr(s, name)) for name in ("tables", "staging", "reports")),
        _tables,
        _labeler,
    ]
    return [look(settings) for look in looks]


def _python(_: Settings) -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    is_ok = (3, 11) <= sys.version_info[:2] < (3, 13)
    return Check(name="python", is_ok=is_ok, message=version if is_ok else f"{version}; Python 3.11 or 3.12 is needed")


def _java(_: Settings) -> Check:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None or not Path(java).exists():
        return Check(name="java", is_ok=False, message="no Java found: install Java 17 or 21, or set JAVA_HOME")
    output = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(\d+)', output)
    is_ok = found is not None and int(found.group(1)) >= 17
    first_line = next(iter(output.splitlines()), "no version")
    return Check(name="java", is_ok=is_ok, message=first_line if is_ok else f"{first_line}; Java 17 or 21 is needed")


def _jars(settings: Settings) -> Check:
    try:
        return Check(name="delta jars", is_ok=True, message=f"{len(delta_jars(settings))} in {settings.jars_dir}")
    except SemlabelError as error:
        return Check(name="delta jars", is_ok=False, message=str(error))


def _data(settings: Settings) -> Check:
    wanted = (settings.data_dir / ESCO_CSV, settings.minilm_dir / "model.safetensors")
    missing = [str(path) for path in wanted if not path.exists()]
    message = f"missing: {', '.join(missing)}; run `make setup`" if missing else str(settings.data_dir)
    return Check(name="data files", is_ok=not missing, message=message)


def _versions(_: Settings) -> Check:
    found = {name: importlib.metadata.version(name) for name in _VERSIONS}
    wrong = [
        f"{name} {found[name]} (expected {want}*)"
        for name, want in _VERSIONS.items()
        if not found[name].startswith(want)
    ]
    message = f"{', '.join(wrong)}; run `make setup`" if wrong else ", ".join(f"{n} {v}" for n, v in found.items())
    return Check(name="versions", is_ok=not wrong, message=message)


def _disk(settings: Settings) -> Check:
    folder = next(path for path in (settings.home.resolve(), *settings.home.resolve().parents) if path.exists())
    free_gb = shutil.disk_usage(folder).free / 1e9
    is_ok = free_gb >= _NEEDED_GB
    message = f"{free_gb:.0f} GB free" + ("" if is_ok else f"; at least {_NEEDED_GB} GB are needed under {folder}")
    return Check(name="disk", is_ok=is_ok, message=message)


def _writable(name: str, folder: Path) -> Check:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            Path(scratch, "a").touch()
            Path(scratch, "a").rename(Path(scratch, "b"))
    except OSError as error:
        setting = {"tables": "TABLE_ROOT", "staging": "STAGING_ROOT", "reports": "HOME"}[name]
        return Check(name=name, is_ok=False, message=f"cannot write {folder} ({error}); set SEMLABEL_{setting}")
    return Check(name=name, is_ok=True, message=str(folder))


def _tables(settings: Settings) -> Check:
    missing = [table.name for table in (PROFILES, CATALOG) if not table_exists(settings.tables, table)]
    message = f"no {', '.join(missing)} yet: `semlabel sample` or `semlabel load`" if missing else "profiles, catalog"
    return Check(name="input tables", is_ok=not missing, message=message, is_optional=True)


def _labeler(settings: Settings) -> Check:
    is_ok = has_labeler(settings)
    name = f"{settings.labeler_name}@{settings.labeler_alias}"
    return Check(
        name="labeler",
        is_ok=is_ok,
        message=name if is_ok else f"no {name} yet: `semlabel labeler register labelers/esco-small --alias champion`",
        is_optional=True,
    )
