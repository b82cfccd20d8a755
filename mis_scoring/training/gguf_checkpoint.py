"""Turn a Llama-shaped GGUF file, as llama.cpp reads it, into a checkpoint folder: bfloat16 safetensors and JSON.

Own code, for the common path loses the digit pre-tokenizer of SmolLM2 and then reads "x  5" otherwise than the model
was trained. What the file has and this does not know is refused, never guessed.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mis_scoring.core.errors import DataError
from mis_scoring.training.gguf_tokenizer import gguf_tokenizer, tokenizer_faults

_WHOLE = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight"}
_HEAD = "output.weight"  # left out where the head is the embedding
_LAYER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_SIZES = {
    "hidden_size": "embedding_length",
    "intermediate_size": "feed_forward_length",
    "num_hidden_layers": "block_count",
    "num_attention_heads": "attention.head_count",
    "num_key_value_heads": "attention.head_count_kv",
    "head_dim": "rope.dimension_count",
    "max_position_embeddings": "context_length",
    "rms_norm_eps": "attention.layer_norm_rms_epsilon",
    "rope_theta": "rope.freq_base",
}
_IDS = {"bos_token_id": "bos_token_id", "eos_token_id": "eos_token_id", "pad_token_id": "padding_token_id"}


class GgufError(DataError):
    """A GGUF file is no model that can be converted, all faults listed."""

    def __init__(self, path: Path, faults: Sequence[str]) -> None:
        self.faults = list(faults)
        super().__init__("\n".join([f"{path} cannot be converted:", *(f"  - {fault}" for fault in faults)]))


def convert_gguf(path: Path, folder: Path) -> None:
    """Write config.json, model.safetensors (bfloat16) and tokenizer.json.

    Raises:
        GgufError: the file is no GGUF, or has another shape or tokenizer; all faults are listed.
    """
    from safetensors.torch import save_file

    reader = _open(path)
    fields = {name: field.contents() for name, field in reader.fields.items()}
    faults = [*_field_faults(fields), *tokenizer_faults(fields)]
    faults += [] if faults else _tensor_faults([t.name for t in reader.tensors], int(fields["llama.block_count"]))
    if faults:
        raise GgufError(path, faults)
    config = llama_config(fields, is_tied=all(t.name != _HEAD for t in reader.tensors))
    folder.mkdir(parents=True, exist_ok=True)
    save_file(dict(_weights(reader, config)), str(folder / "model.safetensors"), metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    gguf_tokenizer(fields).save(str(folder / "tokenizer.json"))


def llama_config(fields: Mapping[str, Any], *, is_tied: bool) -> dict[str, Any]:
    """Return the config.json of a file's fields."""
    # The file has float32: 9.999999747e-06 is 1e-05.
    sizes = {name: fields[f"llama.{key}"] for name, key in _SIZES.items()}
    sizes = {name: float(f"{value:.6g}") if isinstance(value, float) else value for name, value in sizes.items()}
    ids = {name: fields.get(f"tokenizer.ggml.{key}") for name, key in _IDS.items()}
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "dtype": "bfloat16",
        "hidden_act": "silu",
        "attention_bias": False,
        "mlp_bias": False,
        "rope_parameters": {"rope_type": "default", "rope_theta": sizes["rope_theta"]},
        "tie_word_embeddings": is_tied,
        "vocab_size": len(fields["tokenizer.ggml.tokens"]),
        **sizes,
        **ids,
    }


def unpermuted(rows: Any, n_heads: int) -> Any:
    """Return query or key rows in the order of a checkpoint.

    A rotation turns pairs of a head's dimensions. GGUF stores the two of a pair side by side, a checkpoint all first
    ones before all second ones.
    """
    n_rows, n_columns = rows.shape
    pairs = rows.reshape(n_heads, n_rows // n_heads // 2, 2, n_columns)
    return pairs.swapaxes(1, 2).reshape(n_rows, n_columns)


def _open(path: Path) -> Any:
    from gguf import GGUFReader

    try:
        return GGUFReader(path)
    except (OSError, ValueError, IndexError) as error:
        raise GgufError(path, [f"it cannot be read as GGUF: {error}"]) from error


def _field_faults(fields: Mapping[str, Any]) -> list[str]:
    architecture = fields.get("general.architecture")
    if architecture != "llama":
        return [f"general.architecture is {architecture!r}; known: 'llama'"]
    missing = [f"llama.{key} is missing" for key in _SIZES.values() if f"llama.{key}" not in fields]
    scaled = [f"{name} is {fields[name]!r}; rotations are not scaled" for name in fields if ".rope.scaling" in name]
    return missing + scaled + ([] if missing else _head_faults(fields))


def _head_faults(fields: Mapping[str, Any]) -> list[str]:
    heads, width = fields["llama.attention.head_count"], fields["llama.rope.dimension_count"]
    if isinstance(heads, int) and heads * width == fields["llama.embedding_length"]:
        return []
    return [f"{heads} heads of {width} dimensions are not {fields['llama.embedding_length']}"]


def _tensor_faults(names: Sequence[str], n_layers: int) -> list[str]:
    wanted = {*_WHOLE, *(f"blk.{i}.{part}.weight" for i in range(n_layers) for part in _LAYER)}
    missing = [f"tensor {name} is missing" for name in sorted(wanted - set(names))]
    return missing + [f"tensor {name} is unknown" for name in sorted(set(names) - wanted - {_HEAD})]


def _weights(reader: Any, config: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    import torch
    from gguf import dequantize

    heads = {"attn_q": config["num_attention_heads"], "attn_k": config["num_key_value_heads"]}
    for tensor in reader.tensors:
        values = dequantize(tensor.data, tensor.tensor_type)
        part = tensor.name.split(".")[-2]
        if part in heads:
            values = unpermuted(values, heads[part])
        yield _name(tensor.name), torch.tensor(values, dtype=torch.float32).to(torch.bfloat16)


def _name(gguf_name: str) -> str:
    if gguf_name.startswith("blk."):
        _, layer, part, _ = gguf_name.split(".")
        return f"model.layers.{layer}.{_LAYER[part]}.weight"
    return "lm_head.weight" if gguf_name == _HEAD else _WHOLE[gguf_name]
