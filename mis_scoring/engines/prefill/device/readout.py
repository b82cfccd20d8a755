"""The label tokens' logits of each row, in float32: a row is summed by itself, so nothing else can change its bits."""

import triton
import triton.language as tl


@triton.jit
def readout(hidden, head, label_ids, out, HIDDEN: tl.constexpr, BLOCK: tl.constexpr, LABELS: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    is_column = column < HIDDEN
    state = tl.load(hidden + row.to(tl.int64) * HIDDEN + column, is_column, 0.0).to(tl.float32)
    for label in tl.static_range(LABELS):
        token = tl.load(label_ids + row * LABELS + label).to(tl.int64)
        weight = tl.load(head + token * HIDDEN + column, is_column, 0.0).to(tl.float32)
        tl.store(out + row * LABELS + label, tl.sum(state * weight, 0))
