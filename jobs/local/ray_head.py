"""A deployment's Ray head: one for all rounds, so that a run's engines stay warm; on loopback, with a token.

Run as a service, by `python -m jobs.local.ray_head`. Its folder holds objects made of profiles and ends with it.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import FrameType

from jobs.settings import Settings

_OBJECT_STORE_BYTES = 256 * 2**20  # blocks of a local round are some MiB; Ray's default is 30% of the memory


def ray_env(token: Path) -> dict[str, str]:
    """Return what head and drivers share, see `mis_scoring.ray_data.session`."""
    return {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(token),
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "RAY_USAGE_STATS_ENABLED": "0",
    }


def serve(settings: Settings) -> int:
    """Run the head until it is ended; return its exit code."""
    folder = Path(tempfile.mkdtemp(prefix="slr-", dir="/tmp"))  # sockets below it must stay under 107 bytes
    head = subprocess.Popen(_command(settings, folder))

    def end(_signal: int, _frame: FrameType | None) -> None:
        head.terminate()

    signal.signal(signal.SIGTERM, end)
    try:
        return head.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _command(settings: Settings, folder: Path) -> list[str]:
    options = {
        "port": settings.ray_port,
        "node-ip-address": "127.0.0.1",
        "num-cpus": max(2, os.cpu_count() or 2),  # a stage on one CPU would wait for a second for ever
        "object-store-memory": _OBJECT_STORE_BYTES,
        "temp-dir": folder,
        "include-dashboard": "false",
        "dashboard-agent-listen-port": 0,
        "min-worker-port": 0,
        "max-worker-port": 0,
    }
    ray = str(Path(sys.executable).parent / "ray")
    return [ray, "start", "--head", "--block", *(f"--{name}={value}" for name, value in options.items())]


if __name__ == "__main__":
    os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
    sys.exit(serve(Settings()))
