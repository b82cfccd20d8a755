"""A real Redis of the tests' own, on a socket in their folder."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from redis import ConnectionError, Redis
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed


class RedisServer:
    """Can be killed and started again; it keeps what it had, as a server with `appendonly` does."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.url = f"unix://{folder / 'redis.sock'}"

    def start(self) -> None:
        options = ("--port", "0", "--unixsocket", str(self._folder / "redis.sock"), "--dir", str(self._folder))
        command = ["redis-server", *options, "--appendonly", "yes", "--save", ""]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until_it_answers = Retrying(
            retry=retry_if_exception_type(ConnectionError), stop=stop_after_delay(10), wait=wait_fixed(0.02)
        )
        until_it_answers(Redis.from_url(self.url).ping)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


@contextmanager
def redis_server(folder: Path) -> Iterator[RedisServer]:
    server = RedisServer(folder)
    server.start()
    try:
        yield server
    finally:
        server.kill()
