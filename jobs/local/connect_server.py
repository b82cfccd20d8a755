"""A Spark Connect server for the jobs of one run, bound to loopback and closed with a token.

A job's own driver takes 6 to 10 s to start; as a client of a warm server it starts in under 2 s, and a run has some 15
jobs. Where `spark_connect_url` is set, a server is there already and none is started.
"""

import os
import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from jobs.errors import MissingRequirementError
from jobs.settings import Settings
from jobs.spark_session import server_conf

_CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"
_START_TIMEOUT_S = 120


@contextmanager
def connect_server(settings: Settings) -> Iterator[str]:
    """Yield the URL of a Connect server, with its token; end it afterwards.

    Raises:
        MissingRequirementError: the server did not start; its log is named.
    """
    if settings.spark_connect_url:
        yield settings.spark_connect_url
        return
    port, token = _free_port(), secrets.token_urlsafe(24)
    log = settings.home / "logs" / "spark-connect.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as output:
        process = subprocess.Popen(
            _command(settings, port),
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=os.environ | _server_env(token),
        )
    try:
        _wait_until_listening(process, port, log)
        yield f"sc://localhost:{port}/;token={token}"
    finally:
        _end(process)


def _server_env(token: str) -> dict[str, str]:
    return {
        "SPARK_CONNECT_AUTHENTICATE_TOKEN": token,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,  # a server's workers ignore spark.pyspark.python
    }


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


if __name__ == "__main__":  # for a shell: prints the URL and serves until it is ended
    with connect_server(Settings()) as url:
        sys.stdout.write(url + "\n")
        sys.stdout.flush()
        signal.pause()
