"""A Ray to run a stage on: the one that this process has, a cluster, or a private one that ends with the block.

A private Ray listens on loopback, asks for its own token, and starts as few processes as it can.
"""

import logging
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_OBJECT_STORE_BYTES = 256 * 2**20  # blocks of a local round are some MiB; Ray's default is 30% of the memory


@contextmanager
def ray_session(*, address: str = "", num_cpus: int = 2) -> Iterator[None]:
    """Connect to a Ray cluster, or start a private one; leave a Ray alone that this process is connected to already."""
    _quiet_env()
    import ray
    import ray.data

    # its console log repeats a failure's whole trace; the caller of the stage says what failed, in one line
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)
    ray.data.DataContext.get_current().enable_progress_bars = False
    if ray.is_initialized():
        yield
    elif address:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        yield from _until_done()
    else:
        folder = Path(tempfile.mkdtemp(prefix="slr-", dir="/tmp"))  # sockets below it must stay under 107 bytes
        try:
            _start_private(folder, num_cpus)
            yield from _until_done()
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _until_done() -> Iterator[None]:
    import ray

    try:
        yield
    finally:
        ray.shutdown()


def _start_private(folder: Path, num_cpus: int) -> None:
    import ray

    token = folder / "token"
    token.touch(mode=0o600)
    token.write_text(secrets.token_hex(32))
    # Ray turns token authentication on when it finds a token in the home folder: always name one of our own
    os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN_PATH=str(token))
    ray.init(
        num_cpus=num_cpus,
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
        object_store_memory=_OBJECT_STORE_BYTES,
        _node_ip_address="127.0.0.1",
        _temp_dir=str(folder),
    )


def _quiet_env() -> None:
    """Set what Ray reads from the environment at import: no reports home, no log of its C++ part on stderr."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
