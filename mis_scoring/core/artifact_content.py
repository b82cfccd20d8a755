"""Whether the content of a `labeler.json` means something: every fault in one list, before anything is built."""

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from mis_scoring.core.errors import DataError
from mis_scoring.core.identity import canonical_json
from mis_scoring.core.prompt import PromptLayout
from mis_scoring.core.readout import margin_of
from mis_scoring.core.rounds import RoundRule

_OF_TEXTS = ("prompt", "label_tokens", "numeric_profile", "domain", "digests")
_KEYS = {
    "prompt": {field.name for field in fields(PromptLayout)},
    "label_tokens": {"yes", "no"},
    "numeric_profile": {"dtype", "quantisation", "readout"},
    "round_rule": {field.name for field in fields(RoundRule)},
}
FIELDS = (
    "name",
    "prompt",
    "label_tokens",
    "numeric_profile",
    "threshold",
    "round_rule",
    "tie_eps",
    "domain",
    "evaluation",
    "digests",
)
OPTIONAL_FIELDS = ("gate_limits",)


def parse_content(text: str) -> tuple[dict[str, Any], list[str]]:
    """Read the text of a `labeler.json`.

    Returns:
        The content and its faults, one sentence a fault; the content is only for use when there is none.
    """
    try:
        content = json.loads(text)
    except ValueError as error:
        return {}, [f"it is no JSON: {error}"]
    if not isinstance(content, dict):
        return {}, ["it is no JSON object"]
    return content, content_faults(content)


def content_faults(content: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with a content, one sentence a fault."""
    unknown = [f"{name} is unknown" for name in sorted(set(content) - {*FIELDS, *OPTIONAL_FIELDS})]
    missing = [f"{name} is missing" for name in sorted(set(FIELDS) - set(content))]
    faults = unknown + missing
    known = {name: content[name] for name in (*FIELDS, *OPTIONAL_FIELDS) if name in content}
    for name, value in known.items():
        faults += [f"{name}: {fault}" for fault in _value_faults(name, value)]
    return faults


def _value_faults(name: str, value: Any) -> list[str]:
    try:
        canonical_json(value)
    except DataError as error:
        return [str(error)]
    if name == "name":
        return [] if isinstance(value, str) and value else [f"it is {value!r}; it must be a text"]
    if name in ("threshold", "tie_eps"):
        return _number_faults(name, value)
    return _mapping_faults(name, value)


def _number_faults(name: str, value: Any) -> list[str]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return [f"it is {value!r}; it must be a number"]
    if name != "threshold":
        return [] if value >= 0 else [f"it is {value!r}; it must be 0 or more"]
    try:
        margin_of(value)
    except DataError as error:
        return [str(error)]
    return []


def _mapping_faults(name: str, value: Any) -> list[str]:
    if not isinstance(value, Mapping):
        return [f"it is {value!r}; it must be an object"]
    if name in _KEYS and set(value) != _KEYS[name]:
        return [f"its keys are {', '.join(sorted(value)) or 'none'}; expected {', '.join(sorted(_KEYS[name]))}"]
    if name in _OF_TEXTS:
        return [
            f"{key} is {part!r}; it must be a text" for key, part in value.items() if not isinstance(part, str)
        ] or (_answer_faults(value) if name == "label_tokens" else [])
    if name == "gate_limits":
        return _limit_faults(value)
    return _rule_faults(value) if name == "round_rule" else []


def _limit_faults(limits: Mapping[str, Any]) -> list[str]:
    if not limits:
        return ["it is empty: leave it out"]
    return [f"{name}: {fault}" for name, value in limits.items() for fault in _number_faults(name, value)]


def _answer_faults(answers: Mapping[str, str]) -> list[str]:
    return [f"both answers are {answers['yes']!r}"] if answers["yes"] == answers["no"] else []


def _rule_faults(rule: Mapping[str, Any]) -> list[str]:
    if isinstance(rule["candidates_per_round"], bool) or not isinstance(rule["candidates_per_round"], int):
        return [f"candidates_per_round is {rule['candidates_per_round']!r}; it must be a whole number"]
    if isinstance(rule["stop_below"], bool) or not isinstance(rule["stop_below"], int | float):
        return [f"stop_below is {rule['stop_below']!r}; it must be a number"]
    try:
        RoundRule(**rule)
    except DataError as error:
        return [str(error)]
    return []
