"""A Spark Connect server for the jobs of one run or of a deployment, bound to loopback and closed with a token.

A job's own driver takes 6 to 10 s to start; as a client of a warm server it starts in under 2 s, and a run has some 15
jobs. Where `spark_connect_url` is set, a server is there already and none is started.
"""

import os
import secrets
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pyspark
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from jobs.errors import MissingRequirementError
from jobs.settings import Settings
from jobs.spark_session import server_conf, server_env

_CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"
_START_TIMEOUT_S = 120
_TOKEN = "SPARK_CONNECT_AUTHENTICATE_TOKEN"


@dataclass(frozen=True, kw_only=True)
class ConnectServer:
    """A server that was started, or one that was there.

    Attributes:
        url: with its token.
        process: None where the server is not ours.
    """

    url: str
    process: "subprocess.Popen[bytes] | None"
    port: int
    log: Path

    @property
    def is_own(self) -> bool:
        """Whether it was started here."""
        return self.process is not None

    def wait_until_listening(self) -> None:
        """Return when clients can connect.

        Raises:
            MissingRequirementError: the server did not start; its log is named.
        """
        if self.process is not None:
            _wait_until_listening(self.process, self.port, self.log)


@contextmanager
def connect_server(settings: Settings) -> Iterator[ConnectServer]:
    """Start a Connect server unless there is one, yield at once (it starts in some 8 s), and end it afterwards."""
    log = settings.home / "logs" / "spark-connect.log"
    if settings.spark_connect_url:
        yield ConnectServer(url=settings.spark_connect_url, process=None, port=0, log=log)
        return
    port, token = _free_port(), secrets.token_urlsafe(24)
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as output:
        process = subprocess.Popen(
            _command(settings, port),
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=os.environ | {_TOKEN: token} | server_env(settings),
        )
    try:
        yield ConnectServer(url=f"sc://localhost:{port}/;token={token}", process=process, port=port, log=log)
    finally:
        _end(process)


def _command(settings: Settings, port: int) -> list[str]:
    conf = server_conf(settings) | {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
    }
    options = [part for key, value in conf.items() for part in ("--conf", f"{key}={value}")]
    submit = str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
    return [
        submit,
        "--master",
        settings.spark_master,
        "--name",
        "semlabel",
        *options,
        "--class",
        _CLASS,
        "spark-internal",
    ]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_listening(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    attempts = Retrying(
        retry=retry_if_exception_type(ConnectionError),
        stop=stop_after_delay(_START_TIMEOUT_S),
        wait=wait_fixed(0.2),
        reraise=True,
    )
    for attempt in attempts:
        with attempt:
            if process.poll() is not None:
                raise MissingRequirementError(
                    f"The Spark Connect server ended at once (rc {process.returncode}): see {log}"
                )
            socket.create_connection(("127.0.0.1", port), timeout=1).close()


def _end(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def serve(settings: Settings) -> NoReturn:
    """Become a deployment's Connect server, at its port and with the token of the environment."""
    token = os.environ[_TOKEN]  # without one it would let everybody in
    command = _command(settings, settings.spark_connect_port)
    os.execvpe(command[0], command, os.environ | {_TOKEN: token} | server_env(settings))


if __name__ == "__main__":
    serve(Settings())
