"""The decoder that is trained: Qwen3-shaped, small, and servable by the GPU engine.

The GPU engine's attention kernels are compiled for 2 (or 8) KV heads of 128 dimensions, and its packed format needs
a vocabulary of more than 10,000 tokens: hence the shape.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, kw_only=True)
class DecoderShape:
    """Sizes of the decoder; the default has 4.9 million parameters (9.8 MB in bfloat16)."""

    vocab_size: int = 10_240
    hidden_size: int = 192
    intermediate_size: int = 704
    n_layers: int = 4
    n_heads: int = 4
    n_kv_heads: int = 2
    head_dim: int = 128
    max_tokens: int = 4_096
    rope_theta: float = 10_000.0


def make_decoder(shape: DecoderShape, *, seed: int) -> Any:
    """Return a Qwen3ForCausalLM in float32 with seeded weights and tied embeddings."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.manual_seed(seed)
    config: Any = Qwen3Config(
        vocab_size=shape.vocab_size,
        hidden_size=shape.hidden_size,
        intermediate_size=shape.intermediate_size,
        num_hidden_layers=shape.n_layers,
        num_attention_heads=shape.n_heads,
        num_key_value_heads=shape.n_kv_heads,
        head_dim=shape.head_dim,
        max_position_embeddings=shape.max_tokens,
        rope_parameters={"rope_type": "default", "rope_theta": shape.rope_theta},
        tie_word_embeddings=True,
        use_cache=False,
        bos_token_id=None,
        eos_token_id=None,
    )
    config._attn_implementation = "sdpa"
    return Qwen3ForCausalLM(config)


def mis_attention_mask(segment_ids: "torch.Tensor") -> "torch.Tensor":
    """Return which keys each token may see: (B, 1, T, T) bool, rows are queries.

    A token sees the earlier tokens and itself, of the query segment and of its own item; padding sees itself alone,
    so that no row is empty. Source: arXiv 2610.36383, equation 4.
    """
    import torch

    n_tokens = segment_ids.shape[1]
    row, column = segment_ids[:, :, None], segment_ids[:, None, :]
    causal = torch.ones(n_tokens, n_tokens, dtype=torch.bool, device=segment_ids.device).tril()
    seen = causal & ((row == column) | (column == 0)) & (row >= 0)
    diagonal = torch.eye(n_tokens, dtype=torch.bool, device=segment_ids.device)
    return (seen | diagonal)[:, None]


def last_hidden(decoder: Any, token_ids: Any, position_ids: Any, segment_ids: Any) -> Any:
    """Return the hidden states (B, T, d) of packed rows under the MIS mask."""
    mask = mis_attention_mask(segment_ids)  # four dimensions: transformers takes it as it is
    return decoder.model(
        input_ids=token_ids, position_ids=position_ids, attention_mask=mask, use_cache=False
    ).last_hidden_state
