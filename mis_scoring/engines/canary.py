"""Known pairs that an engine must score alike in any company: what catches silently wrong scores.

Run before an engine's first write and every k requests. Packing may move a margin by rounding only; a leak between
items, positions that run on or rows out of order move it by far more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mis_scoring.core.engine import Engine
from mis_scoring.core.errors import EngineError, MissingScoreError
from mis_scoring.core.labels import LabelTokens, TokenIds
from mis_scoring.core.readout import FloatArray, margins

IN_COMPANY = ("permuted", "poisoned neighbour", "duplicated")


class CanaryError(EngineError):
    """An engine's scores depend on the company of a pair, or do not depend on the pair; all faults listed.

    Attributes:
        faults: one sentence a fault.
    """

    def __init__(self, engine: str, faults: Sequence[str]) -> None:
        self.engine = engine
        self.faults = list(faults)
        super().__init__("\n".join([f"the canary of engine {engine!r} failed:", *(f"  - {f}" for f in faults)]))


@dataclass(frozen=True, kw_only=True)
class CanaryPairs:
    """One query, at least two different items, and a text to put in the place of the first."""

    query: TokenIds
    items: Sequence[TokenIds]
    poison: TokenIds


def canary_pairs(*, seed: int = 0, n_items: int = 6, vocab_size: int = 256, item_suffix: TokenIds = ()) -> CanaryPairs:
    """Return fixed pairs of random tokens, items of unequal lengths (3 to 14 tokens).

    Args:
        item_suffix: the labeler's own end of every item, the answer position: a trained model answers there alone, so
            that a readout elsewhere moves margins by far more than rounding.
        vocab_size: ids are drawn below it; every byte-level vocabulary has the default's 256.
    """
    draw = np.random.default_rng(seed)
    lengths = [3 + (5 * i) % 12 for i in range(n_items)]
    items = [[*draw.integers(0, vocab_size, length).tolist(), *item_suffix] for length in lengths]
    query, poison = draw.integers(0, vocab_size, 40).tolist(), draw.integers(0, vocab_size, 17).tolist()
    return CanaryPairs(query=query, items=items, poison=[*poison, *item_suffix])


class Canary:
    """Known pairs with the reference's margins, scored once: they never change, and cost more than all the rest."""

    def __init__(self, reference: Engine, label_tokens: LabelTokens, *, item_suffix: TokenIds) -> None:
        self.pairs = canary_pairs(item_suffix=item_suffix)
        self._label_tokens = label_tokens
        self._alone = _margins_of(reference, self.pairs.query, self.pairs.items, label_tokens)

    def check(self, engine: Engine) -> Mapping[str, float]:
        """See `check_canary`."""
        return _checked(engine, self._alone, self._label_tokens, self.pairs, engine.rounding)


def check_canary(
    engine: Engine,
    reference: Engine,
    label_tokens: LabelTokens,
    *,
    pairs: CanaryPairs | None = None,
    tolerance: float | None = None,
) -> Mapping[str, float]:
    """Score known pairs in different company and compare.

    Args:
        reference: scores each pair alone.
        pairs: fixed random ones when None.
        tolerance: the largest difference of a margin that rounding explains; the engine's own when None: 1e-4 in
            float32 (a 135M model moves by less than 1e-5), more for a 16-bit engine. Nothing at all may move in other
            company where the engine is `batch_invariant`.
    Returns:
        The largest difference of a margin, by check.
    Raises:
        CanaryError: lists every check that did not hold.
    """
    known = pairs or canary_pairs()
    alone = _margins_of(reference, known.query, known.items, label_tokens)
    return _checked(engine, alone, label_tokens, known, engine.rounding if tolerance is None else tolerance)


def _checked(
    engine: Engine, alone: FloatArray, label_tokens: LabelTokens, known: CanaryPairs, most: float
) -> Mapping[str, float]:
    allowed = dict.fromkeys(IN_COMPANY, 0.0) if engine.batch_invariant else {}
    differences, spread = _differences(engine, alone, label_tokens, known)
    moved = {name: found for name, found in differences.items() if not found <= allowed.get(name, most)}
    faults = [
        f"{name}: a margin moved by {by:.3g}, allowed {allowed.get(name, most):.3g}" for name, by in moved.items()
    ]
    if spread <= most:
        faults.append(f"all scores are equal within {most:.3g}: the engine does not read the items")
    if faults:
        raise CanaryError(_name(engine), faults)
    return differences


def _differences(
    engine: Engine, alone: FloatArray, label_tokens: LabelTokens, pairs: CanaryPairs
) -> tuple[dict[str, float], float]:
    def margins_of(items: Sequence[TokenIds]) -> FloatArray:
        return _margins_of(engine, pairs.query, items, label_tokens)

    items = list(pairs.items)
    packed = margins_of(items)
    others = {
        "against single": (packed, alone),
        "permuted": (packed, margins_of(items[::-1])[::-1]),
        "poisoned neighbour": (packed[1:], margins_of([pairs.poison, *items[1:]])[1:]),
        "duplicated": (np.tile(packed, 2), margins_of(items + items)),
    }
    spread = float(packed.max() - packed.min())
    return {name: float(np.abs(a - b).max()) for name, (a, b) in others.items()}, spread


def _margins_of(engine: Engine, query: TokenIds, items: Sequence[TokenIds], label_tokens: LabelTokens) -> FloatArray:
    try:
        found = margins(engine.label_logits(query, items, label_tokens))
    except MissingScoreError as error:
        raise CanaryError(_name(engine), [str(error)]) from error
    if len(found) != len(items):
        raise CanaryError(_name(engine), [f"{len(items)} items gave {len(found)} rows"])
    return found


def _name(engine: Engine) -> str:
    return engine.fingerprint.get("engine", type(engine).__name__)
