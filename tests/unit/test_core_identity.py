"""Digests: the same value has one, another value has another, and what has no canonical form is refused."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mis_scoring.core.errors import DataError
from mis_scoring.core.identity import canonical_json, digest, file_digest, text_hash

# no lone surrogates: they have no UTF-8 bytes
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=12
)


def _reordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _reordered(part) for key, part in reversed(value.items())}
    return [_reordered(part) for part in value] if isinstance(value, list) else value


@given(value=values)
def test_canonical_json_reads_back_as_the_value(value: Any) -> None:
    assert json.loads(canonical_json(value)) == value


@given(value=values)
def test_the_order_of_keys_does_not_change_a_digest(value: Any) -> None:
    assert digest(_reordered(value)) == digest(value)


@given(left=values, right=values)
def test_two_values_share_a_digest_only_when_they_share_their_text(left: Any, right: Any) -> None:
    assert (digest(left) == digest(right)) == (canonical_json(left) == canonical_json(right))


@pytest.mark.parametrize(("left", "right"), [(1, 1.0), (1, True), (0, None), ("1", 1), ([], {}), ("a", ["a"])])
def test_values_of_other_types_differ(left: Any, right: Any) -> None:
    assert digest(left) != digest(right)


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (float("nan"), "value is nan"),
        ({"a": [1.0, float("inf")]}, r"value\.a\[1\] is inf"),
        ({"a": {1: "x"}}, r"value\.a has the key 1"),
        ({"a": {1, 2}}, r"value\.a is a set"),
        ([b"bytes"], r"value\[0\] is a bytes"),
        ({"path": Path("x")}, r"value\.path is a"),
    ],
)
def test_a_value_without_a_canonical_form_is_refused_with_its_place(value: Any, place: str) -> None:
    with pytest.raises(DataError, match=place):
        canonical_json(value)


@given(text=texts)
def test_a_text_is_hashed_as_its_utf_8_bytes(text: str) -> None:
    assert text_hash(text) == hashlib.sha256(text.encode("utf-8")).hexdigest()


def test_known_hashes_do_not_move() -> None:
    assert text_hash("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert canonical_json({"b": [1, None, 0.5], "a": "ä😀"}) == '{"a":"ä😀","b":[1,null,0.5]}'


@given(content=st.binary(max_size=200))
def test_a_file_is_hashed_as_its_bytes(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("digest") / "file"
    file.write_bytes(content)
    assert file_digest(file) == hashlib.sha256(content).hexdigest()
