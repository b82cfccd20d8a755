"""A tiny Llama as a GGUF file, written from a checkpoint the way llama.cpp's converter does."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tests.chat_tokenizer import CHAT_TOKENS, write_chat_tokenizer

HEADS, KV_HEADS, HEAD_DIM = 4, 2, 8
NAMES = {
    "model.embed_tokens.weight": "token_embd.weight",
    "model.norm.weight": "output_norm.weight",
    "lm_head.weight": "output.weight",
}
PARTS = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def tiny_llama(vocab_size: int, *, is_tied: bool) -> Any:
    """Return a LlamaForCausalLM of two layers whose weights bfloat16 can hold."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(3)
    config = LlamaConfig(
        vocab_size=vocab_size,
        hidden_size=HEADS * HEAD_DIM,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=HEADS,
        num_key_value_heads=KV_HEADS,
        head_dim=HEAD_DIM,
        max_position_embeddings=128,
        rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": 100_000.0},
        tie_word_embeddings=is_tied,
        initializer_range=0.3,
    )
    decoder: Any = LlamaForCausalLM(config).eval()
    for weight in decoder.parameters():  # not the whole model: its rotations are no weights and stay in float32
        weight.data = weight.data.to(torch.bfloat16).float()
    return decoder


def write_gguf(
    path: Path,
    tokenizer_json: Path,
    decoder: Any,
    *,
    changes: Mapping[str, Any] | None = None,
    without: str = "",
    quantised: str = "",
) -> None:
    """Write a decoder and its tokenizer as GGUF.

    Args:
        changes: fields of other values; a None leaves a field out.
        without: a tensor to leave out.
        quantised: the end of the names of tensors to store in 8 bits.
    """
    import gguf

    writer = gguf.GGUFWriter(path, "llama")
    for name, value in (fields_of(tokenizer_json, decoder.config) | dict(changes or {})).items():
        if name == "general.architecture":
            writer.kv_data[0][name].value = value
        elif value is not None:
            writer.add_key_value(name, value, *_types(value))
    for name, tensor in decoder.state_dict().items():
        if name == "lm_head.weight" and decoder.config.tie_word_embeddings:
            continue
        own = gguf_name(name)
        values = tensor.numpy()
        if ".attn_q." in own or ".attn_k." in own:
            values = permuted(values, HEADS if ".attn_q." in own else KV_HEADS)
        if quantised and own.endswith(quantised):
            kind = gguf.GGMLQuantizationType.Q8_0
            writer.add_tensor(own, gguf.quantize(values, kind), raw_dtype=kind)
        elif own != without:
            writer.add_tensor(own, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def permuted(rows: np.ndarray, n_heads: int) -> np.ndarray:
    """Interleave the halves of each head: row 0, row d/2, row 1, row d/2 + 1, ..."""
    width = len(rows) // n_heads
    order = [
        head * width + half * (width // 2) + i for head in range(n_heads) for i in range(width // 2) for half in (0, 1)
    ]
    return np.ascontiguousarray(rows[order])


def gguf_name(name: str) -> str:
    """Return a tensor's name in the file."""
    if name in NAMES:
        return NAMES[name]
    _, _, layer, part = name.removesuffix(".weight").split(".", 3)
    return f"blk.{layer}.{PARTS[part]}.weight"


def fields_of(tokenizer_json: Path, config: Any) -> dict[str, Any]:
    """Return a file's fields."""
    import json

    model = json.loads(tokenizer_json.read_text(encoding="utf-8"))["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].__getitem__)
    return {
        "llama.block_count": config.num_hidden_layers,
        "llama.context_length": config.max_position_embeddings,
        "llama.embedding_length": config.hidden_size,
        "llama.feed_forward_length": config.intermediate_size,
        "llama.attention.head_count": config.num_attention_heads,
        "llama.attention.head_count_kv": config.num_key_value_heads,
        "llama.attention.layer_norm_rms_epsilon": config.rms_norm_eps,
        "llama.rope.dimension_count": config.head_dim,
        "llama.rope.freq_base": config.rope_parameters["rope_theta"],
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [3 if token in CHAT_TOKENS else 1 for token in tokens],
        "tokenizer.ggml.merges": [" ".join(merge) for merge in model["merges"]],
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.padding_token_id": 2,
    }


def write_tiny_gguf(folder: Path, *, is_tied: bool = True, **settings: Any) -> tuple[Path, Path, Any]:
    """Write tokenizer and GGUF under a folder; return both and the decoder."""
    from tokenizers import Tokenizer

    folder.mkdir(parents=True, exist_ok=True)
    tokenizer_json = write_chat_tokenizer(folder / "source_tokenizer.json", has_normalizer=False)
    decoder = tiny_llama(Tokenizer.from_file(str(tokenizer_json)).get_vocab_size(), is_tied=is_tied)
    write_gguf(folder / "tiny.gguf", tokenizer_json, decoder, **settings)
    return folder / "tiny.gguf", tokenizer_json, decoder


def _types(value: Any) -> tuple[Any, ...]:
    from gguf import GGUFValueType as Type

    kinds = {bool: Type.BOOL, str: Type.STRING, int: Type.UINT32, float: Type.FLOAT32}
    return (Type.ARRAY, kinds[type(value[0])]) if isinstance(value, list) else (kinds[type(value)],)
