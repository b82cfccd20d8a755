"""One Ray with a dashboard for all tests of this folder, and a small round to score."""

import os
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from jobs.settings import Settings
from mis_scoring.ray_data.session import ray_session
from tests.dags import conftest as _airflow_home  # noqa: F401  set before a test imports Airflow
from tests.ray.fake_engines import Steering
from tests.ray.round_tables import pin_run


@dataclass(frozen=True, kw_only=True)
class Head:
    """A Ray: `address` is for drivers, `jobs_port` for the Jobs API, which asks for the token."""

    address: str
    jobs_port: int
    token: str


@pytest.fixture(scope="package")
def ray_head() -> Iterator[Head]:
    """This process is connected to it; a child can be too, by its address."""
    port = _free_port()
    with ray_session(num_cpus=2, dashboard_port=port) as address:
        yield Head(address=address, jobs_port=port, token=Path(os.environ["RAY_AUTH_TOKEN_PATH"]).read_text())


@pytest.fixture(scope="package")
def local_ray(ray_head: Head) -> str:
    """The address of a Ray that this process is connected to."""
    return ray_head.address


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Of a deployment without a cluster: a stage owns its engines."""
    return Settings(home=tmp_path / "var", _env_file=None)


@pytest.fixture
def warm(settings: Settings, local_ray: str) -> Settings:
    """The same deployment on a Ray that outlives its drivers: engines stay warm."""
    return settings.model_copy(update={"ray_address": local_ray})


@pytest.fixture
def pinned(settings: Settings, tmp_path: Path) -> Callable[[str], Path]:
    """Pin a run to a fake engine; returns the folder of its round 0."""
    return lambda engine: pin_run(settings, tmp_path / "artifact", engine=engine)


@pytest.fixture
def steering(tmp_path: Path) -> Steering:
    """Orders to the steered engines of this test, and what they note."""
    return Steering(tmp_path / "artifact")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
