"""What the engines in plain torch share: loading, checks of a request, and the readout of two label rows."""

import os
import platform
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mis_scoring.core.cost import mis_tokens
from mis_scoring.core.errors import EngineError
from mis_scoring.core.labels import LabelTokens, TokenIds
from mis_scoring.core.readout import FloatArray
from mis_scoring.engines.architecture import read_config
from mis_scoring.engines.requests import require_scorable
from mis_scoring.engines.weights import load_decoder

if TYPE_CHECKING:
    import torch


class TorchEngine(ABC):
    """An engine in torch alone; in float32 on the CPU unless it is told otherwise, whatever the checkpoint's dtype.

    Args:
        checkpoint_dir: config.json and model.safetensors.
        threads: torch's threads, a setting of the whole process; None leaves it alone.
        device: `cpu` or `cuda`.
        dtype: of weights and activations; the readout is float32 in any case.
    Raises:
        ArchitectureError: the checkpoint has a shape that is not computed here.
    """

    name: ClassVar[str]
    attention: ClassVar[str] = "sdpa"
    batch_invariant: bool = False
    rounding: float = 1e-4
    n_concurrent: int = 1

    def __init__(
        self, checkpoint_dir: Path, *, threads: int | None = None, device: str = "cpu", dtype: str = "float32"
    ) -> None:
        import torch

        config = read_config(checkpoint_dir)
        if threads is not None:
            torch.set_num_threads(threads)
        self.max_tokens: int = config["max_position_embeddings"]
        self._vocab_size: int = config["vocab_size"]
        self._device, self._dtype = device, dtype
        self._decoder: Any = load_decoder(checkpoint_dir, attention=self.attention, dtype=dtype).to(device)

    @property
    def fingerprint(self) -> Mapping[str, str]:
        """Where and with what scores are computed."""
        import torch
        import transformers

        return {
            "engine": self.name,
            "device": self._device if self._device == "cpu" else torch.cuda.get_device_name(self._device),
            "dtype": self._dtype,
            "cpu": cpu_model(),
            "threads": str(torch.get_num_threads()),
            "torch": str(torch.__version__),
            "transformers": str(transformers.__version__),
        }

    def label_logits(self, query: TokenIds, items: Sequence[TokenIds], label_tokens: LabelTokens) -> FloatArray:
        """Return (n_items, 2) float32, columns YES, NO; row i belongs to items[i].

        Raises:
            DataError: a prompt is empty, longer than `max_tokens`, or has an id outside the vocabulary; all are named.
            EngineError: torch failed (memory, say).
        """
        require_scorable(query, items, label_tokens, max_tokens=self.max_tokens, vocab_size=self._vocab_size)
        if not items:
            return np.zeros((0, 2), np.float32)
        n_tokens = f"{len(query)} + {sum(map(len, items))}"
        return self._computed(lambda: self._last_hidden(query, items), label_tokens, n_tokens)

    def prefill_tokens(self, query_tokens: int, item_tokens: Sequence[int]) -> int:
        """Return Lq + sum(Li)."""
        return mis_tokens(query_tokens, item_tokens)

    def _computed(self, hidden: "Callable[[], torch.Tensor]", label_tokens: LabelTokens, n_tokens: str) -> FloatArray:
        """Return the logits of hidden states (n, d) that a pass is to give."""
        import torch

        try:
            with torch.inference_mode():
                return np.asarray(self._readout(hidden(), label_tokens).cpu().numpy(), np.float32)
        except RuntimeError as error:
            raise EngineError(f"{self.name} failed on {n_tokens} tokens: {error}") from error

    @abstractmethod
    def _last_hidden(self, query: TokenIds, items: Sequence[TokenIds]) -> "torch.Tensor":
        """Return the final hidden state at each item's last token: (n_items, hidden), after the last norm."""

    def _run(self, token_ids: Any, position_ids: Any, **attention: Any) -> "torch.Tensor":
        """Run the layers over one sequence (T,): (T, hidden)."""
        return self._run_batch([token_ids], position_ids, **attention)[0]

    def _run_batch(self, token_ids: Any, position_ids: Any, **attention: Any) -> "torch.Tensor":
        """Run the layers over sequences of one length and the same positions, (B, T) and (T,): (B, T, hidden)."""
        import torch

        output = self._decoder.model(
            input_ids=torch.as_tensor(np.asarray(token_ids), dtype=torch.long, device=self._device),
            position_ids=torch.as_tensor(np.asarray(position_ids), dtype=torch.long, device=self._device)[None],
            use_cache=False,
            **attention,
        )
        hidden: torch.Tensor = output.last_hidden_state
        return hidden

    def _readout(self, hidden: "torch.Tensor", label_tokens: LabelTokens) -> "torch.Tensor":
        """Return hidden (n, d) times the two label rows; summed row by row, for a product's bits depend on n."""
        head = self._decoder.get_output_embeddings().weight[list(label_tokens.ids)]
        logits: torch.Tensor = (hidden.float()[:, None, :] * head.float()).sum(dim=-1)
        return logits


def cpu_model() -> str:
    """Return the processor's name, as the system tells it."""
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
