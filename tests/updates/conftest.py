import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.updates.redis_server import RedisServer, redis_server


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    folder = Path(tempfile.mkdtemp(prefix="semlabel-redis-", dir="/tmp"))  # a socket's path has 107 bytes at most
    with redis_server(folder) as server:
        yield server
    shutil.rmtree(folder)
