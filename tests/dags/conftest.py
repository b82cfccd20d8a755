"""Airflow reads its home when it is first imported: point it at a folder of this session before that."""

import os
import tempfile
from pathlib import Path

import pytest

DAGS = Path(__file__).resolve().parents[2] / "dags"

os.environ["AIRFLOW_HOME"] = tempfile.mkdtemp(prefix="semlabel-airflow-")
os.environ["AIRFLOW__CORE__DAGS_FOLDER"] = str(DAGS)
os.environ["AIRFLOW__CORE__PLUGINS_FOLDER"] = str(DAGS / "plugins")
os.environ["AIRFLOW__CORE__LOAD_EXAMPLES"] = "False"
os.environ["AIRFLOW__USAGE_DATA_COLLECTION__ENABLED"] = "False"


@pytest.fixture(scope="session")
def database() -> None:
    """Airflow's database, made once."""
    from airflow.utils.db import initdb

    initdb()
