"""Airflow reads its home when it is first imported: point it at a folder of this session before that."""

import os
import tempfile
from pathlib import Path

DAGS = Path(__file__).resolve().parents[2] / "dags"

os.environ["AIRFLOW_HOME"] = tempfile.mkdtemp(prefix="semlabel-airflow-")
os.environ["AIRFLOW__CORE__DAGS_FOLDER"] = str(DAGS)
os.environ["AIRFLOW__CORE__LOAD_EXAMPLES"] = "False"
os.environ["AIRFLOW__USAGE_DATA_COLLECTION__ENABLED"] = "False"
