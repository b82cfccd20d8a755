"""What labelling these members took: tokens by the cost model, seconds by the clock, both over the pairs scored."""

from collections.abc import Sequence
from dataclasses import dataclass

from mis_scoring.core.cost import independent_tokens, mis_tokens


@dataclass(kw_only=True)
class LabelCost:
    """A running sum over requests.

    Attributes:
        query_tokens, item_tokens: read by all requests together; a query counts once a request.
        independent_tokens: what one request a pair would read.
        longest_prompt: tokens of the longest single pair.
        seconds: in the engine alone.
    """

    n_pairs: int = 0
    n_requests: int = 0
    query_tokens: int = 0
    item_tokens: int = 0
    independent_tokens: int = 0
    longest_prompt: int = 0
    seconds: float = 0.0

    def add(self, query_tokens: int, item_tokens: Sequence[int], seconds: float) -> None:
        """Count one request."""
        self.n_pairs += len(item_tokens)
        self.n_requests += 1
        self.query_tokens += query_tokens
        self.item_tokens += mis_tokens(query_tokens, item_tokens) - query_tokens
        self.independent_tokens += independent_tokens(query_tokens, item_tokens)
        self.longest_prompt = max(self.longest_prompt, query_tokens + max(item_tokens))
        self.seconds += seconds

    def add_all(self, other: "LabelCost") -> None:
        """Count the requests of another sum."""
        self.longest_prompt = max(self.longest_prompt, other.longest_prompt)
        for name in ("n_pairs", "n_requests", "query_tokens", "item_tokens", "independent_tokens", "seconds"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def token_figures(self) -> dict[str, float]:
        """Return what does not depend on the machine."""
        tokens = self.query_tokens + self.item_tokens
        return {
            "n_pairs": self.n_pairs,
            "tokens_per_pair": round(tokens / self.n_pairs, 2),
            "tokens_per_pair_alone": round(self.independent_tokens / self.n_pairs, 2),
            "mean_query_tokens": round(self.query_tokens / self.n_requests, 2),
            "mean_item_tokens": round(self.item_tokens / self.n_pairs, 2),
            "longest_prompt_tokens": self.longest_prompt,
        }

    def time_figures(self) -> dict[str, float]:
        """Return what the clock said."""
        return {
            "seconds": round(self.seconds, 3),
            "milliseconds_per_pair": round(1000.0 * self.seconds / self.n_pairs, 4),
            "pairs_per_s": round(self.n_pairs / self.seconds, 1) if self.seconds else float("nan"),
        }
