"""Floating-point operations of a forward pass: 2 a weight and token, 4 a visible key and head dimension.

Embedding look-ups count nothing, the output rows that are read count 2 a weight. A training step takes three times the
forward pass.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from mis_scoring.training.flops import seen_pairs


@dataclass(frozen=True, kw_only=True)
class ForwardCost:
    """What decides a decoder's operations.

    Attributes:
        weights: all but the embedding.
        attention_width: heads x head dimension x layers.
    """

    weights: int
    attention_width: int
    hidden_size: int
    vocab_size: int

    @classmethod
    def of(cls, decoder: Any) -> "ForwardCost":
        """Read a decoder's shape."""
        config = decoder.config
        head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        embedding = decoder.get_input_embeddings().weight.numel()
        return cls(
            weights=sum(p.numel() for p in decoder.parameters()) - embedding,
            attention_width=config.num_attention_heads * head_dim * config.num_hidden_layers,
            hidden_size=config.hidden_size,
            vocab_size=config.vocab_size,
        )

    def flops(self, *, n_tokens: int, n_visible: int, n_output_rows: int) -> float:
        """Return operations.

        Args:
            n_tokens: through the layers.
            n_visible: keys seen, summed over the tokens.
            n_output_rows: (token, vocabulary row) products of the output head.
        """
        return (
            2.0 * self.weights * n_tokens
            + 4.0 * self.attention_width * n_visible
            + 2.0 * self.hidden_size * n_output_rows
        )

    def packed_scoring(self, query_tokens: int, item_tokens: Iterable[int]) -> float:
        """Return the operations of scoring the items of one query in one pass under the MIS mask."""
        lengths = list(item_tokens)
        return self.flops(
            n_tokens=query_tokens + sum(lengths),
            n_visible=seen_pairs(query_tokens, lengths),
            n_output_rows=2 * len(lengths),
        )

    def list_generation(self, prompt_tokens: int, generated_tokens: int) -> float:
        """Return the operations of one prompt's prefill and of decoding its list with a cache."""
        n_tokens = prompt_tokens + generated_tokens - 1  # the last token generated is never fed back
        return self.flops(
            n_tokens=n_tokens, n_visible=seen_pairs(n_tokens, []), n_output_rows=generated_tokens * self.vocab_size
        )


def training_flops(cost: ForwardCost, n_tokens: float) -> float:
    """Return the operations of training on tokens, attention left out: 6 a weight and token."""
    return 3.0 * cost.flops(n_tokens=int(n_tokens), n_visible=0, n_output_rows=0)


def per_label(flops: Sequence[float], n_labels: int) -> float:
    """Return operations a label."""
    return sum(flops) / n_labels
