"""LoRA: the base stays as it is, two small matrices a projection are trained; merged, they are a whole checkpoint."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
ADAPTER_FILE = "adapter_model.safetensors"  # peft's own name, so that peft loads the folder


@dataclass(frozen=True, kw_only=True)
class LoraShape:
    """Size of the adapter; no dropout, so that a step depends on its batch alone."""

    rank: int = 16
    alpha: int = 32
    projections: Sequence[str] = PROJECTIONS


def add_lora(decoder: Any, shape: LoraShape, *, seed: int) -> Any:
    """Put seeded LoRA matrices into a decoder, in place, and freeze all else; return peft's view of it."""
    import torch
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(seed)
    config = LoraConfig(
        r=shape.rank,
        lora_alpha=shape.alpha,
        lora_dropout=0.0,
        target_modules=list(shape.projections),
        task_type="CAUSAL_LM",
    )
    return get_peft_model(decoder, config)


def save_adapter(adapted: Any, folder: Path, *, dtype: str) -> None:
    """Write the adapter's weights and config; round what is in memory too, so that merging either gives the same."""
    import torch
    from peft import get_peft_model_state_dict
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    with torch.no_grad():
        for parameter in adapted.parameters():
            if parameter.requires_grad:
                parameter.copy_(parameter.to(getattr(torch, dtype)))
    state = get_peft_model_state_dict(adapted, save_embedding_layers=False)
    tensors = {name: t.detach().to("cpu", getattr(torch, dtype)).contiguous() for name, t in state.items()}
    save_file(tensors, str(folder / ADAPTER_FILE), metadata={"format": "pt"})
    config = adapted.peft_config["default"]
    config.inference_mode, config.base_model_name_or_path = True, ""  # a path of this machine means nothing elsewhere
    config.save_pretrained(str(folder))


def load_adapter(decoder: Any, folder: Path) -> Any:
    """Put a saved adapter into a base decoder and return peft's view of it."""
    from peft import PeftModel

    return PeftModel.from_pretrained(decoder, str(folder), local_files_only=True)


def merge(adapted: Any) -> Any:
    """Return the plain decoder with the adapter added to its weights, on the CPU in float32 whatever trained it."""
    return adapted.to("cpu").merge_and_unload()
