"""One private Ray for all tests of this folder, and a small round to score."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jobs.settings import Settings
from mis_scoring.ray_data.session import ray_session
from tests.ray.round_tables import pin_run


@pytest.fixture(scope="package")
def local_ray() -> Iterator[str]:
    """Yields its address."""
    with ray_session(num_cpus=2) as address:
        yield address


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "var", _env_file=None)


@pytest.fixture
def pinned(settings: Settings, tmp_path: Path) -> Callable[[str], Path]:
    """Pin a run to a fake engine; returns the folder of its round 0."""
    return lambda engine: pin_run(settings, tmp_path / "artifact", engine=engine)
