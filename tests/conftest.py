"""Two groups of tests that run side by side on two cores, each with its own Spark or Ray: `pytest -n 2`."""

from pathlib import Path

import pytest

FOLDERS = Path(__file__).parent
GROUP_OF = {"dags": "airflow and ray", "e2e": "airflow and ray", "ray": "airflow and ray"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep a folder in one process: its session of Spark or Ray is made once."""
    for item in items:
        folder = item.path.relative_to(FOLDERS).parts[0]
        item.add_marker(pytest.mark.xdist_group(GROUP_OF.get(folder, "spark and unit")))
