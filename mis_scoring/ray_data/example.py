"""Score a few texts through plain `ray.data.llm.build_processor`: `python -m mis_scoring.ray_data.example MODEL`.

MODEL is a labeler's folder, or that of any instruction-tuned model in ChatML with config.json, tokenizer.json and
safetensors (Qwen2.5 and Qwen3, say). `--engine cascade` needs no GPU.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.core.layouts import chat_layout
from mis_scoring.core.prompt import PromptLayout
from mis_scoring.engines.score_spec import GPU_ENGINES

PROFILES = ("Nurse for ten years. Holds a driving licence of class C.", "Taught mathematics; finished a PhD in 2019.")
QUALIFICATIONS = ("provide nursing care", "drive trucks", "teach mathematics", "file tax returns")


def main(arguments: Sequence[str] | None = None) -> int:
    """Score every qualification for every profile and print a line a pair."""
    options = _parser().parse_args(arguments)
    layout, changes = prompt_of(options.model)
    if options.engine in GPU_ENGINES:
        changes |= {"gpus_per_engine": 1.0}

    import ray.data
    from ray.data.llm import build_processor

    from mis_scoring.ray_data.processor import SGLangScoreProcessorConfig
    from mis_scoring.ray_data.session import ray_session

    config = SGLangScoreProcessorConfig(
        model_source=str(options.model),
        engine=options.engine,
        batch_size=32,
        concurrency=1,
        should_continue_on_error=True,
        **changes,
    )
    items = [layout.render_item(text) for text in QUALIFICATIONS]
    with ray_session():
        rows = ray.data.from_items([{"query": layout.render_query(text), "items": items} for text in PROFILES])
        for row in build_processor(config)(rows).take_all():
            profile = layout.profile_of(row["query"])
            for text, score in zip(QUALIFICATIONS, row["scores"], strict=True):
                sys.stdout.write(f"{score:.4f}  {text}  <-  {profile}\n")
    return 0


def prompt_of(folder: Path) -> tuple[PromptLayout, dict[str, Any]]:
    """Return the layout of a labeler, or the one that asks any model in ChatML, with what a config then needs."""
    if (folder / "labeler.json").is_file():
        return LabelerArtifact.load(folder).prompt, {}
    layout = chat_layout()
    return layout, {"prompt": layout, "answers": ("Yes", "No")}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m mis_scoring.ray_data.example", description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--engine", default="sglang", help="default %(default)s")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
