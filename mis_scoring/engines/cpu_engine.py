"""What the CPU engines share: loading in float32, checks of a request, and the readout of two label rows."""

import os
import platform
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mis_scoring.core.errors import DataError, EngineError
from mis_scoring.core.labels import LabelTokens, TokenIds
from mis_scoring.core.readout import FloatArray
from mis_scoring.engines.architecture import read_config
from mis_scoring.engines.weights import load_decoder

if TYPE_CHECKING:
    import torch


class CpuEngine(ABC):
    """An engine in float32 on the CPU, whatever dtype the checkpoint is stored in.

    Args:
        checkpoint_dir: config.json and model.safetensors.
        threads: torch's threads, a setting of the whole process; None leaves it alone.
    Raises:
        ArchitectureError: the checkpoint has a shape that is not computed here.
    """

    name: ClassVar[str]
    attention: ClassVar[str] = "sdpa"
    batch_invariant: bool = False

    def __init__(self, checkpoint_dir: Path, *, threads: int | None = None) -> None:
        import torch

        config = read_config(checkpoint_dir)
        if threads is not None:
            torch.set_num_threads(threads)
        self.max_tokens: int = config["max_position_embeddings"]
        self._vocab_size: int = config["vocab_size"]
        self._decoder: Any = load_decoder(checkpoint_dir, attention=self.attention)

    @property
    def fingerprint(self) -> Mapping[str, str]:
        """Where and with what scores are computed."""
        import torch
        import transformers

        return {
            "engine": self.name,
            "device": "cpu",
            "dtype": "float32",
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
        import torch

        self._check(query, items, label_tokens)
        if not items:
            return np.zeros((0, 2), np.float32)
        try:
            with torch.inference_mode():
                hidden = self._last_hidden(query, items)
                return np.asarray(self._readout(hidden, label_tokens).numpy(), np.float32)
        except RuntimeError as error:
            raise EngineError(f"{self.name} failed on {len(query)} + {sum(map(len, items))} tokens: {error}") from error

    @abstractmethod
    def _last_hidden(self, query: TokenIds, items: Sequence[TokenIds]) -> "torch.Tensor":
        """Return the final hidden state at each item's last token: (n_items, hidden), after the last norm."""

    def _run(self, token_ids: Any, position_ids: Any, **attention: Any) -> "torch.Tensor":
        """Run the layers over one sequence (T,): (T, hidden)."""
        import torch

        output = self._decoder.model(
            input_ids=torch.as_tensor(token_ids, dtype=torch.long)[None],
            position_ids=torch.as_tensor(position_ids, dtype=torch.long)[None],
            use_cache=False,
            **attention,
        )
        hidden: torch.Tensor = output.last_hidden_state[0]
        return hidden

    def _readout(self, hidden: "torch.Tensor", label_tokens: LabelTokens) -> "torch.Tensor":
        """Return hidden (n, d) times the two label rows; summed row by row, for a product's bits depend on n."""
        head = self._decoder.get_output_embeddings().weight[list(label_tokens.ids)]
        logits: torch.Tensor = (hidden.float()[:, None, :] * head.float()).sum(dim=-1)
        return logits

    def _check(self, query: TokenIds, items: Sequence[TokenIds], label_tokens: LabelTokens) -> None:
        faults = ["the query is empty"] if len(query) == 0 else self._foreign("the query", query)
        for row, item in enumerate(items):
            if len(item) == 0:
                faults.append(f"item {row} is empty")
            elif len(query) + len(item) > self.max_tokens:
                faults.append(f"item {row} makes a prompt of {len(query) + len(item)} tokens, max {self.max_tokens}")
            else:
                faults += self._foreign(f"item {row}", item)
        faults += self._foreign("label_tokens", label_tokens.ids)
        if faults:
            raise DataError(f"the request cannot be scored: {'; '.join(faults)}")

    def _foreign(self, name: str, token_ids: TokenIds) -> list[str]:
        is_known = min(token_ids) >= 0 and max(token_ids) < self._vocab_size
        return [] if is_known else [f"{name} has an id outside the vocabulary of {self._vocab_size}"]


def cpu_model() -> str:
    """Return the processor's name, as the system tells it."""
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
