"""What is measured of a tuned decoder; both methods in bfloat16, as they would be served.

Scoring chooses its cut on validation members (best F1 at the retrieved share of supported pairs) and is told at the
default threshold 0.5 besides; packed generation has no threshold to choose (section 2.4: fixed decisions).
"""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jobs.study.agreement import Decisions, agreement
from jobs.study.flops import ForwardCost, per_label
from jobs.study.generation import SliceGenerator
from jobs.study.models import Base
from jobs.study.scoring import SliceScorer, decide, decide_with_reference
from jobs.study.slices import BALANCED_SUFFIX, RETRIEVED, VALIDATION, Slice
from mis_scoring.evaluation.order_sensitivity import Order, OrderChanges, orders_of
from mis_scoring.evaluation.thresholds import best_margin, threshold_of_margin

ORDER_SEED = 11
GROUP_SIZES = (200, 50, 100, 20)  # items packed together by the scorer, one an order; packed generation takes g
DEFAULT_CUT = 0.0  # the margin of threshold 0.5, the paper's default
REORDERED = RETRIEVED[0]  # its two slices are asked in every order, the others in rank order only


def measure_scoring(decoder: Any, base: Base, slices: Mapping[str, Slice], *, n_orders: int) -> dict[str, Any]:
    """Return agreement, inconsistency with and without the tie rule, and operations a label."""
    served = _in_bfloat16(decoder)
    validation = SliceScorer(base, slices[VALIDATION])
    cut, tie_eps = _cut_and_eps(served, validation, slices[VALIDATION])
    figures: dict[str, Any] = {"cut": cut, "threshold": threshold_of_margin(cut), "tie_eps": tie_eps, "slices": {}}
    for name, part in slices.items():
        if name == VALIDATION:
            continue
        scorer = SliceScorer(base, part)
        orders = study_orders(part, n_orders)
        first = scorer.margins(served, orders[0])
        figures["slices"][name] = {
            "tuned": agreement(decide(first, cut), part.answers, part.is_known),
            "default": agreement(decide(first, DEFAULT_CUT), part.answers, part.is_known),
        }
        if name.removesuffix(BALANCED_SUFFIX) == REORDERED:
            own_cut = DEFAULT_CUT if name.endswith(BALANCED_SUFFIX) else cut
            figures["slices"][name] |= _reordered(decoder, served, scorer, orders, cut=own_cut, tie_eps=tie_eps)
        if name == REORDERED:
            cost = ForwardCost.of(decoder)
            pairs = zip(scorer.queries, scorer.items, strict=True)
            flops = [cost.packed_scoring(len(query), map(len, items)) for query, items in pairs]
            figures["flops_per_label"] = per_label(flops, scorer.n_pairs)
    return figures


def measure_generation(decoder: Any, base: Base, slices: Mapping[str, Slice], *, n_orders: int) -> dict[str, Any]:
    """Return agreement, inconsistency, malformed lists and operations a label."""
    served = _in_bfloat16(decoder)
    figures: dict[str, Any] = {"slices": {}}
    for name, part in slices.items():
        if name == VALIDATION:
            continue
        is_reordered = name.removesuffix(BALANCED_SUFFIX) == REORDERED
        orders = study_orders(part, n_orders if is_reordered else 1)
        generator = SliceGenerator(base, part)
        runs = [generator.answers(served, order) for order in orders]
        figures["slices"][name] = {
            "default": agreement(runs[0].decisions, part.answers, part.is_known),
            "n_lists": sum(run.n_lists for run in runs),
            "malformed": _summed([run.malformed for run in runs]),
        }
        if is_reordered:
            figures["slices"][name]["order"] = inconsistency([run.decisions for run in runs])
        if name == REORDERED:
            cost = ForwardCost.of(decoder)
            flops = [cost.list_generation(*lengths) for lengths in runs[0].lengths]
            figures["flops_per_label"] = per_label(flops, len(runs[0].decisions))
    return figures


def study_orders(part: Slice, n_orders: int) -> list[Order]:
    """Return the rank order and random ones, each grouped otherwise."""
    sizes = [GROUP_SIZES[number % len(GROUP_SIZES)] for number in range(n_orders)]
    return orders_of(part.n_candidates, group_sizes=sizes, seed=ORDER_SEED)


def inconsistency(decisions: Sequence[Decisions]) -> dict[str, float]:
    """Return which share of labels changes, one (n,) array an order; no answer differs from any answer."""
    found = OrderChanges.of(decisions)
    return {
        "inconsistency": found.inconsistency,
        "any_change": found.changed_share,
        "n_changed_any": found.n_changed,
        "n_labels": found.n_pairs,
        "n_orders": found.n_orders,
    }


def _cut_and_eps(served: Any, validation: SliceScorer, part: Slice) -> tuple[float, float]:
    packed = validation.margins(served, study_orders(part, 1)[0])
    alone = validation.single_margins(served, np.ones(validation.n_pairs, np.bool_))
    known = part.is_known
    return best_margin(packed[known], part.answers[known]), float(np.abs(packed - alone).max())


def _reordered(
    decoder: Any, served: Any, scorer: SliceScorer, orders: list[Order], *, cut: float, tie_eps: float
) -> dict[str, Any]:
    packed = [scorer.margins(served, order) for order in orders]
    is_close = np.any([np.abs(margins - cut) <= tie_eps for margins in packed], axis=0)
    reference = scorer.single_margins(served, is_close)
    exact = [scorer.margins(decoder, order) for order in orders]
    with_rule = [decide_with_reference(m, cut, tie_eps=tie_eps, reference=reference) for m in packed]
    return {
        "order": inconsistency([decide(m, cut) for m in packed]),
        "order_with_tie_rule": inconsistency(with_rule),
        "order_float32": inconsistency([decide(m, cut) for m in exact]),
        "share_in_tie_band": float(is_close.mean()),
        "largest_margin_change": float(np.ptp(np.stack(packed), axis=0).max()),
        "largest_margin_change_float32": float(np.ptp(np.stack(exact), axis=0).max()),
    }


def _in_bfloat16(decoder: Any) -> Any:
    import torch

    served = type(decoder)(decoder.config).to(torch.bfloat16)
    served.load_state_dict(decoder.state_dict())
    served.model.rotary_emb = copy.deepcopy(decoder.model.rotary_emb)  # its frequencies stay float32, as when loaded
    return served.to(next(decoder.parameters()).device).eval()


def _summed(counts: list[dict[str, int]]) -> dict[str, int]:
    return {reason: sum(c.get(reason, 0) for c in counts) for reason in sorted({r for c in counts for r in c})}
