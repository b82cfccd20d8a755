"""What decides the scores of a batch stage or of a server, plain values only; where they run is not in it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.core.errors import DataError
from mis_scoring.core.identity import digest, file_digest
from mis_scoring.core.labels import LabelTokens
from mis_scoring.core.prompt import PromptLayout
from mis_scoring.core.tokenizer import PromptTokenizer

_ENGINE_DTYPES = {
    "cascade": "float32",
    "dense": "float32",
    "prefill": "bfloat16",
    "single": "float32",
    "sglang": "bfloat16",
}
GPU_ENGINES = ("prefill", "sglang")
_NO_QUANTISATION = "none"


@dataclass(frozen=True, kw_only=True)
class ScoreSpec:
    """All that decides a score stage's answers: the artifact, its engine and the tie rule.

    Attributes:
        artifact_folder: checkpoint and tokenizer, at the same path wherever an actor runs.
        engine: a name of `mis_scoring.engines.registry`, or `module:function` (see `engine_pair`).
        engine_options: of its constructor besides `threads`, by name; none of them may change a score but `dtype` and
            `quantisation`.
        threshold: the cut that the tie rule watches.
        tie_eps: 0 turns the tie rule off.
    """

    artifact_folder: str
    scorer_id: str
    engine: str
    layout: PromptLayout
    answers: tuple[str, str]
    threshold: float
    tie_eps: float
    engine_threads: int = 2
    engine_options: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(
        cls,
        artifact: LabelerArtifact,
        folder: Path,
        *,
        engine: str,
        engine_threads: int = 2,
        engine_options: Mapping[str, Any] | None = None,
    ) -> "ScoreSpec":
        """Return the stage of an artifact that lies in a folder.

        Raises:
            DataError: the engine computes in another dtype or quantisation than the artifact's scores are defined in.
        """
        options = dict(engine_options or {})
        require_profile(artifact, engine, options)
        return cls(
            artifact_folder=str(folder),
            scorer_id=artifact.scorer_id,
            engine=engine,
            layout=artifact.prompt,
            answers=(artifact.label_tokens["yes"], artifact.label_tokens["no"]),
            threshold=artifact.threshold,
            tie_eps=artifact.tie_eps,
            engine_threads=engine_threads,
            engine_options=tuple(sorted(options.items())),
        )

    @classmethod
    def of_model(
        cls,
        folder: Path,
        *,
        prompt: PromptLayout,
        answers: tuple[str, str],
        engine: str,
        threshold: float = 0.5,
        tie_eps: float = 0.0,
        engine_threads: int = 2,
        engine_options: Mapping[str, Any] | None = None,
    ) -> "ScoreSpec":
        """Return the stage of a plain model folder: config.json, tokenizer.json, safetensors.

        Args:
            answers: the answer strings, YES first, each one token.
            threshold: matters with a `tie_eps` alone.
        """
        options = dict(engine_options or {})
        files = sorted([folder / "config.json", folder / "tokenizer.json", *folder.glob("*.safetensors")])
        identity = {
            "prompt": dict(vars(prompt)),
            "label_tokens": {"yes": answers[0], "no": answers[1]},
            "dtype": engine_dtype(engine, options) or engine,
            **({"quantisation": options["quantisation"]} if engine_quantisation(options) != _NO_QUANTISATION else {}),
            "digests": {file.name: file_digest(file) for file in files},
        }
        return cls(
            artifact_folder=str(folder),
            scorer_id=digest(identity),
            engine=engine,
            layout=prompt,
            answers=answers,
            threshold=threshold,
            tie_eps=tie_eps,
            engine_threads=engine_threads,
            engine_options=tuple(sorted(options.items())),
        )

    @classmethod
    def from_json(cls, text: str) -> "ScoreSpec":
        """Return the spec that `to_json` wrote, for another process."""
        plain = json.loads(text)
        options = tuple((name, value) for name, value in plain["engine_options"])
        parts = {"layout": PromptLayout(**plain["layout"]), "answers": tuple(plain["answers"])}
        return cls(**(plain | parts | {"engine_options": options}))

    def to_json(self) -> str:
        """Return the spec as one JSON text."""
        return json.dumps(asdict(self))

    def tokenizer(self) -> PromptTokenizer:
        """Load the artifact's tokenizer."""
        return PromptTokenizer(Path(self.artifact_folder) / "tokenizer.json", self.layout)

    def label_tokens(self, tokenizer: PromptTokenizer) -> LabelTokens:
        """Return the ids of the two answers."""
        return tokenizer.label_tokens(*self.answers)


def engine_dtype(engine: str, options: Mapping[str, Any]) -> str | None:
    """Return what an engine computes in; None for an own engine, whose author answers for it."""
    dtype: str | None = options.get("dtype", _ENGINE_DTYPES.get(engine))
    return dtype


def engine_quantisation(options: Mapping[str, Any]) -> str:
    """Return how an engine's weights are quantised."""
    return str(options.get("quantisation", _NO_QUANTISATION))


def numeric_profile_of(engine: str, options: Mapping[str, Any]) -> dict[str, str]:
    """Return what an artifact says of the scores of an engine; of an own one that names no dtype, float32."""
    return {
        "dtype": engine_dtype(engine, options) or "float32",
        "quantisation": engine_quantisation(options),
        "readout": "float32",
    }


def options_for(artifact: LabelerArtifact, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return an engine's options with the quantisation that an artifact's scores are defined in."""
    defined = artifact.numeric_profile["quantisation"]
    kept = {name: value for name, value in options.items() if name != "quantisation"}
    return kept if defined == _NO_QUANTISATION else kept | {"quantisation": defined}


def require_profile(artifact: LabelerArtifact, engine: str, options: Mapping[str, Any]) -> None:
    """Refuse an engine that computes other scores than the artifact's: dtype and quantisation are part of `scorer_id`.

    Raises:
        DataError: names both and what to do.
    """
    asked, defined = engine_quantisation(options), artifact.numeric_profile["quantisation"]
    if ":" not in engine and asked != defined:
        raise DataError(
            f"engine {engine!r} is asked for quantisation {asked!r}, but artifact {artifact.name!r} has scores of "
            f"{defined!r}: they would be another scorer's. Its option `quantisation` must be the artifact's"
        )
    ours, theirs = engine_dtype(engine, options), artifact.numeric_profile["dtype"]
    if ours not in (None, theirs):
        raise DataError(
            f"engine {engine!r} computes in {ours}, but artifact {artifact.name!r} has scores in {theirs}: "
            f"they would be another scorer's. `python -m mis_scoring.engine_check` measures the engine and "
            "makes the artifact of its scores"
        )
