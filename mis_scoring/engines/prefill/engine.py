"""Multiple-Item Scoring by the dedicated engine: in this process, on one GPU; several calls at once share a forward."""

import logging
import platform
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from mis_scoring.core.errors import DataError, MissingScoreError
from mis_scoring.core.labels import LabelTokens, TokenIds
from mis_scoring.core.readout import FloatArray
from mis_scoring.engines.architecture import read_config
from mis_scoring.engines.gpu_device import describe, starts_alone, visible_device
from mis_scoring.engines.prefill.batcher import Batcher
from mis_scoring.engines.prefill.errors import NonFiniteError
from mis_scoring.engines.prefill.fp8 import read_profile
from mis_scoring.engines.prefill.plan import parts_of, split_items
from mis_scoring.engines.prefill.settings import PrefillSettings
from mis_scoring.engines.prefill.shape import read_shape
from mis_scoring.engines.requests import require_scorable

log = logging.getLogger(__name__)

_PACKAGES = ("torch", "triton", "flashinfer-python", "transformers")


class PrefillEngine:
    """Scores all items of a query in one packed pass, whose bits depend on the pair alone where that was verified.

    Args:
        checkpoint_dir: config.json and safetensors.
        threads: torch's threads on a CPU; None leaves them alone.
        options: of `PrefillSettings`.
    Raises:
        ArchitectureError: the engine does not compute such a checkpoint.
        DataError: an option is unknown or out of bounds, or fp8 is asked of a checkpoint that says nothing of it.
        MissingRequirementError: there is no GPU for it, or FlashInfer is needed and not there.
    """

    name: ClassVar[str] = "prefill"

    def __init__(self, checkpoint_dir: Path, *, threads: int | None = None, **options: Any) -> None:
        self._settings = settings = PrefillSettings.of(options)
        shape = read_shape(checkpoint_dir)
        config = read_config(checkpoint_dir)
        profile = read_profile(config, quantisation=settings.quantisation, n_layers=shape.n_layers)
        import torch

        from mis_scoring.engines.prefill.runner import DecoderRunner

        if threads is not None and not settings.is_gpu:
            torch.set_num_threads(threads)
        self._device = visible_device() if settings.is_gpu else "cpu"
        if settings.is_gpu:
            with starts_alone(self._device):
                self._runner = DecoderRunner(checkpoint_dir, shape, settings, profile)
        else:
            self._runner = DecoderRunner(checkpoint_dir, shape, settings, profile)
        self._place = describe(self._device) if settings.is_gpu else {"device": "cpu", "cpu": platform.machine()}
        self._limits, self._vocab_size = self._runner.limits, shape.vocab_size
        self.max_tokens: int = min(shape.max_positions, self._limits.max_tokens)
        self.rounding = settings.expected_rounding
        self.n_concurrent = settings.n_concurrent
        self._invariance = self._verified()
        self.batch_invariant: bool = self._invariance == "verified"
        self._batcher = Batcher(self._runner, self._limits, token_budget=self._budget())

    @property
    def fingerprint(self) -> Mapping[str, str]:
        """Where and with what scores are computed, and whether their bits depend on the pair alone."""
        return {
            "engine": self.name,
            "dtype": self._settings.dtype,
            "quantisation": self._settings.quantisation,
            "readout": "float32",
            "kernels": self._runner.forward.kernels.name,
            "attention": self._runner.forward.attention.name,
            "batch_invariant": self._invariance,
            **self._place,
            **{package: _version(package) for package in _PACKAGES},
        }

    def label_logits(self, query: TokenIds, items: Sequence[TokenIds], label_tokens: LabelTokens) -> FloatArray:
        """Return (n_items, 2) float32, columns YES, NO; row i belongs to items[i].

        Raises:
            DataError: a prompt is empty, longer than `max_tokens`, has an id outside the vocabulary or an item that is
                longer than `max_item_tokens`; all are named.
            MissingScoreError: a value in the request's own forward is not finite; the message says in which layer.
            EngineDeadError: the device failed, or the engine is closed.
        """
        require_scorable(query, items, label_tokens, max_tokens=self.max_tokens, vocab_size=self._vocab_size)
        self._require_item_lengths(items)
        parts = parts_of(query, items, label_tokens, self._limits)
        answers = [self._batcher.submit(part) for part in parts]
        logits = np.zeros((len(items), 2), np.float32)
        n_done = 0
        for part, answer in zip(parts, answers, strict=True):
            rows = range(n_done, n_done + part.n_items)
            logits[rows.start : rows.stop] = _logits_of(answer, rows)
            n_done = rows.stop
        return logits

    def prefill_tokens(self, query_tokens: int, item_tokens: Sequence[int]) -> int:
        """Return the tokens of all parts of a request, the query once a part; a forward's padding is nobody's."""
        n_parts = sum(1 for _ in split_items(query_tokens, item_tokens, self._limits))
        return n_parts * query_tokens + sum(item_tokens)

    def close(self) -> None:
        """Let what is under way end, and give the memory back."""
        self._batcher.close()

    def _require_item_lengths(self, items: Sequence[TokenIds]) -> None:
        most = self._limits.max_item_tokens
        long = [f"item {row} has {len(item)} tokens" for row, item in enumerate(items) if len(item) > most]
        if long:
            raise DataError(f"the request cannot be scored: {'; '.join(long)}; max_item_tokens is {most}")

    def _budget(self) -> int:
        return min(self._settings.token_budget, self._limits.max_tokens)

    def _verified(self) -> str:
        """What the fingerprint says of the claim; checked here, and withdrawn where a check does not hold."""
        if not (self._settings.verify and self._runner.forward.attention.is_batch_invariant):
            return "not claimed"
        import torch

        from mis_scoring.engines.prefill.invariance import company_faults, product_faults

        with torch.inference_mode():
            faults = product_faults(self._runner.forward, self._limits)
        sizes = {"max_prompt": self.max_tokens, "vocab_size": self._vocab_size}
        faults += company_faults(self._runner.score, self._limits, **sizes)
        for fault in faults:
            log.warning("engine 'prefill' does not keep a pair's bits here, the tie rule decides: %s", fault)
        return f"withdrawn ({len(faults)} checks)" if faults else "verified"


def _logits_of(answer: "Future[FloatArray]", rows: range) -> FloatArray:
    try:
        return answer.result()
    except NonFiniteError as error:
        raise MissingScoreError(rows, why=f"a value is not finite in {error.place}") from error


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"
