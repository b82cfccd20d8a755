"""The score stage as a processor of `ray.data.llm`: importing this teaches `build_processor` its config.

A row is one query and its items, as texts that already hold whatever template they need; `scores` come out, one an
item, in their order. Stages: tokenize (CPU pool) and score (engine pool, or named engines); there is no chat template
and no detokenizing, and a config that names such a stage is refused. The builder and the stages' base are internals of
Ray 2.60 (`tests/ray/test_processor.py` pins what is used of them).
"""

from pathlib import Path
from typing import Any, Self

from pydantic import Field, model_validator
from ray.data import ActorPoolStrategy
from ray.data.llm import Processor, ProcessorConfig
from ray.llm._internal.batch.processor import ProcessorBuilder

from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.core.prompt import PromptLayout
from mis_scoring.engines.score_spec import GPU_ENGINES, ScoreSpec
from mis_scoring.ray_data.processor_stages import ScoreStage, TokenizeStage


class SGLangScoreProcessorConfig(ProcessorConfig):
    """What to score with and where; `concurrency` is that of the engines, `batch_size` an epoch of the canary."""

    model_source: str = Field(description="folder of an artifact, or of any model with `prompt` and `answers`")
    prompt: PromptLayout | None = Field(None, description="what stands around the texts; it alone has special tokens")
    answers: tuple[str, str] | None = Field(None, description="YES and NO, each one token at the answer position")
    engine: str = Field("cascade", description="a name of mis_scoring.engines.registry, or module:function")
    engine_threads: int = Field(2, ge=1)
    engine_options: dict[str, Any] = Field(
        {}, description="of the engine, as those of SGLangSettings and PrefillSettings"
    )
    engines: tuple[str, ...] = Field((), description="named engines to be a client of; empty: the stage owns its own")
    gpus_per_engine: float = Field(0.0, ge=0)
    cpus_per_actor: float = Field(0.2, gt=0)
    tokenize_concurrency: int | tuple[int, int] = Field(1, description="of the tokenizing pool; n: from 1 to n")
    request_timeout_s: float = Field(900.0, gt=0)
    max_restarts: int = Field(0, ge=0, description="of an actor that dies")
    should_continue_on_error: bool = Field(
        False, description="a row that can't be scored has `__inference_error__` and null scores instead of ending all"
    )

    def spec(self) -> ScoreSpec:
        """Return what decides the scores.

        Raises:
            ArtifactError: the folder holds no whole artifact, and there is no prompt.
            DataError: the engine computes in another dtype than the artifact's scores are defined in.
        """
        folder = Path(self.model_source).resolve()
        engine: dict[str, Any] = {name: getattr(self, name) for name in ("engine", "engine_threads", "engine_options")}
        if self.prompt is not None and self.answers is not None:
            return ScoreSpec.of_model(folder, prompt=self.prompt, answers=self.answers, **engine)
        return ScoreSpec.of(LabelerArtifact.load(folder), folder, **engine)

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if (self.prompt is None) != (self.answers is None):
            raise ValueError("prompt and answers belong together: give both for a plain model, none for an artifact")
        is_on_cpu = self.engine_options.get("device") == "cpu"
        if self.engine in GPU_ENGINES and not is_on_cpu and not self.engines and self.gpus_per_engine == 0:
            raise ValueError(f"engine {self.engine!r} needs gpus_per_engine: 1, or 0.5 for two engines a GPU")
        return self


def build_score_processor(config: SGLangScoreProcessorConfig, **options: Any) -> Processor:
    """Return the processor of a config; `options` are those of `build_processor`."""
    spec, engines = config.spec(), config.engines
    common = {"spec": spec, "should_continue_on_error": config.should_continue_on_error}
    stages = [
        TokenizeStage(
            fn_constructor_kwargs=common,
            map_batches_kwargs=_pool(config, _sizes(config.tokenize_concurrency)),
        ),
        ScoreStage(
            fn_constructor_kwargs=common | {"engines": engines, "request_timeout_s": config.request_timeout_s},
            map_batches_kwargs=_pool(config, config.get_concurrency())
            | {"num_gpus": 0 if engines else config.gpus_per_engine},
        ),
    ]
    return Processor(config, stages, **options)


def _sizes(concurrency: int | tuple[int, int]) -> dict[str, Any]:
    smallest, largest = (1, concurrency) if isinstance(concurrency, int) else concurrency
    return {"min_size": smallest, "max_size": largest}


def _pool(config: SGLangScoreProcessorConfig, sizes: dict[str, Any]) -> dict[str, Any]:
    return {
        "compute": ActorPoolStrategy(**sizes),
        "num_cpus": config.cpus_per_actor,
        "max_restarts": config.max_restarts,
        "max_task_retries": config.max_restarts,
    }


ProcessorBuilder.register(SGLangScoreProcessorConfig, build_score_processor)
