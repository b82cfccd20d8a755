import pytest

from tests.dag_runs import make_database


@pytest.fixture(scope="session")
def database() -> None:
    """Airflow's database, made once."""
    make_database()
