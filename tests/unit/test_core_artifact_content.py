"""A `labeler.json` that means nothing is a list of faults, never a crash and never accepted."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mis_scoring.core.artifact_content import FIELDS, content_faults, parse_content
from mis_scoring.core.prompt import COMPACT

RIGHT: dict[str, Any] = {
    "name": "small",
    "prompt": vars(COMPACT),
    "label_tokens": {"yes": "YES", "no": "NO"},
    "numeric_profile": {"dtype": "float32", "quantisation": "none", "readout": "float32"},
    "threshold": 0.5,
    "round_rule": {"candidates_per_round": 50, "stop_below": 0.02},
    "tie_eps": 1e-5,
    "domain": {"catalog": "ESCO v1.1.1"},
    "evaluation": {"f1": 0.9, "slices": [1, None]},
    "digests": {"config.json": "0"},
}
MEANINGLESS: list[tuple[str, Any]] = [
    ("name", 3),
    ("name", ""),
    ("threshold", "0.5"),
    ("threshold", True),
    ("threshold", float("nan")),
    ("threshold", 1.0),
    ("tie_eps", float("nan")),
    ("tie_eps", -1e-9),
    ("tie_eps", True),
    ("label_tokens", ["yes", "no"]),
    ("label_tokens", {"yes": 1, "no": "NO"}),
    ("label_tokens", {"yes": "YES", "no": "YES"}),
    ("numeric_profile", {"dtype": "float32"}),
    ("prompt", None),
    ("prompt", vars(COMPACT) | {"query_suffix": 5}),
    ("round_rule", {"candidates_per_round": 1.5, "stop_below": 0.1}),
    ("round_rule", {"candidates_per_round": 0, "stop_below": 0.1}),
    ("round_rule", {"candidates_per_round": 50, "stop_below": "0.1"}),
    ("domain", None),
    ("evaluation", []),
    ("evaluation", {"f1": float("nan")}),
    ("digests", []),
    ("gate_limits", {}),
    ("gate_limits", {"f1_floor": True}),
]


def test_a_right_content_has_no_fault() -> None:
    assert content_faults(RIGHT) == []
    assert parse_content(json.dumps(RIGHT)) == (RIGHT, [])
    assert content_faults(RIGHT | {"gate_limits": {"f1_floor": 0.95}}) == []


@pytest.mark.parametrize(("field", "value"), MEANINGLESS)
def test_a_field_without_a_meaning_is_one_fault_that_names_it(field: str, value: Any) -> None:
    (fault,) = content_faults(RIGHT | {field: value})
    assert fault.startswith(f"{field}: ")


def test_the_faults_of_all_fields_are_listed_at_once() -> None:
    wrong = dict(MEANINGLESS)
    assert sorted(fault.partition(":")[0] for fault in content_faults(RIGHT | wrong)) == sorted(wrong)
    assert len(content_faults({})) == len(FIELDS)


@pytest.mark.parametrize("text", ["", "{", "[1]", "null", "\N{REPLACEMENT CHARACTER}"])
def test_a_text_that_is_no_json_object_is_one_fault(text: str) -> None:
    _, faults = parse_content(text)
    assert len(faults) == 1 and faults[0].startswith("it is no JSON")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(field=st.sampled_from(FIELDS), value=JSON)
def test_whatever_stands_in_a_field_is_judged_and_never_crashes(field: str, value: Any) -> None:
    assert all(fault.startswith(f"{field}: ") for fault in content_faults(RIGHT | {field: value}))
