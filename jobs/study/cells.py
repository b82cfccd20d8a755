"""The cells of the study's table: which model is tuned how, on how many pairs, from which seed."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

SCORING = "semantic_scoring"
GENERATION = "packed_generation"
FULL, LORA = "full", "lora"
CHAT, COMPACT = "chat", "compact"
METHODS = (SCORING, GENERATION)
SMOLLM2_135M = "smollm2-135m"
SMALL = "small"  # the shape of labelers/esco-small, from random weights
BUNDLED = "esco-small"  # labelers/esco-small as it is, not tuned: 0 pairs


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One training and its evaluation.

    Attributes:
        n_pairs: labelled pairs; the pairs of a smaller size lie within those of a larger one.
        n_passes: how often each pair is met; the same for both methods.
        layout: of scoring's prompts; packed generation has one prompt a base, in the chat format where there is one.
        tuned: all weights, or an adapter (LoRA).
    """

    model: str
    method: str
    n_pairs: int
    n_passes: int
    seed: int
    layout: str
    tuned: str = FULL

    def as_dict(self) -> dict[str, str | int]:
        """Return the fields, for a result line."""
        return asdict(self)


def passes_of(n_pairs: int) -> int:
    """Return how many passes a size gets: small sizes need more steps to settle, whatever the method."""
    bounds = ((2_000, 16), (8_000, 8), (32_000, 5), (128_000, 3), (512_000, 2), (2_000_000, 2))
    return next((passes for bound, passes in bounds if n_pairs <= bound), 1)


def layout_of(model: str) -> str:
    """Return the layout that a base's cells use unless another is asked for."""
    return CHAT if model == SMOLLM2_135M else COMPACT


def plan(
    sizes: Sequence[int],
    *,
    models: Sequence[str],
    seeds: Sequence[int],
    methods: Sequence[str] = METHODS,
    layout: str = "",
    tuned: str = FULL,
) -> list[Cell]:
    """Return all cells, those that matter most first: a stopped run keeps whole comparisons.

    Args:
        layout: "" for each base's own.
    """
    return [
        Cell(
            model=model,
            method=method,
            n_pairs=size,
            n_passes=passes_of(size),
            seed=seed,
            layout=layout or layout_of(model),
            tuned=tuned,
        )
        for seed in seeds
        for model in models
        for size in sizes
        for method in methods
    ]
