"""A Ray to run a stage on: the one that this process has, a cluster, or a private one that ends with the block.

A private Ray asks for a token of its own and listens on loopback only. Ray 2.60 turns a 127.0.0.1 that it is given into
the node's own address, and then listens on all interfaces; what it takes for the node's own is decided by a variable
that is named after the systems where it is off (`_LOOPBACK`). Seen by its sockets: GCS, raylet, workers and dashboard.
"""

import logging
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from tenacity import retry, retry_if_exception_type, stop_after_attempt

from mis_scoring.core.errors import EngineError
from mis_scoring.engines import WAIT_POLICY

_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
_OBJECT_STORE_BYTES = 256 * 2**20  # blocks of a local round are some MiB; Ray's default is 30% of the memory


@contextmanager
def ray_session(*, address: str = "", num_cpus: int = 2, dashboard_port: int | None = None) -> Iterator[str]:
    """Connect to a Ray cluster, or start a private one; leave a Ray alone that this process is connected to already.

    Yields the address. Child processes can connect there while the block lasts: they inherit the token.

    Args:
        dashboard_port: of a private Ray that is to have a dashboard, and with it the Jobs API.
    """
    _quiet_env()
    import ray
    import ray.data

    # its console log repeats a failure's whole trace; the caller of the stage says what failed, in one line
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)
    ray.data.DataContext.get_current().enable_progress_bars = False
    if ray.is_initialized():
        yield _address()
    elif address:
        if address.startswith(("127.", "localhost:")):
            _set_env(_LOOPBACK)  # a driver must take for its node's address what the node does
        # left open: the next round of this process finds its worker processes warm
        _init(address=address, runtime_env={"env_vars": {"OMP_WAIT_POLICY": WAIT_POLICY}})
        yield address
    else:
        folder = _private_folder()
        try:
            _start_private(folder, num_cpus, dashboard_port)
            yield _address()
        finally:
            ray.shutdown()
            shutil.rmtree(folder, ignore_errors=True)


def _private_folder() -> Path:
    """Make the folder of a private Ray, with its token, and tell Ray of it."""
    folder = Path(tempfile.mkdtemp(prefix="slr-", dir="/tmp"))  # sockets below it must stay under 107 bytes
    token = folder / "token"
    token.touch(mode=0o600)
    token.write_text(_token())
    # Ray turns token authentication on when it finds a token in the home folder: always name one of our own
    _set_env({"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token)} | _LOOPBACK)
    return folder


def _set_env(variables: dict[str, str]) -> None:
    """Set what Ray reads from the environment when it is imported, and have it read that again, as Ray itself does."""
    from ray._private import ray_constants
    from ray._raylet import Config  # type: ignore[attr-defined]  # compiled

    os.environ.update(variables)
    ray_constants.ENABLE_RAY_CLUSTER = False
    Config.initialize("")


@cache
def _token() -> str:
    """One token for all private Rays of this process: Ray's client reads it once."""
    return secrets.token_hex(32)


def _address() -> str:
    import ray

    return str(ray.get_runtime_context().gcs_address)


def _start_private(folder: Path, num_cpus: int, dashboard_port: int | None) -> None:
    _init(
        num_cpus=num_cpus,
        include_dashboard=dashboard_port is not None,
        dashboard_port=dashboard_port,
        object_store_memory=_OBJECT_STORE_BYTES,
        _temp_dir=str(folder),
    )


@retry(retry=retry_if_exception_type(EngineError), stop=stop_after_attempt(3), reraise=True)
def _init(**settings: Any) -> None:
    """Start or join a Ray, up to three times.

    Raises:
        EngineError: it did not answer in time (30 s for a node of its own, too short on a busy machine): a retry may
            help. Ray says so with a bare `Exception`.
    """
    import ray

    try:
        ray.init(log_to_driver=False, logging_level=logging.ERROR, **settings)
    except Exception as error:
        ray.shutdown()
        raise EngineError(f"Ray did not start: {error}") from error


def _quiet_env() -> None:
    """Set what Ray and its workers read from the environment when they start: no reports home, threads that sleep.

    The wait policy has to be inherited: set by an actor itself it does nothing, and the same 62 rows took 15 to 27 s of
    CPU instead of 0.8.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
    os.environ.setdefault("OMP_WAIT_POLICY", WAIT_POLICY)
