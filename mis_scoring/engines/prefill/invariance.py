"""Whether a pair's bits depend on its company, here and now: products at many row counts, and known pairs regrouped.

cuBLAS promises nothing of the kind, so the claim belongs to one chip, one driver and one set of library versions, and
is checked on the machine that makes it, whenever an engine starts. Seconds.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch

from mis_scoring.core.readout import FloatArray
from mis_scoring.engines.prefill.buffers import RowBuffers
from mis_scoring.engines.prefill.forward import Forward
from mis_scoring.engines.prefill.kernels.plain import write_rows
from mis_scoring.engines.prefill.plan import MIN_ROWS, Limits, Part
from mis_scoring.engines.prefill.rows import Rows

# where cuBLAS is likely to choose otherwise: close to the floor, then ever wider
ROW_COUNTS = (1_024, 1_040, 1_280, 2_048, 3_072, 4_112, 8_192, 12_288, 16_400, 24_576, 49_152, 65_536)
LARGEST_REFERENCE = 24_576
Score = Callable[[list[Part]], FloatArray]
Product = Callable[[RowBuffers], torch.Tensor]


def product_faults(forward: Forward, limits: Limits) -> list[str]:
    """Return the products that have other bits at another number of rows, one sentence each."""
    counts = [count for count in ROW_COUNTS if count <= len(forward.tokens.x)]
    reference = max(count for count in counts if count <= LARGEST_REFERENCE)
    faults = []
    for name, product, buffers in _products(forward):
        usable = [count for count in counts if count <= len(buffers.x)]
        at = min(reference, max(usable))
        expected = _bits(product(buffers.first(at))).clone()
        moved = []
        for count in usable:
            n_same = min(count, at)
            if not torch.equal(_bits(product(buffers.first(count)))[:n_same], expected[:n_same]):
                moved.append(count)
        if moved:
            faults.append(f"{name}: other bits at {', '.join(map(str, moved))} rows than at {at}")
    return faults


def company_faults(score: Score, limits: Limits, *, max_prompt: int, vocab_size: int, seed: int = 0) -> list[str]:
    """Return how known pairs differ from themselves alone: permuted, in part, with others; one sentence each."""
    draw = np.random.default_rng(seed)
    requests = [_draw_request(draw, limits, max_prompt, vocab_size, n) for n in (744, 17, 300, 64)]
    alone = [score([request]) for request in requests]
    faults = []
    for number in range(8):
        chosen = draw.permutation(len(requests))[: 1 + number % len(requests)]
        orders = [draw.permutation(requests[place].n_items)[: [None, 1, 7, 50][number % 4]] for place in chosen]
        found = score([_reordered(requests[place], order) for place, order in zip(chosen, orders, strict=True)])
        expected = np.concatenate([alone[place][order] for place, order in zip(chosen, orders, strict=True)])
        n_moved = int((found != expected).any(axis=1).sum())
        if n_moved:
            most = float(np.abs(found - expected).max())
            faults.append(f"{n_moved} of {len(found)} pairs moved in company {number}, by {most:.2g} at most")
    return faults


def _products(forward: Forward) -> Iterator[tuple[str, Product, RowBuffers]]:
    """Yield every product of a forward over random inputs, as it is launched there."""
    shape, kernels, layer = forward.shape, forward.kernels, forward.weights.layers[0]
    queries, both = shape.query_width, 2 * shape.kv_width

    def linear(name: str) -> Product:
        part = {"qkv": layer.qkv, "kv": layer.qkv.part(queries, queries + both), "q": layer.qkv.part(0, queries)}[name]

        def product(rows: RowBuffers) -> torch.Tensor:
            out = rows.heads if name != "kv" else rows.key_values(both)
            kernels.linear(rows.input_of(layer.qkv), part, out)
            return out

        return product

    def gated(rows: RowBuffers) -> torch.Tensor:
        out = Rows(values=rows.gated, fixed_scale=layer.down.input_scale)
        kernels.gated(rows.input_of(layer.gate_up), layer.gate_up, out)
        return out.values

    def residual(name: str) -> Product:
        weight = getattr(layer, name)

        def product(rows: RowBuffers) -> torch.Tensor:
            source = rows.attended if name == "out" else rows.gated
            given = Rows(values=source, fixed_scale=weight.input_scale)
            if weight.is_fp8:
                assert rows.delta is not None
                kernels.linear(given, weight, rows.delta)
                return rows.delta
            rows.x.copy_(rows.normed)
            kernels.add_linear(given, weight, rows.x)
            return rows.x

        return product

    for kind, buffers in (("tokens", forward.tokens), ("readout", forward.readout)):
        _fill(buffers, forward)
        names = ("qkv", "kv") if kind == "tokens" else ("q",)
        yield from ((f"{name} of {kind}", linear(name), buffers) for name in names)
        yield f"o of {kind}", residual("out"), buffers
        yield f"gate and up of {kind}", gated, buffers
        _fill(buffers, forward)
        yield f"down of {kind}", residual("down"), buffers


def _fill(buffers: RowBuffers, forward: Forward) -> None:
    """Random inputs of products; a piece at a time, so that it takes little memory."""
    layer = forward.weights.layers[0]
    generator = torch.Generator(buffers.x.device).manual_seed(0)
    targets = [
        Rows(values=buffers.normed),
        Rows(values=buffers.attended, fixed_scale=layer.out.input_scale),
        Rows(values=buffers.gated, fixed_scale=layer.down.input_scale),
    ]
    if buffers.quantised is not None:
        targets.append(Rows(values=buffers.quantised, scales=buffers.scales))
    for target in targets:
        for start in range(0, len(target.values), MIN_ROWS):
            piece = slice(start, start + MIN_ROWS)
            scales = None if target.scales is None else target.scales[piece]
            values = target.values[piece]
            drawn = torch.randn(values.shape, generator=generator, device=values.device)
            write_rows(drawn, Rows(values=values, scales=scales, fixed_scale=target.fixed_scale))


def _bits(values: torch.Tensor) -> torch.Tensor:
    """Values as integers, so that equal means equal bits."""
    return values.view({1: torch.uint8, 2: torch.int16, 4: torch.int32}[values.element_size()])


def _draw_request(
    draw: np.random.Generator, limits: Limits, max_prompt: int, vocab_size: int, query_tokens: int
) -> Part:
    lengths = [*draw.integers(4, 41, 60), 1, 150, 33, 64]
    share = limits.max_tokens // 8  # four requests, half of each its query
    short = np.asarray(
        [length for length in lengths if length <= min(limits.max_item_tokens, max_prompt // 2)], np.int32
    )
    item_tokens = short[np.cumsum(short) <= share][: limits.max_items // 4]
    n_query = min(query_tokens, share, max_prompt // 2)
    token_ids = draw.integers(0, vocab_size, n_query + int(item_tokens.sum())).astype(np.int32)
    return Part(token_ids=token_ids, query_tokens=n_query, item_tokens=item_tokens, label_ids=(1, 2))


def _reordered(part: Part, order: Sequence[int]) -> Part:
    starts = part.query_tokens + np.concatenate([[0], np.cumsum(part.item_tokens)])
    items = [part.token_ids[starts[place] : starts[place + 1]] for place in order]
    return Part(
        token_ids=np.concatenate([part.token_ids[: part.query_tokens], *items]),
        query_tokens=part.query_tokens,
        item_tokens=part.item_tokens[np.asarray(order)],
        label_ids=part.label_ids,
    )
