"""Importing a light part loads no heavy library: a scheduler, a bare environment and the command line start fast."""

import pkgutil
import subprocess
import sys

import pytest

import mis_scoring.core

HEAVY = ("airflow", "mlflow", "pyspark", "ray", "sglang", "tokenizers", "torch", "transformers")
CORE = [f"mis_scoring.core.{module.name}" for module in pkgutil.iter_modules(mis_scoring.core.__path__)]


def _loaded_by(*modules: str, among: tuple[str, ...] = HEAVY) -> list[str]:
    """Import modules in a fresh interpreter and say which heavy libraries came with them."""
    code = f"import sys, {', '.join(modules)}; print(*(name for name in {among!r} if name in sys.modules))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    return ended.stdout.split()


def test_the_core_loads_numpy_alone() -> None:
    assert len(CORE) > 8
    assert _loaded_by(*CORE, among=(*HEAVY, "pyarrow", "pandas", "deltalake", "pydantic")) == []


@pytest.mark.parametrize(
    "module",
    [
        "mis_scoring.engines.registry",
        "mis_scoring.engines.cascade",
        "mis_scoring.engines.dense",
        "mis_scoring.engines.single",
        "mis_scoring.engines.reference",
        "mis_scoring.engines.canary",
        "mis_scoring.engines.prefill.engine",
        "mis_scoring.bench.cpu",
        "mis_scoring.ray_data.staging",
        "mis_scoring.serving.client",
        "mis_scoring.serving.server",
    ],
)
def test_naming_an_engine_loads_none(module: str) -> None:
    assert _loaded_by(module) == []


def test_score_round_loads_what_the_engine_environment_has() -> None:
    assert _loaded_by("jobs.score_round", among=("airflow", "mlflow", "pyspark", "torch", "transformers")) == []


def test_a_heavy_import_is_noticed() -> None:
    assert _loaded_by("tokenizers") == ["tokenizers"]
