"""Read a checkpoint's safetensors into the engine's layout, a layer at a time; in fp8 where its profile says so."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mis_scoring.engines.architecture import ArchitectureError
from mis_scoring.engines.prefill.fp8 import Fp8Profile, outlier_faults, quantise_rows
from mis_scoring.engines.prefill.layout import LayerWeights, Linear, Weights, in_turns, padded
from mis_scoring.engines.prefill.shape import DecoderShape
from mis_scoring.engines.prefill.tensor_files import open_tensors

if TYPE_CHECKING:
    import torch

Load = Callable[[str], "torch.Tensor"]


def load_weights(
    folder: Path, shape: DecoderShape, *, dtype: str, device: str, turn: int, profile: Fp8Profile | None = None
) -> Weights:
    """Read a checkpoint.

    Args:
        dtype: of all that is not in e4m3.
        turn: see `Weights`.
    Raises:
        ArchitectureError: a tensor is missing, unknown or of another shape, or has rows that e4m3 does not suit.
    """
    import torch

    faults: list[str] = []
    with open_tensors(folder, shape) as files:

        def load(name: str) -> torch.Tensor:
            return files.load(name).to(device, getattr(torch, dtype))

        def of_layer(number: int) -> Load:
            return lambda name: load(f"model.layers.{number}.{name}")

        embedding = load("model.embed_tokens.weight")
        layers = []
        for number in range(shape.n_layers):
            layer = _read_layer(of_layer(number), shape, turn)
            layers.append(layer if profile is None else _in_fp8(layer, profile, number, faults))
        if faults:
            raise ArchitectureError(str(folder), faults)
        return Weights(
            embedding=embedding,
            head=embedding if shape.is_tied else load("lm_head.weight"),
            final_norm=load("model.norm.weight"),
            layers=tuple(layers),
            turn=turn,
            padded_intermediate=padded(shape.intermediate, turn),
        )


def _read_layer(load: Load, shape: DecoderShape, turn: int) -> LayerWeights:
    import torch

    qkv = torch.cat([load(f"self_attn.{part}_proj.weight") for part in "qkv"])
    bias = torch.cat([load(f"self_attn.{part}_proj.bias") for part in "qkv"]) if shape.has_qkv_bias else None
    down = load("mlp.down_proj.weight")
    filled = padded(shape.intermediate, turn) - shape.intermediate
    return LayerWeights(
        attention_norm=load("input_layernorm.weight"),
        mlp_norm=load("post_attention_layernorm.weight"),
        query_norm=load("self_attn.q_norm.weight") if shape.has_head_norm else None,
        key_norm=load("self_attn.k_norm.weight") if shape.has_head_norm else None,
        qkv=Linear(weight=qkv, bias=bias),
        out=Linear(weight=load("self_attn.o_proj.weight")),
        gate_up=Linear(weight=in_turns(load("mlp.gate_proj.weight"), load("mlp.up_proj.weight"), turn)),
        down=Linear(weight=torch.nn.functional.pad(down, (0, filled))),
    )


def _in_fp8(layer: LayerWeights, profile: Fp8Profile, number: int, faults: list[str]) -> LayerWeights:
    def quantised(name: str, linear: Linear, input_scale: float | None = None) -> Linear:
        values, scales = quantise_rows(linear.weight)
        faults.extend(outlier_faults(f"layer {number}, {name}", scales))
        return replace(linear, weight=values, scales=scales.flatten(), input_scale=input_scale)

    changed = {
        "gate_up": quantised("gate and up", layer.gate_up),
        "down": quantised("down", layer.down, profile.gated_scales[number]),
    }
    if profile.has_attention:
        changed["qkv"] = quantised("q, k and v", layer.qkv)
        changed["out"] = quantised("o", layer.out, profile.attention_scales[number])
    return replace(layer, **changed)
