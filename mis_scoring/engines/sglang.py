"""Multiple-Item Scoring on a GPU by SGLang, in a process group of its own: token ids in, log-probabilities out.

A request is `[q, d, c1, d, ..., cN, d]` with a delimiter that no token sees; positions and mask are those of the
contract, so scores equal those of single prompts but for rounding. Only score requests are ever sent.
"""

import importlib.util
import json
import logging
import os
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from mis_scoring.core.errors import EngineError, MissingRequirementError
from mis_scoring.core.labels import LabelTokens, TokenIds
from mis_scoring.core.readout import FloatArray
from mis_scoring.engines.engine_process import EngineProcess
from mis_scoring.engines.gpu_device import describe, mps_environment, starts_alone, visible_device
from mis_scoring.engines.requests import require_scorable, split_round
from mis_scoring.engines.servable import read_servable_config
from mis_scoring.engines.sglang_settings import SGLangSettings

log = logging.getLogger(__name__)

_HOST = (sys.executable, "-m", "mis_scoring.engines.sglang_host")
_PACKAGES = ("sglang", "sglang-kernel", "flashinfer-python", "torch", "transformers")


class SGLangEngine:
    """Scores all items of a query in one packed pass; several calls at once, from threads, share a forward pass.

    Args:
        checkpoint_dir: config.json and safetensors.
        threads: of the engine's own work on the CPU; None leaves it alone.
        options: of `SGLangSettings`.
    Raises:
        ArchitectureError: SGLang would not compute such a checkpoint, or would compute it wrongly.
        DataError: an option is unknown or out of bounds.
        MissingRequirementError: SGLang is not installed, there is no GPU for it, or no MPS.
        EngineDeadError: the engine did not start.
    """

    name: ClassVar[str] = "sglang"
    batch_invariant: bool = False

    def __init__(self, checkpoint_dir: Path, *, threads: int | None = None, **options: Any) -> None:
        self._settings = settings = SGLangSettings.of(options)
        config = read_servable_config(checkpoint_dir)
        if importlib.util.find_spec("sglang") is None:
            raise MissingRequirementError(
                "engine 'sglang' needs the package sglang in an environment of its own: docs/gpu.md says how"
            )
        self.max_tokens: int = min(config["max_position_embeddings"], settings.max_request_tokens - 2)
        self.rounding, self.n_concurrent = settings.rounding, settings.n_concurrent
        self._vocab_size: int = config["vocab_size"]
        self._device = visible_device()
        env = {**_environment(threads), **(mps_environment() if settings.mps else {})}
        arguments = json.dumps(settings.engine_arguments(checkpoint_dir))
        with starts_alone(self._device):
            self._process = EngineProcess(self.name, [*_HOST, arguments], env=env)
            ready = self._process.wait_until_ready(settings.start_timeout_s)
        log.info("SGLang is ready on GPU %s after %.0f s", self._device, ready["start_s"])

    @property
    def fingerprint(self) -> Mapping[str, str]:
        """Where and with what scores are computed."""
        return {
            "engine": self.name,
            "method": self._settings.method,
            "dtype": self._settings.dtype,
            "readout": "float32",
            "attention": "flashinfer",
            "mps": str(self._settings.mps).lower(),
            **describe(self._device),
            **{package: _version(package) for package in _PACKAGES},
        }

    @property
    def pid(self) -> int:
        """The first process of the engine's group."""
        return self._process.pid

    def label_logits(self, query: TokenIds, items: Sequence[TokenIds], label_tokens: LabelTokens) -> FloatArray:
        """Return (n_items, 2) float32, columns YES, NO: logits less one constant an item, the log of the partition sum.

        Raises:
            DataError: a prompt is empty, longer than `max_tokens`, or has an id outside the vocabulary; all are named.
            EngineDeadError: the engine ended or hung.
            EngineError: the engine refused the request.
        """
        require_scorable(query, items, label_tokens, max_tokens=self.max_tokens, vocab_size=self._vocab_size)
        parts = self._parts(len(query), [len(item) for item in items])
        found = [self._ask(query, items[part], label_tokens) for part in parts]
        return np.concatenate(found) if found else np.zeros((0, 2), np.float32)

    def prefill_tokens(self, query_tokens: int, item_tokens: Sequence[int]) -> int:
        """Return the tokens of all requests of a round: the query once a request, a delimiter around every item."""
        if self._settings.method != "mis":
            return query_tokens * len(item_tokens) + sum(item_tokens)
        n_parts = len(self._parts(query_tokens, item_tokens))
        return n_parts * (query_tokens + 1) + sum(item_tokens) + len(item_tokens)

    def close(self) -> None:
        """End the engine's processes."""
        self._process.close()

    def _parts(self, query_tokens: int, item_tokens: Sequence[int]) -> list[slice]:
        if self._settings.method != "mis":
            return [slice(None)] if item_tokens else []
        longest = self._settings.max_request_tokens
        return split_round(query_tokens, item_tokens, max_request_tokens=longest, extra_per_item=1)

    def _ask(self, query: TokenIds, items: Sequence[TokenIds], label_tokens: LabelTokens) -> FloatArray:
        # SGLang takes lists of Python's own int alone
        request = {
            "query": _plain(query),
            "items": [_plain(item) for item in items],
            "labels": _plain(label_tokens.ids),
        }
        answer = self._process.ask(request, self._settings.request_timeout_s)
        if "error" in answer:
            raise EngineError(f"SGLang refused {len(query)} + {sum(map(len, items))} tokens: {answer['error']}")
        with np.errstate(divide="ignore"):  # a probability of 0 is a missing score, and `margins` says so
            return np.log(np.asarray(answer["probabilities"], np.float64)).astype(np.float32)


def _plain(token_ids: TokenIds) -> list[int]:
    plain: list[int] = np.asarray(token_ids, np.int64).tolist()
    return plain


def _environment(threads: int | None) -> dict[str, str]:
    """What the engine's processes inherit: this one's import path, and leave to pack more than the model's context.

    Positions never go beyond the longest single prompt; what is longer than the context is the packed sequence alone.
    """
    env = {
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN": "1",
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
    }
    return env if threads is None else env | {"OMP_NUM_THREADS": str(threads)}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
