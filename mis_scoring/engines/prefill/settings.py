"""How the engine is set up: plain values, checked at once. None of them changes a score but dtype and quantisation."""

from dataclasses import dataclass
from typing import ClassVar

from mis_scoring.engines.engine_options import EngineOptions
from mis_scoring.engines.prefill.fp8 import ALL, MLP, NO_QUANTISATION

DTYPES = ("bfloat16", "float32")
ATTENTIONS = ("auto", "hopper", "portable", "reference", "tiled")
MOST_TOKENS = 98_304  # of a forward: as far as products were compared, and where 32 bits still hold an offset
_POSITIVE = ("max_forward_tokens", "token_budget", "max_items", "max_item_tokens", "n_concurrent")


@dataclass(frozen=True, kw_only=True)
class PrefillSettings(EngineOptions):
    """Sizes, dtypes and what to verify.

    Attributes:
        device: `cuda`, or `cpu` with the plain kernels, for tests.
        dtype: of weights and activations; float32 on a CPU alone.
        quantisation: `none`, or what the checkpoint's fp8 profile says.
        attention: `auto` takes `hopper` where it can, else `portable`.
        max_forward_tokens: the longest request; a longer one is split, and pays for its query again.
        token_budget: what a forward of several requests is filled up to.
        max_items: of a forward; max_item_tokens: of an item.
        memory_share: of the free memory at the start, for all buffers together: a bound.
        n_concurrent: requests under way, so that the next forward is ready when one ends.
        rounding: how far a margin may be from that of another engine in 16 bits; None: what the dtype explains.
        verify: check at the start that a pair's bits do not depend on its company; False: it is not claimed.
    """

    engine: ClassVar[str] = "prefill"
    device: str = "cuda"
    dtype: str = "bfloat16"
    quantisation: str = NO_QUANTISATION
    attention: str = "auto"
    max_forward_tokens: int = 65_536
    token_budget: int = 24_576
    max_items: int = 8_192
    max_item_tokens: int = 8_192
    memory_share: float = 0.5
    n_concurrent: int = 16
    rounding: float | None = None
    verify: bool = True

    @property
    def is_gpu(self) -> bool:
        """Whether it runs on a GPU."""
        return self.device != "cpu"

    @property
    def expected_rounding(self) -> float:
        """What the canary tolerates against another engine; of fp8 no labeler's own figure is known before its gate."""
        if self.rounding is not None:
            return self.rounding
        if self.quantisation != NO_QUANTISATION:
            return 1.0
        return 0.125 if self.dtype == "bfloat16" else 1e-4

    def faults(self) -> list[str]:
        """See `EngineOptions`."""
        chosen = {"dtype": DTYPES, "quantisation": (NO_QUANTISATION, MLP, ALL), "attention": ATTENTIONS}
        faults = [
            f"{name} is {getattr(self, name)!r}; known: {', '.join(known)}"
            for name, known in chosen.items()
            if getattr(self, name) not in known
        ]
        faults += [f"{n} is {getattr(self, n)!r}; it must be above 0" for n in _POSITIVE if not getattr(self, n) > 0]
        if self.device not in ("cpu", "cuda"):
            faults.append(f"device is {self.device!r}; known: cpu, cuda (CUDA_VISIBLE_DEVICES chooses one)")
        if self.dtype == "float32" and self.is_gpu:
            faults.append("dtype is 'float32'; a GPU's kernels compute in bfloat16")
        if self.rounding is not None and not self.rounding > 0:
            faults.append(f"rounding is {self.rounding!r}; it must be above 0")
        if not 0 < self.memory_share < 1:
            faults.append(f"memory_share is {self.memory_share!r}; it must lie between 0 and 1")
        if self.max_forward_tokens > MOST_TOKENS:
            faults.append(f"max_forward_tokens is {self.max_forward_tokens}; at most {MOST_TOKENS}")
        if self.token_budget > self.max_forward_tokens:
            faults.append(f"token_budget {self.token_budget} is above max_forward_tokens {self.max_forward_tokens}")
        return faults
