"""An artifact of one of the paper's shapes with random weights, so that a GPU can be measured without its checkpoint.

It decides nothing sensible. Tokenizer, prompt and label tokens are a real artifact's, so texts are of real lengths; the
tie rule is off, since the margins of random weights are all near the threshold.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mis_scoring.bench.shapes import write_random_model
from mis_scoring.core.artifact import LabelerArtifact, digests_of
from mis_scoring.engines.score_spec import GPU_ENGINES, numeric_profile_of


def write_shape(
    folder: Path, shape: str, template: Path, *, engine: str, options: Mapping[str, Any]
) -> LabelerArtifact:
    """Write the artifact into a folder that is not there yet, and return it.

    Args:
        shape: a name of `mis_scoring.bench.shapes.SHAPES`.
        template: a real artifact's folder.
        engine, options: what is to serve it; its scores are defined in that engine's numbers.
    """
    device = "cuda" if engine in GPU_ENGINES else "cpu"
    write_random_model(folder, shape, device=device, tokenizer_json=template / "tokenizer.json")
    made = replace(
        LabelerArtifact.load(template),
        name=f"random-{shape}",
        numeric_profile=numeric_profile_of(engine, options),
        tie_eps=0.0,
        domain={"catalog": "none", "description": "random weights, to measure speed"},
        evaluation={},
        digests=digests_of(folder),
    )
    made.save(folder)
    return made
