"""What a training run leaves: the labeler's model files, and a state from which the run goes on.

Both are safetensors and JSON; nothing is pickled.
"""

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

MODEL_FILE = "model.safetensors"
STATE_FILE = "training_state.safetensors"


@dataclass(frozen=True, kw_only=True)
class Position:
    """Where a run stands; `n_starts` also moves the data on, so that no member is met twice."""

    step: int = 0
    elapsed_s: float = 0.0
    n_starts: int = 0


def save_model(decoder: Any, tokenizer_json: Path, folder: Path) -> None:
    """Write config.json, model.safetensors (bfloat16, tied head left out) and tokenizer.json."""
    import torch
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    weights = {
        name: tensor.detach().to("cpu", torch.bfloat16).contiguous()
        for name, tensor in decoder.state_dict().items()
        if name != "lm_head.weight"
    }
    save_file(weights, str(folder / MODEL_FILE), metadata={"format": "pt"})
    config = json.loads(decoder.config.to_json_string(use_diff=False))
    kept = {k: v for k, v in config.items() if v is not None and not k.startswith("_")}
    kept |= {"architectures": ["Qwen3ForCausalLM"], "dtype": "bfloat16"}
    (folder / "config.json").write_text(json.dumps(kept, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    if tokenizer_json != folder / "tokenizer.json":
        shutil.copy(tokenizer_json, folder / "tokenizer.json")


def load_weights(decoder: Any, folder: Path) -> None:
    """Load a saved model's weights into a decoder of the same shape."""
    from safetensors.torch import load_file

    missing, unexpected = decoder.load_state_dict(load_file(str(folder / MODEL_FILE)), strict=False)
    if unexpected or set(missing) - {"lm_head.weight"}:
        raise ValueError(f"{folder / MODEL_FILE} does not fit the decoder: missing {missing}, unexpected {unexpected}")
    decoder.tie_weights()


def save_state(folder: Path, decoder: Any, optimizer: Any, position: Position) -> None:
    """Write weights in float32, optimizer moments and position; each file is replaced as a whole."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    tensors: dict[str, Any] = {}
    for name, parameter in decoder.named_parameters():
        tensors[f"weight/{name}"] = parameter.detach().cpu()
        for key, value in optimizer.state.get(parameter, {}).items():
            tensors[f"{key}/{name}"] = value.detach().cpu().reshape(value.shape or (1,))
    unfinished = folder / (STATE_FILE + ".part")
    save_file(tensors, str(unfinished), metadata={"position": json.dumps(asdict(position))})
    unfinished.replace(folder / STATE_FILE)


def load_state(folder: Path, decoder: Any, optimizer: Any) -> Position:
    """Restore what `save_state` wrote; a folder without a state gives the start of a run."""
    from safetensors import safe_open

    path = folder / STATE_FILE
    if not path.exists():
        return Position()
    with safe_open(str(path), framework="pt") as file:
        tensors: Mapping[str, Any] = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        position = Position(**json.loads(file.metadata()["position"]))
    for name, parameter in decoder.named_parameters():
        parameter.data.copy_(tensors[f"weight/{name}"])
        moments = {k: tensors[f"{k}/{name}"].to(parameter.device) for k in ("exp_avg", "exp_avg_sq")}
        optimizer.state[parameter] = moments | {"step": tensors[f"step/{name}"].reshape(())}
    return Position(step=position.step, elapsed_s=position.elapsed_s, n_starts=position.n_starts + 1)
