"""Digests: one value, one text, one digest; what has no canonical form is refused."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mis_scoring.core.errors import DataError
from mis_scoring.core.identity import canonical_json, digest, file_digest, text_hash

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(value=VALUES)
def test_canonical_json_reads_back_as_the_value(value: Any) -> None:
    assert json.loads(canonical_json(value)) == value


@given(value=st.dictionaries(TEXTS, VALUES, max_size=5), data=st.data())
def test_the_order_of_keys_does_not_change_a_digest(value: dict[str, Any], data: st.DataObject) -> None:
    shuffled = dict(data.draw(st.permutations(list(value.items()))))
    assert digest(shuffled) == digest(value)


@given(first=VALUES, second=VALUES)
def test_different_values_have_different_digests(first: Any, second: Any) -> None:
    assert (digest(first) == digest(second)) == (canonical_json(first) == canonical_json(second))


def test_the_form_is_fixed() -> None:
    assert canonical_json({"b": [1, 2.5, None], "a": "Zürich"}) == '{"a":"Zürich","b":[1,2.5,null]}'
    assert digest({}) == hashlib.sha256(b"{}").hexdigest()


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (float("nan"), "value is nan"),
        ({"a": [0, float("inf")]}, r"value\.a\[1\]"),
        ({1: "a"}, "the key 1"),
        ({"a": {1, 2}}, "set"),
        ({"a": b"bytes"}, "bytes"),
        (Path("/tmp"), "Path"),
    ],
)
def test_a_value_without_a_canonical_form_is_refused_with_its_place(value: Any, place: str) -> None:
    with pytest.raises(DataError, match=place):
        canonical_json(value)


@given(text=TEXTS)
def test_a_text_hash_is_the_hash_of_its_utf8_bytes(text: str) -> None:
    assert text_hash(text) == hashlib.sha256(text.encode()).hexdigest()


def test_a_file_digest_is_the_hash_of_its_bytes(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"a\r\nb\0")
    assert file_digest(file) == hashlib.sha256(b"a\r\nb\0").hexdigest()
