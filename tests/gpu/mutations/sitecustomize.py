"""Breaks SGLang on purpose, in each of its processes: SEMLABEL_BREAK says how. On the import path of a test alone."""

import importlib.abc
import importlib.machinery
import os
import sys
from types import ModuleType
from typing import Any

BREAK = os.environ.get("SEMLABEL_BREAK", "")
BACKEND = "sglang.srt.layers.attention.flashinfer_backend"
READOUT = "sglang.srt.layers.logits_processor"


def leak(module: ModuleType) -> None:
    """The mask is dropped: items see the items before them; their positions stay right."""
    right = module.FlashInferAttnBackend._process_multi_item_scoring

    def wrong(self: Any, forward_batch: Any) -> Any:
        right(self, forward_batch)
        return module.MultiItemScoringParams()

    module.FlashInferAttnBackend._process_multi_item_scoring = wrong


def positions(module: ModuleType) -> None:
    """Positions run on over the items; the mask stays right."""
    right = module.FlashInferAttnBackend._process_multi_item_scoring

    def wrong(self: Any, forward_batch: Any) -> Any:
        before = forward_batch.positions.clone()
        params = right(self, forward_batch)
        forward_batch.positions.copy_(before)
        return params

    module.FlashInferAttnBackend._process_multi_item_scoring = wrong


def readout(module: ModuleType) -> None:
    """Scores are read one token early."""
    right = module.LogitsProcessor.compute_logprobs_for_multi_item_scoring

    def wrong(self: Any, input_ids: Any, hidden: Any, head: Any, metadata: Any, indices: Any) -> Any:
        return right(self, input_ids, hidden, head, metadata, [index - 1 for index in indices])

    module.LogitsProcessor.compute_logprobs_for_multi_item_scoring = wrong


def equal(module: ModuleType) -> None:
    """Every position has the same hidden state, so all scores are equal."""
    right = module.LogitsProcessor.compute_logprobs_for_multi_item_scoring

    def wrong(self: Any, input_ids: Any, hidden: Any, head: Any, metadata: Any, indices: Any) -> Any:
        return right(self, input_ids, hidden[:1].expand_as(hidden), head, metadata, indices)

    module.LogitsProcessor.compute_logprobs_for_multi_item_scoring = wrong


BROKEN = {"leak": (BACKEND, leak), "positions": (BACKEND, positions)}
BROKEN |= {"readout": (READOUT, readout), "equal": (READOUT, equal)}


class Breaks(importlib.abc.MetaPathFinder):
    """Breaks a module once it is imported."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        module, change = BROKEN[BREAK]
        if name != module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(loaded: ModuleType) -> None:
                load(loaded)
                change(loaded)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


if BREAK:
    sys.meta_path.insert(0, Breaks())
