"""What a training run leaves: the labeler's model files, and a state from which the run goes on.

Both are safetensors and JSON; nothing is pickled.
"""

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from mis_scoring.core.errors import DataError

MODEL_FILE = "model.safetensors"
STATE_FILE = "training_state.safetensors"


@dataclass(frozen=True, kw_only=True)
class Position:
    """Where a run stands.

    Attributes:
        n_starts: how often it was started; in a stream without end it also moves the data on.
        notes: what the run keeps beside, as plain JSON.
    """

    step: int = 0
    elapsed_s: float = 0.0
    n_starts: int = 0
    notes: Mapping[str, Any] = field(default_factory=dict)


class OtherRunError(DataError):
    """A state belongs to another run."""


def save_model(decoder: Any, tokenizer_json: Path, folder: Path, *, dtype: str = "bfloat16") -> None:
    """Write config.json, model.safetensors (a head that is tied is left out) and tokenizer.json.

    Args:
        decoder: any causal decoder of transformers, without an adapter.
        dtype: of the weights in the file, "bfloat16" or "float32".
    """
    import torch
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    is_tied = bool(decoder.config.tie_word_embeddings)
    weights = {
        name: tensor.detach().to("cpu", getattr(torch, dtype)).contiguous()
        for name, tensor in decoder.state_dict().items()
        if not (is_tied and name == "lm_head.weight")
    }
    save_file(weights, str(folder / MODEL_FILE), metadata={"format": "pt"})
    config = json.loads(decoder.config.to_json_string(use_diff=False))
    kept = {k: v for k, v in config.items() if v is not None and not k.startswith("_")}
    kept |= {"architectures": [type(decoder).__name__], "dtype": dtype}
    (folder / "config.json").write_text(json.dumps(kept, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    if tokenizer_json != folder / "tokenizer.json":
        shutil.copy(tokenizer_json, folder / "tokenizer.json")


def load_weights(decoder: Any, folder: Path) -> None:
    """Load a saved model's weights into a decoder of the same shape."""
    from safetensors.torch import load_file

    missing, unexpected = decoder.load_state_dict(load_file(str(folder / MODEL_FILE)), strict=False)
    may_miss = {"lm_head.weight"} if decoder.config.tie_word_embeddings else set()
    if unexpected or set(missing) - may_miss:
        raise ValueError(f"{folder / MODEL_FILE} does not fit the decoder: missing {missing}, unexpected {unexpected}")
    decoder.tie_weights()


def save_state(folder: Path, decoder: Any, optimizer: Any, position: Position, *, identity: str = "") -> None:
    """Write the trained weights in float32, optimizer moments and position; the file is replaced as a whole.

    Args:
        identity: what decides the run's weights, as a digest; another run must not go on from here.
    """
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    tensors: dict[str, Any] = {}
    for name, parameter in _trained(decoder):
        tensors[f"weight/{name}"] = parameter.detach().cpu()
        for key, value in optimizer.state.get(parameter, {}).items():
            tensors[f"{key}/{name}"] = value.detach().cpu().reshape(value.shape or (1,))
    unfinished = folder / (STATE_FILE + ".part")
    save_file(tensors, str(unfinished), metadata={"position": json.dumps(asdict(position)), "identity": identity})
    unfinished.replace(folder / STATE_FILE)


def load_state(folder: Path, decoder: Any, optimizer: Any, *, identity: str = "") -> Position:
    """Restore what `save_state` wrote; a folder without a state gives the start of a run.

    Raises:
        OtherRunError: the state's identity is another.
    """
    from safetensors import safe_open

    path = folder / STATE_FILE
    if not path.exists():
        return Position()
    with safe_open(str(path), framework="pt") as file:
        if file.metadata().get("identity", "") != identity:
            raise OtherRunError(f"{path} is of a run with other pairs, base or settings: delete it or name another")
        tensors: Mapping[str, Any] = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        position = Position(**json.loads(file.metadata()["position"]))
    for name, parameter in _trained(decoder):
        parameter.data.copy_(tensors[f"weight/{name}"])
        moments = {k: tensors[f"{k}/{name}"].to(parameter.device) for k in ("exp_avg", "exp_avg_sq")}
        optimizer.state[parameter] = moments | {"step": tensors[f"step/{name}"].reshape(())}
    return replace(position, n_starts=position.n_starts + 1)


def _trained(decoder: Any) -> Iterator[tuple[str, Any]]:
    """Yield the weights that are not frozen: an adapter's, or all."""
    return ((name, parameter) for name, parameter in decoder.named_parameters() if parameter.requires_grad)
