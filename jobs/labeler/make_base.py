"""Make a base model to fine-tune: a folder of safetensors and JSON from what ships inside a package.

Any Llama- or Qwen-shaped folder will do as a base; this makes SmolLM2-135M-Instruct (Apache-2.0), fetched when it is
first asked for and not at set-up: 93 MB.
"""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jobs.errors import FaultsError, MissingRequirementError
from jobs.settings import CHECKOUT
from mis_scoring.core.identity import file_digest
from mis_scoring.engines.checkpoint import require_checkpoint
from mis_scoring.training.gguf_checkpoint import convert_gguf

_FETCH = CHECKOUT / "infra" / "local" / "fetch_data.py"


@dataclass(frozen=True, kw_only=True)
class BaseModel:
    """A model inside a package: its file under the data folder, and what the file must be."""

    file: str
    sha256: str
    megabytes: int


BASE_MODELS = {
    "smollm2": BaseModel(
        file="smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        megabytes=93,
    )
}


def make_base(
    data_dir: Path, out_dir: Path, *, name: str = "smollm2", fetch: Callable[[Path], None] | None = None
) -> dict[str, Any]:
    """Write config.json, model.safetensors (bfloat16) and tokenizer.json of a base model.

    Args:
        data_dir: where fetched files are kept (`Settings.data_dir`).
        fetch: brings the packages' files under a folder; None for `fetch_base_models`.
    Returns:
        `base`, `folder`, `source` and its `sha256`.
    Raises:
        MissingRequirementError: the file is not there and could not be fetched.
        FaultsError: the name is unknown, or the file is another one.
    """
    if name not in BASE_MODELS:
        raise FaultsError("base model", [f"no base model is named {name!r}; known: {', '.join(BASE_MODELS)}"])
    model = BASE_MODELS[name]
    source = data_dir / model.file
    if not source.exists():
        (fetch or fetch_base_models)(data_dir)
    if not source.exists():
        raise MissingRequirementError(_how_to_get(source, model, "nothing was fetched"))
    _check_digest(source, model)
    convert_gguf(source, out_dir)
    require_checkpoint(out_dir)
    return {"base": name, "folder": str(out_dir), "source": model.file, "sha256": model.sha256}


def fetch_base_models(data_dir: Path) -> None:
    """Download the packages of `infra/local/base_models.lock` and keep their model files.

    Raises:
        MissingRequirementError: that failed; the message says what to do.
    """
    done = subprocess.run(_command(data_dir), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        model = BASE_MODELS["smollm2"]
        raise MissingRequirementError(_how_to_get(data_dir / model.file, model, done.stderr.strip()[-2000:]))


def _command(data_dir: Path) -> list[str]:
    return [sys.executable, str(_FETCH), str(data_dir), "--base-models"]


def _how_to_get(source: Path, model: BaseModel, why: str) -> str:
    command = " ".join(["python", *_command(source.parent.parent)[1:]])
    return (
        f"{source} is missing and could not be fetched ({why}). Where packages can be downloaded ({model.megabytes} "
        f"MB), run `{command}`, or copy the file from a machine that has it."
    )


def _check_digest(source: Path, model: BaseModel) -> None:
    found = file_digest(source)
    if found != model.sha256:
        raise FaultsError(str(source), [f"its SHA-256 is {found}, not {model.sha256}: remove it and run again"])
