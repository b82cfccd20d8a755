"""Digests: SHA-256 over canonical UTF-8 bytes. A value without a canonical form is refused."""

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mis_scoring.core.errors import DataError


def text_hash(text: str) -> str:
    """Return the SHA-256 of a text's UTF-8 bytes, lower-case hex."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def canonical_json(value: Any) -> str:
    """Return the one JSON text of a value: keys sorted, no spaces, UTF-8 characters as they are.

    Raises:
        DataError: a float that is not finite, a key that is no text, or a type that JSON has not.
    """
    _refuse_ambiguous(value, "value")
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: Any) -> str:
    """Return the SHA-256 of a value's canonical JSON, lower-case hex."""
    return text_hash(canonical_json(value))


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, lower-case hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _refuse_ambiguous(value: Any, place: str) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise DataError(f"{place} is {value!r}, which has no canonical form: give a finite number or null")
    if isinstance(value, Mapping):
        for key, part in value.items():
            if not isinstance(key, str):
                raise DataError(f"{place} has the key {key!r}, which is no text")
            _refuse_ambiguous(part, f"{place}.{key}")
    elif isinstance(value, list | tuple):
        for place_in, part in enumerate(value):
            _refuse_ambiguous(part, f"{place}[{place_in}]")
    elif value is not None and not isinstance(value, str | bool | int | float):
        raise DataError(f"{place} is a {type(value).__name__}, which has no canonical form")
