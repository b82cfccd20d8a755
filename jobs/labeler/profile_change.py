"""Which registered version is the same model in another numeric profile, and what the change does to the labels.

The champion, if it is one: that is what would be replaced. Else the newest of those whose profile is more exact, since
a profile is measured against what it approximates. Nothing is scored: both evaluations left their margins.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jobs.labeler.flips import StoredMargins, stored_margins
from jobs.labeler.numeric_profile import exactness, profile_words
from jobs.labeler.registry import ARTIFACT_PATH, PinnedLabeler, stage_labeler
from jobs.mlflow_client import read_json, registry_client
from jobs.settings import Settings
from mis_scoring.core.readout import margin_of
from mis_scoring.engines.prefill.fp8 import CONFIG_KEY
from mis_scoring.evaluation.margin_change import MarginChange

if TYPE_CHECKING:
    from mlflow import MlflowClient

_WEIGHTS = ("model.safetensors", "tokenizer.json")  # config.json has a quantisation's scales besides


@dataclass(frozen=True, kw_only=True)
class NotCompared:
    """Why there is no other profile to compare with."""

    reason: str


@dataclass(frozen=True, kw_only=True)
class ProfileChange:
    """What changes from another version's profile to this one's.

    Attributes:
        version, profile: what it is compared with, its profile in words.
        is_more_exact: this version's profile is the more exact one: what changes is not a loss.
        by_category: None where neither evaluation stored the categories of its pairs.
        pairs_per_s: of both evaluations, the other's first, each with its engine; None where one has no time.
    """

    version: str
    profile: str
    is_more_exact: bool
    whole: MarginChange
    by_category: Mapping[str, MarginChange] | None
    pairs_per_s: tuple[tuple[float, str], tuple[float, str]] | None


def profile_change(
    settings: Settings, champion: PinnedLabeler | None, labeler: PinnedLabeler
) -> ProfileChange | NotCompared:
    """Compare a version with the same model in another numeric profile, or say why that cannot be done.

    Raises:
        ArtifactError: a version of the same model does not match its digests.
    """
    client, reasons = registry_client(settings), []
    after = stored_margins(client, settings, labeler)
    if after is None:
        return NotCompared(reason="no margins of this version are stored: evaluate it and register it again")
    for other in _others(client, settings, champion, labeler):
        before = stored_margins(client, settings, other)
        if before is not None and before.members_digest == after.members_digest:
            return _compare(other, labeler, before, after)
        why = "no margins are stored" if before is None else "it was evaluated on different members"
        reasons.append(f"version {other.version}: {why}")
    return NotCompared(
        reason="; ".join(reasons) or "no other version is this model in a more exact numeric profile, nor the champion"
    )


def _others(
    client: "MlflowClient", settings: Settings, champion: PinnedLabeler | None, labeler: PinnedLabeler
) -> Iterator[PinnedLabeler]:
    """Yield what may be compared with, the best first."""
    artifact = labeler.artifact
    if champion is not None and _is_same_model(champion, labeler):
        yield champion
    found = client.search_model_versions(f"name = '{settings.labeler_name}'")
    for version in sorted(found, key=lambda one: -int(one.version)):
        if not version.run_id:
            continue
        # its weights are only fetched where they are the same
        content = read_json(client, version.run_id, f"{ARTIFACT_PATH}/labeler.json")
        if not _may_be_same_model(content, artifact.as_dict()):
            continue
        if exactness(content["numeric_profile"]) > exactness(artifact.numeric_profile):
            other = stage_labeler(settings, str(version.version))
            if _is_same_model(other, labeler):
                yield other


def _may_be_same_model(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    def model(content: Mapping[str, Any]) -> list[Any]:
        return [content["prompt"], content["label_tokens"], *(content["digests"][name] for name in _WEIGHTS)]

    return model(one) == model(other) and one["numeric_profile"] != other["numeric_profile"]


def _is_same_model(one: PinnedLabeler, other: PinnedLabeler) -> bool:
    contents = (one.artifact.as_dict(), other.artifact.as_dict())
    return _may_be_same_model(*contents) and _config(one.folder) == _config(other.folder)


def _config(folder: Path) -> dict[str, Any]:
    config: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return {name: value for name, value in config.items() if name != CONFIG_KEY}


def _compare(
    other: PinnedLabeler, labeler: PinnedLabeler, before: StoredMargins, after: StoredMargins
) -> ProfileChange:
    cuts = (margin_of(other.artifact.threshold), margin_of(labeler.artifact.threshold))
    categories = before.categories if after.categories is None else after.categories
    by_category = None
    if categories is not None:
        by_category = {
            str(name): MarginChange.of(before.margins[is_in], after.margins[is_in], after.answers[is_in], cuts=cuts)
            for name in np.unique(categories)
            for is_in in [categories == name]
        }
    rates = (before.pairs_per_s, after.pairs_per_s)
    return ProfileChange(
        version=other.version,
        profile=profile_words(other.artifact.numeric_profile),
        is_more_exact=exactness(labeler.artifact.numeric_profile) > exactness(other.artifact.numeric_profile),
        whole=MarginChange.of(before.margins, after.margins, after.answers, cuts=cuts),
        by_category=by_category,
        pairs_per_s=None if rates[0] is None or rates[1] is None else (rates[0], rates[1]),
    )
