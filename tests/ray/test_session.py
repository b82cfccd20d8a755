"""A Ray that does not start is an error that a retry may help, by its exit code too."""

import os
from pathlib import Path

import pytest

from jobs.exit_codes import exit_code_of
from mis_scoring.core.errors import EngineError
from mis_scoring.ray_data.session import ray_session

pytestmark = pytest.mark.usefixtures("local_ray")  # Ray reads its token's mode once a process: start the real one first


@pytest.mark.parametrize("settings", [{}, {"address": "127.0.0.1:1"}])
def test_a_ray_that_does_not_start_is_an_engine_error(
    settings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import ray

    def time_out(**_: object) -> None:
        raise Exception("The current node timed out during startup.")  # what Ray raises, to the type

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "shutdown", lambda: None)  # the tests' own Ray lives on
    monkeypatch.setattr(ray, "init", time_out)
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.setenv(name, os.environ[name])  # put back what the session sets
    with pytest.raises(EngineError, match=r"Ray did not start: .*timed out") as caught, ray_session(**settings):
        pytest.fail("there is no Ray to use")
    assert exit_code_of(caught.value) == 5


def test_a_private_ray_listens_on_loopback_only(local_ray: str) -> None:
    import psutil

    assert local_ray.startswith("127.0.0.1:")
    processes = [child for child in psutil.Process().children(recursive=True) if "slr-" in " ".join(child.cmdline())]
    listening = {
        socket.laddr.ip
        for process in processes
        for socket in process.net_connections("tcp")
        if socket.status == psutil.CONN_LISTEN
    }
    assert listening and listening <= {"127.0.0.1", "::ffff:127.0.0.1"}


def test_the_threads_of_an_actor_sleep_while_they_wait() -> None:
    """What a worker process was started with counts: its torch does not see what is set later."""
    import ray

    @ray.remote(num_cpus=0)
    def started_with() -> bool:
        return b"OMP_WAIT_POLICY=PASSIVE" in Path("/proc/self/environ").read_bytes()

    assert ray.get(started_with.remote())
