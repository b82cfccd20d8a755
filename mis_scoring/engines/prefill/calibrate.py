"""Make an artifact of fp8 scores: measure the activations' scales on a labeler's own pairs, and write them beside it.

    python -m mis_scoring.engines.prefill.calibrate LABELER --rows rows.parquet --quantisation fp8-mlp --out DIR

The new artifact is another scorer: config.json has the scales (its digest is in `scorer_id`), `numeric_profile` the
quantisation. Nothing is promised of its decisions: `mis_scoring.engine_check` and the gate measure them.
"""

import argparse
import json
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mis_scoring.core.artifact import CHECKPOINT_FILES, LabelerArtifact, digests_of
from mis_scoring.core.labels import LabelTokens
from mis_scoring.core.tokenizer import PromptTokenizer
from mis_scoring.engines.prefill.engine import PrefillEngine
from mis_scoring.engines.prefill.fp8 import ALL, CONFIG_KEY, HEADROOM, LARGEST, MLP, Fp8Profile
from mis_scoring.engines.prefill.known_requests import Request, read_requests

if TYPE_CHECKING:
    from mis_scoring.engines.prefill.forward import Forward

MOST_MEMBERS = 200


def main(arguments: Sequence[str] | None = None) -> int:
    """Calibrate, write the artifact, and return 0."""
    options = _parser().parse_args(arguments)
    artifact = LabelerArtifact.load(options.artifact)
    tokenizer = PromptTokenizer(options.artifact / "tokenizer.json", artifact.prompt)
    labels = tokenizer.label_tokens(artifact.label_tokens["yes"], artifact.label_tokens["no"])
    requests = read_requests(options.rows, tokenizer, most=MOST_MEMBERS)
    settings = {"device": options.device, "dtype": "bfloat16"}
    profile = calibrated_profile(options.artifact, requests, labels, quantisation=options.quantisation, **settings)
    options.out.mkdir(parents=True, exist_ok=True)
    for name in CHECKPOINT_FILES:
        shutil.copyfile(options.artifact / name, options.out / name)
    write_profile(options.out, profile)
    made = replace(
        artifact,
        name=f"{artifact.name}-{options.quantisation}",
        numeric_profile={**artifact.numeric_profile, "dtype": "bfloat16", "quantisation": options.quantisation},
        digests=digests_of(options.out),
    )
    made.save(options.out)
    sys.stdout.write(
        json.dumps({"artifact": made.name, "scorer_id": made.scorer_id, **profile.as_dict()}, indent=2) + "\n"
    )
    return 0


def calibrated_profile(
    folder: Path, requests: Iterable[Request], labels: LabelTokens, *, quantisation: str, **settings: Any
) -> Fp8Profile:
    """Run requests through the unquantised model and return scales: twice the largest value seen, as 448."""
    engine = PrefillEngine(folder, verify=False, n_concurrent=1, **settings)
    try:
        seen = _watch(engine._runner.forward)
        for query, items in requests:
            engine.label_logits(query, items, labels)
    finally:
        engine.close()
    scales = {name: [HEADROOM * most / LARGEST for most in largest] for name, largest in seen.items()}
    return Fp8Profile(quantisation=quantisation, **scales)


def calibrated_copy(
    folder: Path, requests: Iterable[Request], labels: LabelTokens, *, quantisation: str, **settings: Any
) -> Path:
    """Return the folder beside this one that has its checkpoint with scales; made by the first call."""
    copy = folder.with_name(f"{folder.name}-{quantisation}")
    if not copy.exists():
        profile = calibrated_profile(folder, requests, labels, quantisation=quantisation, **settings)
        shutil.copytree(folder, copy)
        write_profile(copy, profile)
    return copy


def write_profile(folder: Path, profile: Fp8Profile) -> None:
    """Put a profile into a checkpoint's config.json."""
    file = folder / "config.json"
    config = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps(config | {CONFIG_KEY: profile.as_dict()}, indent=2) + "\n", encoding="utf-8")


def _watch(forward: "Forward") -> dict[str, list[float]]:
    """Keep the largest attended and gated value of each layer from now on; o and down are what reads them."""
    kernels, layers = forward.kernels, forward.weights.layers
    seen = {name: [1e-6] * len(layers) for name in ("attention_scales", "gated_scales")}
    place = {id(layer.out.weight): ("attention_scales", number) for number, layer in enumerate(layers)}
    place |= {id(layer.down.weight): ("gated_scales", number) for number, layer in enumerate(layers)}
    plain = kernels.add_linear

    def watching(rows: Any, linear: Any, x: Any) -> None:
        name, number = place[id(linear.weight)]
        seen[name][number] = max(seen[name][number], float(rows.values.abs().max()))
        plain(rows, linear, x)

    object.__setattr__(kernels, "add_linear", watching)  # this engine is thrown away afterwards
    return seen


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m mis_scoring.engines.prefill.calibrate", description=__doc__)
    parser.add_argument("artifact", type=Path, help="folder of an artifact")
    parser.add_argument("--rows", type=Path, required=True, help="parquet with query_text and item_texts")
    parser.add_argument("--quantisation", choices=[MLP, ALL], default=MLP)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out", type=Path, required=True)
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
