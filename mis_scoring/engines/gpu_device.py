"""The GPU of an engine: its name, who may start on it next, and CUDA's Multi-Process Service."""

import fcntl
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from mis_scoring.core.errors import MissingRequirementError

_CONTROL = "nvidia-cuda-mps-control"


def visible_device() -> str:
    """Return the first GPU that this process may use, by number or UUID; Ray sets it for an actor with `num_gpus`.

    Raises:
        MissingRequirementError: it may use none.
    """
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None and not visible.strip():
        raise MissingRequirementError(
            "the engine has no GPU: CUDA_VISIBLE_DEVICES is empty, as Ray leaves it for an actor without GPUs; "
            "set gpus_per_engine to 1, or to 0.5 for two engines a GPU"
        )
    return (visible or "0").split(",")[0].strip()


def describe(device: str) -> Mapping[str, str]:
    """Return `device` and `driver`, as the driver names them; `unknown` where there is none."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader", "-i", device]
    try:
        line = subprocess.run(query, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()[0]
    except (OSError, subprocess.SubprocessError, IndexError):
        return {"device": "unknown", "driver": "unknown"}
    name, _, driver = line.partition(",")
    return {"device": name.strip(), "driver": driver.strip()}


@contextmanager
def starts_alone(device: str) -> Iterator[None]:
    """Wait until no other engine starts on the GPU: two that measure its free memory at once both count on all of it.

    The system gives the lock of a process that dies to the next one.
    """
    with (Path(tempfile.gettempdir()) / f"semlabel-gpu-{device}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def mps_environment() -> Mapping[str, str]:
    """Start this machine's MPS unless it runs, and return what an engine needs in its environment to join it.

    One daemon serves all GPUs of the machine and outlives the engines: who starts one again finds it. Without clients
    it holds no memory of a GPU; `echo quit | nvidia-cuda-mps-control` with the same two variables ends it.

    Raises:
        MissingRequirementError: there is no MPS, or it does not start.
    """
    folder = Path(tempfile.gettempdir()) / f"semlabel-mps-{os.getuid()}"
    env = {"CUDA_MPS_PIPE_DIRECTORY": str(folder / "pipe"), "CUDA_MPS_LOG_DIRECTORY": str(folder / "log")}
    for path in env.values():
        Path(path).mkdir(parents=True, exist_ok=True)
    everything = {name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"} | env
    try:
        if not _mps_answers(everything):
            subprocess.run([_CONTROL, "-d"], env=everything, check=True, timeout=60)
        if not _mps_answers(everything):
            raise MissingRequirementError(f"MPS did not start: see {folder / 'log'}, or set mps to false")
    except (OSError, subprocess.SubprocessError) as error:
        raise MissingRequirementError(f"{_CONTROL} cannot be used ({error}): set mps to false") from error
    return env


def _mps_answers(env: Mapping[str, str]) -> bool:
    asked = subprocess.run(
        [_CONTROL], input="get_server_list\n", env=env, capture_output=True, text=True, timeout=60, check=False
    )
    return asked.returncode == 0
