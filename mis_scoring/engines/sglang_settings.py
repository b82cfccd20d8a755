"""How an SGLang engine is set up: plain values, checked at once, and the arguments of `sglang.Engine` that they mean.

What must hold for right scores is not a setting: FlashInfer's attention, no radix cache and no chunked prefill beside
packed items, the head in float32, and requests for scores alone.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from mis_scoring.engines.engine_options import EngineOptions

METHODS = ("mis", "single", "single_cached")
DTYPES = ("bfloat16", "float16")
# What SGLang 0.5.17 keeps of the pool and of the context for itself.
_RESERVE_TOKENS = 16


@dataclass(frozen=True, kw_only=True)
class SGLangSettings(EngineOptions):
    """Sizes and times of one engine.

    Attributes:
        method: `mis`; for comparison `single`, a prompt an item, and `single_cached`, the same with a prefix cache.
        max_request_tokens: the longest packed request; a round that is longer is split, and pays for its query again.
            Activations grow with it: a packed request is never prefilled in chunks.
        max_prefill_tokens: of one forward pass, over several requests.
        max_total_tokens: keys and values that the engine may hold, for every engine of a GPU the same: one that
            measured the free memory instead would get what its neighbours left.
        memory_share: of the GPU's free memory at the start, for weights and keys and values together; a bound only.
        n_concurrent: requests under way, so that the next forward pass is ready when one ends.
        rounding: how far packing may move a margin in a 16-bit dtype; see `docs/gpu.md` for what was measured.
        mps: several engines share their GPU through CUDA's Multi-Process Service.
    """

    engine: ClassVar[str] = "sglang"
    method: str = "mis"
    dtype: str = "bfloat16"
    max_request_tokens: int = 32_768
    max_prefill_tokens: int = 24_576
    max_total_tokens: int = 98_304
    memory_share: float = 0.8
    n_concurrent: int = 16
    rounding: float = 0.125
    start_timeout_s: float = 600.0
    request_timeout_s: float = 300.0
    mps: bool = False

    def engine_arguments(self, checkpoint_dir: Path) -> dict[str, Any]:
        """Return what `sglang.Engine` is made with."""
        return {
            "model_path": str(checkpoint_dir),
            "trust_remote_code": False,
            "skip_tokenizer_init": True,
            "dtype": self.dtype,
            "enable_fp32_lm_head": True,
            "attention_backend": "flashinfer",
            "sampling_backend": "pytorch",
            "grammar_backend": "none",
            "enable_mis": self.method == "mis",
            "disable_radix_cache": self.method != "single_cached",
            "chunked_prefill_size": -1,
            "disable_prefill_cuda_graph": True,
            "disable_decode_cuda_graph": True,
            "context_length": self.max_request_tokens + _RESERVE_TOKENS,
            "max_prefill_tokens": self.max_prefill_tokens,
            "max_total_tokens": self.max_total_tokens,
            "mem_fraction_static": self.memory_share,
            "mm_feature_transport": "cpu",
            "random_seed": 0,
            "log_level": "warning",
        }

    def faults(self) -> list[str]:
        """See `EngineOptions`."""
        faults = []
        if self.method not in METHODS:
            faults.append(f"method is {self.method!r}; known: {', '.join(METHODS)}")
        if self.dtype not in DTYPES:
            faults.append(f"dtype is {self.dtype!r}; FlashInfer's kernels know {', '.join(DTYPES)}")
        faults += [
            f"{name} is {getattr(self, name)!r}; it must be above 0"
            for name in ("max_request_tokens", "max_prefill_tokens", "n_concurrent", "rounding")
            if not getattr(self, name) > 0
        ]
        if not 0 < self.memory_share < 1:
            faults.append(f"memory_share is {self.memory_share!r}; it must lie between 0 and 1")
        if self.max_total_tokens < self.max_request_tokens + _RESERVE_TOKENS:
            faults.append(
                f"max_total_tokens is {self.max_total_tokens}, which does not hold one request of "
                f"{self.max_request_tokens} tokens (max_request_tokens) and {_RESERVE_TOKENS} more"
            )
        return faults
