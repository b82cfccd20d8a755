"""The registered labelers: one line a version, and what differs between two."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from jobs.labeler.registry import aliases_of, resolve_version, stage_labeler
from jobs.mlflow_client import registry_client
from jobs.settings import Settings

if TYPE_CHECKING:
    from mlflow import MlflowClient

NOT_GATED = "not gated"
_SCORER_FIELDS = ("prompt", "label_tokens", "numeric_profile", "digests")


def list_versions(settings: Settings) -> list[dict[str, Any]]:
    """Return the versions, newest first.

    Returns:
        version, aliases, labeler, artifact_id, scorer_id, threshold, f1, created, gate; null where it is not known.
    """
    client = registry_client(settings)
    aliases = aliases_of(client, settings.labeler_name)
    found = client.search_model_versions(f"name = '{settings.labeler_name}'")
    return [_row(client, version, aliases) for version in sorted(found, key=lambda v: -int(v.version))]


def diff_versions(settings: Settings, one: str, other: str) -> dict[str, Any]:
    """Return the fields that differ between two versions, named by number or alias.

    Returns:
        versions; fields and evaluation: one entry a difference, null where a side has no such field; is_same_scorer;
        reuse, what that means for judgments.
    """
    labelers = [stage_labeler(settings, resolve_version(settings, named)) for named in (one, other)]
    contents = [_flat(labeler.artifact.as_dict()) for labeler in labelers]
    differences: list[dict[str, Any]] = [
        {"field": name, "one": contents[0].get(name), "other": contents[1].get(name)}
        for name in sorted({*contents[0], *contents[1]})
        if contents[0].get(name) != contents[1].get(name)
    ]
    is_same = labelers[0].artifact.scorer_id == labelers[1].artifact.scorer_id
    return {
        "versions": [labeler.version for labeler in labelers],
        "artifact_ids": [labeler.artifact.artifact_id for labeler in labelers],
        "scorer_ids": [labeler.artifact.scorer_id for labeler in labelers],
        "fields": [d for d in differences if not d["field"].startswith("evaluation.")],
        "evaluation": [d for d in differences if d["field"].startswith("evaluation.")],
        "is_same_scorer": is_same,
        "reuse": _reuse(is_same, [str(d["field"]) for d in differences]),
    }


def _reuse(is_same: bool, fields: list[str]) -> str:
    if is_same:
        return "same scorer: judgments are reused"
    parts = [part for part in _SCORER_FIELDS if any(name.split(".")[0] == part for name in fields)]
    return f"another scorer ({', '.join(parts)}): every pair is scored anew"


def _row(client: "MlflowClient", version: Any, aliases: Mapping[str, str]) -> dict[str, Any]:
    tags, number = version.tags, str(version.version)
    run = client.get_run(version.run_id) if version.run_id else None
    return {
        "version": number,
        "aliases": sorted(alias for alias, of in aliases.items() if of == number),
        "labeler": tags.get("labeler"),
        "artifact_id": tags.get("artifact_id"),
        "scorer_id": tags.get("scorer_id"),
        "threshold": float(tags["threshold"]) if "threshold" in tags else None,
        "f1": run.data.metrics.get("f1") if run else None,
        "created": datetime.fromtimestamp(version.creation_timestamp / 1000, UTC).isoformat(timespec="seconds"),
        "gate": tags.get("gate", NOT_GATED),
    }


def _flat(value: Any, prefix: str = "") -> dict[str, Any]:
    """Return the leaves of a nested object by their dotted path."""
    if not isinstance(value, Mapping):
        return {prefix: value}
    parts = [_flat(part, f"{prefix}.{key}" if prefix else str(key)) for key, part in value.items()]
    return {name: leaf for part in parts for name, leaf in part.items()}
