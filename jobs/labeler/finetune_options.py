"""What a person may choose about a fine-tuning run."""

from dataclasses import asdict, dataclass
from typing import Any

from mis_scoring.training.adapter import LoraShape

FULL_LEARNING_RATE = 2e-4
LORA_LEARNING_RATE = 1e-3  # small matrices that start at nothing bear, and want, larger steps
DTYPES = ("bfloat16", "float32")


@dataclass(frozen=True, kw_only=True)
class FinetuneOptions:
    """What decides the weights, beside the base, the contract and the pairs.

    Attributes:
        lora: train an adapter of `lora_rank` and `lora_alpha` instead of all weights.
        packed: a profile once with up to `items_per_example` items, or a copy of it an item: the same gradients.
        steps: optimizer steps, instead of epochs.
        learning_rate: at its peak; None: 2e-4, with LoRA 1e-3.
        pairs_per_step: pairs whose gradients add up to one step.
        tokens_per_batch: padded tokens on the device at once; bounds its memory, and the length of a pair.
        dtype: of the written weights.
        bfloat16: autocast; None: on a GPU only.
        validation_members: of the validation split, the first so many; None for all.
    """

    lora: bool = False
    lora_rank: int = 16
    lora_alpha: int = 32
    packed: bool = True
    epochs: int = 3
    steps: int | None = None
    seed: int = 0
    learning_rate: float | None = None
    weight_decay: float = 0.01
    items_per_example: int = 16
    pairs_per_step: int = 64
    tokens_per_batch: int = 16_384
    dtype: str = "bfloat16"
    bfloat16: bool | None = None
    validation_members: int | None = 200

    @property
    def kind(self) -> str:
        """Full or lora."""
        return "lora" if self.lora else "full"

    @property
    def lora_shape(self) -> LoraShape | None:
        """The adapter's size, None where all weights are trained."""
        return LoraShape(rank=self.lora_rank, alpha=self.lora_alpha) if self.lora else None

    @property
    def peak_learning_rate(self) -> float:
        """The learning rate that holds."""
        default = LORA_LEARNING_RATE if self.lora else FULL_LEARNING_RATE
        return default if self.learning_rate is None else self.learning_rate

    def faults(self) -> list[str]:
        """Return what makes no sense, one sentence a fault."""
        names = ("lora_rank", "lora_alpha", "epochs", "steps", "items_per_example", "pairs_per_step")
        counts = {name: getattr(self, name) for name in (*names, "tokens_per_batch", "validation_members")}
        faults = [f"{name} is {n}: want at least 1" for name, n in counts.items() if n is not None and n < 1]
        if not self.peak_learning_rate > 0:
            faults.append(f"learning_rate is {self.learning_rate}: want more than 0")
        if self.dtype not in DTYPES:
            faults.append(f"dtype is {self.dtype!r}: want one of {', '.join(DTYPES)}")
        return faults

    def as_dict(self) -> dict[str, Any]:
        """Return the options with the learning rate that holds."""
        return asdict(self) | {"learning_rate": self.peak_learning_rate}
