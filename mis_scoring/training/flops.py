"""What a training step must compute at the least, and how fast a device could do it at its best.

A weight that meets a token costs 2 floating-point operations forward and 4 backward (2 for the gradient of its input,
2 for its own); a frozen weight has no gradient of its own and costs 4 in all. So, for T tokens and P pairs:

    matrices:  6 * n_body * T + 6 * n_head * P       (full; the head is read at the P answer positions only)
               4 * n_body * T + 4 * n_head * P + 6 * n_adapter * T       (LoRA)
    attention: 12 * n_layers * n_heads * head_dim * A

A counts the (token, seen token) pairs of the MIS mask: a query of q tokens has q(q+1)/2, an item of c tokens on it
c*q + c(c+1)/2. Both QK' and the weighted sum take 2 * head_dim a pair and head forward, twice that backward. Padding,
norms, rotations, the embedding's look-up and the optimizer are left out: this is the limit, not the work done.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mis_scoring.training.examples import TrainingExample

# dense bfloat16, from the makers' data sheets; the name is as torch gives it
PEAK_FLOPS: Mapping[str, float] = {"H200": 989e12}


@dataclass(frozen=True, kw_only=True)
class ModelSize:
    """What the formula needs of a decoder.

    Attributes:
        n_body: weights of the layers' matrices, without an adapter's.
        n_head: weights of the output head.
        n_adapter: weights of the adapter, 0 when all weights are trained.
        n_attention: n_layers * n_heads * head_dim.
    """

    n_body: int
    n_head: int
    n_adapter: int
    n_attention: int

    @classmethod
    def of(cls, decoder: Any) -> "ModelSize":
        """Count a decoder's weights; those that stand in `lora_` modules are the adapter's."""
        config = decoder.config
        matrices = {n: p.numel() for n, p in decoder.model.named_parameters() if p.dim() == 2 and "embed_" not in n}
        adapter = sum(size for name, size in matrices.items() if "lora_" in name)
        head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        return cls(
            n_body=sum(matrices.values()) - adapter,
            n_head=decoder.lm_head.weight.numel(),
            n_adapter=adapter,
            n_attention=config.num_hidden_layers * config.num_attention_heads * head_dim,
        )


def seen_pairs(query_tokens: int, item_tokens: list[int]) -> int:
    """Return A, the (token, seen token) pairs of one packed example under the MIS mask."""
    query = query_tokens * (query_tokens + 1) // 2
    return query + sum(c * query_tokens + c * (c + 1) // 2 for c in item_tokens)


def example_flops(size: ModelSize, example: TrainingExample) -> float:
    """Return the operations of one example's forward and backward pass."""
    lengths = [len(item) for item in example.items]
    tokens, pairs = example.n_tokens, len(lengths)
    a_weight = 4 if size.n_adapter else 6
    matrices = a_weight * (size.n_body * tokens + size.n_head * pairs) + 6 * size.n_adapter * tokens
    return float(matrices + 12 * size.n_attention * seen_pairs(len(example.query), lengths))


def peak_flops(device_name: str | None) -> float | None:
    """Return a device's peak in dense bfloat16, or None for a CPU and for a device that the table has not."""
    return next((peak for name, peak in PEAK_FLOPS.items() if device_name and name in device_name), None)


def throughput(*, flops: float, n_pairs: int, seconds: float, peak: float | None) -> dict[str, float | None]:
    """Return pairs/s beside what the peak would allow; the limit is None where no peak is known."""
    limit = peak * n_pairs / flops if peak and flops else None
    pairs_per_s = n_pairs / seconds if seconds else 0.0
    return {
        "flops_per_pair": flops / n_pairs if n_pairs else 0.0,
        "flops_per_s": flops / seconds if seconds else 0.0,
        "peak_flops_per_s": peak,
        "pairs_per_s": pairs_per_s,
        "limit_pairs_per_s": limit,
        "share_of_limit": pairs_per_s / limit if limit else None,
    }
