"""The engines that the GPU bench compares, by the name of a method: SGLang's, and the dedicated one by precision."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from mis_scoring.core.engine import Engine
from mis_scoring.core.labels import LabelTokens, TokenIds
from mis_scoring.engines.sglang import SGLangEngine

PREFILL = {"prefill": "none", "prefill-fp8-mlp": "fp8-mlp", "prefill-fp8-all": "fp8-all"}
Request = tuple[TokenIds, Sequence[TokenIds]]


class ClosableEngine(Engine, Protocol):
    """An engine that holds a device until it is closed."""

    def close(self) -> None:
        """Give it back."""
        ...


def make_engines(
    folder: Path, plan: Mapping[str, Any], options: Mapping[str, Any], requests: Sequence[Request], labels: LabelTokens
) -> list[ClosableEngine]:
    """Start the engines of a plan on a random model.

    Args:
        options: of the engines, by the name of their kind: `sglang`, `prefill`.
        requests: what fp8 is calibrated with.
    """
    method, n_engines = plan["method"], plan["n_engines"]
    if method in PREFILL:
        return [_prefill(folder, method, options.get("prefill", {}), requests, labels) for _ in range(n_engines)]
    settings = {"method": method, "mps": plan["mps"], **options.get("sglang", {})}
    if n_engines > 1:
        settings |= {"memory_share": 0.8 / n_engines}
    return [SGLangEngine(folder, **settings) for _ in range(n_engines)]


def process_group(engine: Engine) -> int:
    """Return the group of the processes that an engine computes in; the dedicated one's is this process's own."""
    return int(getattr(engine, "pid", os.getpgid(0)))


def _prefill(
    folder: Path, method: str, options: Mapping[str, Any], requests: Sequence[Request], labels: LabelTokens
) -> ClosableEngine:
    from mis_scoring.engines.prefill.calibrate import calibrated_copy
    from mis_scoring.engines.prefill.engine import PrefillEngine

    quantisation = PREFILL[method]
    if quantisation == "none":
        return PrefillEngine(folder, **options)
    copy = calibrated_copy(folder, requests[:4], labels, quantisation=quantisation, **options)
    return PrefillEngine(copy, quantisation=quantisation, **options)
