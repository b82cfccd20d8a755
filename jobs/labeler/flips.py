"""How the labels of two registered versions differ, from the margins that their evaluations left: nothing is scored.

Both must have judged the same pairs. A version without margins of its own (another threshold, say) takes those of one
with the same scorer.
"""

import json
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jobs.labeler.registry import EVALUATION_PATH, PinnedLabeler
from jobs.mlflow_client import registry_client
from jobs.settings import Settings
from mis_scoring.core.readout import margin_of
from mis_scoring.evaluation.flips import FlipMatrix

if TYPE_CHECKING:
    from mlflow import MlflowClient


@dataclass(frozen=True, kw_only=True)
class StoredMargins:
    """Margins and answers of a version's test members, flat; `members_digest` says which pairs they are.

    Attributes:
        categories: of each pair; None where an earlier evaluation did not store them.
        pairs_per_s: of the evaluation, with its engine; None where the clock said nothing.
    """

    members_digest: str
    margins: np.ndarray
    answers: np.ndarray
    categories: np.ndarray | None = None
    pairs_per_s: tuple[float, str] | None = None


def flips_between(settings: Settings, champion: PinnedLabeler | None, challenger: PinnedLabeler) -> dict[str, Any]:
    """Return the flip matrix on the test members, or the reason why there is none."""
    if champion is None:
        return {"reason": "there is no champion yet"}
    if champion.version == challenger.version:
        return {"reason": "this version is the champion"}
    client = registry_client(settings)
    before, after = (stored_margins(client, settings, labeler) for labeler in (champion, challenger))
    missing = [labeler.version for labeler, found in ((champion, before), (challenger, after)) if found is None]
    if before is None or after is None:
        return {"reason": f"no margins are stored for version {', '.join(missing)}: evaluate it and register it again"}
    if before.members_digest != after.members_digest:
        return {"reason": "the two versions were evaluated on different members"}
    decided = [
        found.margins >= margin_of(labeler.artifact.threshold)
        for found, labeler in ((before, champion), (after, challenger))
    ]
    matrix = FlipMatrix.of(decided[0], decided[1], after.answers)
    return asdict(matrix) | {"n_pairs": matrix.n_pairs, "flipped_share": matrix.flipped_share}


def stored_margins(client: "MlflowClient", settings: Settings, labeler: PinnedLabeler) -> StoredMargins | None:
    """Return a version's margins, or those of another version with its scorer; None where there are none."""
    same_scorer = client.search_model_versions(
        f"name = '{settings.labeler_name}' and tag.scorer_id = '{labeler.artifact.scorer_id}'"
    )
    own_first = sorted(same_scorer, key=lambda found: (str(found.version) != labeler.version, -int(found.version)))
    for version in own_first:
        if version.run_id and client.list_artifacts(version.run_id, EVALUATION_PATH):
            return _read(client, version.run_id)
    return None


def _read(client: "MlflowClient", run_id: str) -> StoredMargins:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(client.download_artifacts(run_id, EVALUATION_PATH, scratch))
        figures = json.loads((folder / "evaluation.json").read_text(encoding="utf-8"))
        with np.load(folder / "margins.npz", allow_pickle=False) as arrays:
            margins, answers = arrays["test"], arrays["test.answers"]
            categories = arrays.get("test.categories")
    rate, engine = figures.get("time", {}).get("pairs_per_s"), figures.get("engine", {}).get("engine", "")
    return StoredMargins(
        members_digest=figures["members_digest"],
        margins=margins,
        answers=answers,
        categories=categories,
        pairs_per_s=None if rate is None else (rate, engine),
    )
