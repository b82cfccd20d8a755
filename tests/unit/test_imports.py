"""What an import loads: the core knows nothing heavier than numpy, and no engine is loaded by its name."""

import pkgutil
import subprocess
import sys

import pytest

import mis_scoring.core

HEAVY = ("torch", "transformers", "tokenizers", "ray", "pyspark", "mlflow", "sglang", "airflow", "deltalake", "pandas")
CORE = [f"mis_scoring.core.{module.name}" for module in pkgutil.iter_modules(mis_scoring.core.__path__)]


def loaded_by(*modules: str) -> set[str]:
    """Return which heavy packages a fresh process has after importing modules."""
    program = f"import sys, {', '.join(modules)}; print(*(m for m in {HEAVY!r} if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    return set(done.stdout.split())


def test_the_core_loads_nothing_heavy() -> None:
    assert len(CORE) >= 10
    assert loaded_by(*CORE) == set()


def test_engines_load_torch_only_when_one_is_constructed() -> None:
    names = (
        "architecture",
        "canary",
        "cascade",
        "cascade_layout",
        "dense",
        "reference",
        "registry",
        "single",
        "weights",
    )
    assert loaded_by(*(f"mis_scoring.engines.{name}" for name in names)) == set()


def test_the_check_sees_what_it_looks_for() -> None:
    assert loaded_by("tokenizers") == {"tokenizers"}


@pytest.mark.parametrize("module", ["mis_scoring.bench"])
def test_the_bench_starts_without_torch(module: str) -> None:
    assert loaded_by(module) == set()
