"""Find a text in files, whatever form they have: raw bytes, gzip, or the columns of a parquet file."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq


def files_with(folder: Path, *texts: str, besides: tuple[Path, ...] = ()) -> list[str]:
    """Return the files under a folder that hold one of the texts, as paths relative to it."""
    wanted = [form.encode() for text in texts for form in (text, json.dumps(text)[1:-1])]
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    looked_at = (path for path in files if not any(path.is_relative_to(part) for part in besides))
    return [
        str(path.relative_to(folder))
        for path in looked_at
        if any(one in content for content in _contents(path) for one in wanted)
    ]


def _contents(path: Path) -> Iterator[bytes]:
    content = path.read_bytes()
    yield content
    if content[:2] == b"\x1f\x8b":
        yield gzip.decompress(content)
    if content[:4] == content[-4:] == b"PAR1":
        yield str(pq.ParquetFile(path).read().to_pylist()).encode()
