"""One private Ray for all tests of this folder, and a small round to score."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jobs.settings import Settings
from mis_scoring.ray_data.session import ray_session
from tests.ray.round_tables import write_artifact, write_pins


@pytest.fixture(scope="session")
def local_ray() -> Iterator[None]:
    with ray_session(num_cpus=2):
        yield


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "var", _env_file=None)


@pytest.fixture
def pinned(settings: Settings, tmp_path: Path) -> Callable[..., Path]:
    """Pin a run to a fake engine; returns the folder of its round 0."""
    from mis_scoring.ray_data.staging import scores_folder

    def pin(engine: str = "plain", *, tie_eps: float = 0.0) -> Path:
        artifact = write_artifact(tmp_path / "artifact", tie_eps=tie_eps)
        pins = write_pins(settings, artifact, tmp_path / "artifact", engine=engine)
        return scores_folder(settings.staging, pins.run_id, 0, pins.scorer_id)

    return pin
