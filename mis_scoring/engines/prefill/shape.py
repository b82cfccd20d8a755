"""Which decoders the engine computes, as sizes; whatever else a config.json asks for is refused by name."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mis_scoring.engines.architecture import ArchitectureError, read_config
from mis_scoring.engines.checkpoint import file_faults

QKV_BIAS = {"qwen2": True, "qwen3": False, "llama": False}
HEAD_NORM = {"qwen2": False, "qwen3": True, "llama": False}
ALIGNMENT = 16  # elements: of a row in memory, for loads of 16 bytes in one byte a value


@dataclass(frozen=True, kw_only=True)
class DecoderShape:
    """The sizes of a decoder.

    Attributes:
        n_kv_heads: keys and values; `group` heads share one.
        has_head_norm: RMSNorm over each head of queries and keys, before the rotation.
        is_tied: the embedding is the head.
    """

    vocab_size: int
    hidden: int
    intermediate: int
    n_layers: int
    n_heads: int
    n_kv_heads: int
    head_dim: int
    eps: float
    max_positions: int
    has_qkv_bias: bool
    has_head_norm: bool
    is_tied: bool

    @property
    def group(self) -> int:
        """Heads that share a key."""
        return self.n_heads // self.n_kv_heads

    @property
    def query_width(self) -> int:
        """Columns of all queries."""
        return self.n_heads * self.head_dim

    @property
    def kv_width(self) -> int:
        """Columns of all keys, and of all values."""
        return self.n_kv_heads * self.head_dim

    @property
    def qkv_width(self) -> int:
        """Columns of queries, keys and values, in this order."""
        return self.query_width + 2 * self.kv_width


def read_shape(folder: Path) -> DecoderShape:
    """Read a checkpoint's shape.

    Raises:
        ArchitectureError: lists every reason why the engine does not compute it.
    """
    config = read_config(folder)
    if faults := shape_faults(config) + file_faults(folder):
        raise ArchitectureError(str(folder), faults)
    heads = config["num_attention_heads"]
    return DecoderShape(
        vocab_size=config["vocab_size"],
        hidden=config["hidden_size"],
        intermediate=config["intermediate_size"],
        n_layers=config["num_hidden_layers"],
        n_heads=heads,
        n_kv_heads=config.get("num_key_value_heads") or heads,
        head_dim=_head_dim(config),
        eps=config.get("rms_norm_eps", 1e-6),
        max_positions=config["max_position_embeddings"],
        has_qkv_bias=QKV_BIAS[config["model_type"]],
        has_head_norm=HEAD_NORM[config["model_type"]],
        is_tied=bool(config.get("tie_word_embeddings", False)),
    )


def shape_faults(config: Mapping[str, Any]) -> list[str]:
    """Return what in a config.json this engine does not compute beyond `architecture_faults`, one sentence a fault."""
    sizes = ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads")
    faults = [f"{name} is {config.get(name)!r}; it must be a positive number" for name in sizes if not config.get(name)]
    if faults:
        return faults
    if config.get("hidden_act", "silu") != "silu":
        faults.append(f"hidden_act is {config['hidden_act']!r}; the gate is computed as silu")
    # Qwen2 always has biases on q, k and v, whatever it says here
    faults += [f"{name} is true; only q, k and v of Qwen2 have biases here" for name in _biases(config)]
    heads, kv_heads = config["num_attention_heads"], config.get("num_key_value_heads") or config["num_attention_heads"]
    if heads % kv_heads:
        faults.append(f"num_attention_heads {heads} is no multiple of num_key_value_heads {kv_heads}")
    if config["hidden_size"] % ALIGNMENT or _head_dim(config) % ALIGNMENT:
        dims = f"hidden_size {config['hidden_size']} and head_dim {_head_dim(config)}"
        faults.append(f"{dims} must be multiples of {ALIGNMENT}, as the kernels load")
    rope = config.get("rope_parameters") or {}
    partial = rope.get("partial_rotary_factor", config.get("partial_rotary_factor", 1.0))
    if partial != 1.0:
        faults.append(f"partial_rotary_factor is {partial}; the whole head is rotated")
    return faults


def _biases(config: Mapping[str, Any]) -> list[str]:
    named = () if config.get("model_type") == "qwen2" else ("attention_bias",)
    return [name for name in (*named, "mlp_bias") if config.get(name)]


def _head_dim(config: Mapping[str, Any]) -> int:
    return int(config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"])
