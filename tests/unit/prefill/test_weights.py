"""The fused layout of each family's checkpoints, and what is refused."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from mis_scoring.engines.architecture import ArchitectureError
from mis_scoring.engines.prefill.layout import in_turns
from mis_scoring.engines.prefill.rotary import rotary_table
from mis_scoring.engines.prefill.shape import read_shape
from mis_scoring.engines.prefill.weights import load_weights
from tests.unit.conftest import write_checkpoint

TURN = 64


def test_a_layer_computes_what_the_models_own_linears_do(checkpoint: Path) -> None:
    from transformers import AutoModelForCausalLM

    shape = read_shape(checkpoint)
    weights = load_weights(checkpoint, shape, dtype="float32", device="cpu", turn=TURN)
    theirs: Any = AutoModelForCausalLM.from_pretrained(checkpoint).model.layers[1]
    ours = weights.layers[1]
    x = torch.randn(5, shape.hidden, generator=torch.Generator().manual_seed(0))
    attention = theirs.self_attn
    with torch.inference_mode():
        qkv = torch.cat([attention.q_proj(x), attention.k_proj(x), attention.v_proj(x)], dim=1)
        close(torch.nn.functional.linear(x, ours.qkv.weight, ours.qkv.bias), qkv)
        part = ours.qkv.part(shape.query_width, shape.qkv_width)
        close(torch.nn.functional.linear(x, part.weight, part.bias), qkv[:, shape.query_width :])
        gate, up = (x @ ours.gate_up.weight.T).unflatten(1, (-1, 2, TURN)).unbind(2)
        gated = (torch.nn.functional.silu(gate) * up).flatten(1)
        assert gated.shape[1] == 128 and not gated[:, shape.intermediate :].any(), "96 filled up to whole turns"
        close(gated @ ours.down.weight.T, theirs.mlp(x))
    assert (ours.query_norm is not None) == shape.has_head_norm == hasattr(attention, "q_norm")


def close(found: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


def test_gate_and_up_come_in_turns() -> None:
    gate, up = torch.arange(4.0)[:, None], 10 + torch.arange(4.0)[:, None]
    assert in_turns(gate, up, 2).flatten().tolist() == [0, 1, 10, 11, 2, 3, 12, 13]
    assert in_turns(gate[:3], up[:3], 2).flatten().tolist() == [0, 1, 10, 11, 2, 0, 12, 0]


@pytest.mark.parametrize(
    "rope",
    [
        {"rope_type": "default", "rope_theta": 5e5},
        {"rope_type": "linear", "factor": 4.0, "rope_theta": 1e4},
        {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
        | {"original_max_position_embeddings": 64, "rope_theta": 5e5},
        {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64, "rope_theta": 1e4},
    ],
    ids=lambda rope: rope["rope_type"],
)
def test_rotations_are_those_of_transformers(rope: dict[str, Any], tmp_path: Path) -> None:
    from transformers import AutoConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    write_checkpoint(tmp_path, "llama", rope_parameters=rope)
    theirs: Any = LlamaRotaryEmbedding(AutoConfig.from_pretrained(tmp_path))
    cos, sin = theirs(torch.zeros(1), torch.arange(256)[None])
    table = rotary_table(tmp_path, n_positions=256, head_dim=16)
    close(table, torch.cat([cos[0, :, :8], sin[0, :, :8]], dim=1))


def test_every_tensor_must_be_known_there_and_of_its_shape(qwen3: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(qwen3, tmp_path / "copy")
    tensors = load_file(folder / "model.safetensors")
    tensors["model.layers.0.mlp.down_proj.bias"] = torch.zeros(48)
    del tensors["model.layers.1.self_attn.q_norm.weight"]
    tensors["model.norm.weight"] = torch.zeros(47)
    save_file(tensors, folder / "model.safetensors")
    with pytest.raises(ArchitectureError) as caught:
        load_weights(folder, read_shape(folder), dtype="float32", device="cpu", turn=TURN)
    assert len(caught.value.faults) == 3
    for word in ("down_proj.bias is unknown", "q_norm.weight is missing", "expected [48]"):
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"hidden_act": "gelu"}, "silu"),
        ({"attention_bias": True}, "attention_bias"),
        ({"num_key_value_heads": 3}, "no multiple"),
        ({"hidden_size": 40}, "multiples of 16"),
        ({"partial_rotary_factor": 0.5}, "partial_rotary_factor"),
        ({"sliding_window": 32, "use_sliding_window": True}, "sliding_window"),
    ],
)
def test_what_the_engine_does_not_compute_is_refused_by_name(
    qwen3: Path, tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    config = json.loads((qwen3 / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | change))
    shutil.copy(qwen3 / "model.safetensors", tmp_path)
    with pytest.raises(ArchitectureError, match=said):
        read_shape(tmp_path)
