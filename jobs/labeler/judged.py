"""What an evaluation judges: the model of a work folder, or an artifact."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from jobs.errors import FaultsError
from mis_scoring.core.artifact import CHECKPOINT_FILES, LabelerArtifact
from mis_scoring.core.contract import PromptContract


@dataclass(frozen=True, kw_only=True)
class Judged:
    """The checkpoint folder under judgement and the contract that it keeps; `name` is its artifact's by default.

    Attributes:
        gate_limits: of an artifact; they stay with it.
    """

    name: str
    folder: Path
    contract: PromptContract
    gate_limits: Mapping[str, float] = field(default_factory=dict)


def find_judged(work_dir: Path, artifact_folder: Path | None) -> Judged:
    """Return the model of a work folder, or the artifact that is judged in its place.

    Raises:
        FaultsError, PromptError, ArtifactError: lists what is wrong with the folder.
    """
    if artifact_folder is not None:
        artifact = LabelerArtifact.load(artifact_folder)
        contract = PromptContract.of(artifact.prompt, artifact.label_tokens)
        judged = Judged(name=artifact.name, folder=artifact_folder, contract=contract, gate_limits=artifact.gate_limits)
    else:
        judged = Judged(name=work_dir.resolve().name, folder=work_dir / "model", contract=_contract(work_dir))
    judged.contract.require(judged.folder / "tokenizer.json")
    return judged


def _contract(work_dir: Path) -> PromptContract:
    wanted = [work_dir / "contract.json", *(work_dir / "model" / file for file in CHECKPOINT_FILES)]
    missing = [f"{path.relative_to(work_dir)} is missing" for path in wanted if not path.is_file()]
    if missing:
        raise FaultsError(str(work_dir), missing)
    return PromptContract.load(work_dir / "contract.json")
