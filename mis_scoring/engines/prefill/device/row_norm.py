"""x += delta; out = RMSNorm(x) * weight, as x is or in e4m3 with a scale a row; a row that is no number is reported.

One pass: a row lives in the registers of one program, as two pieces so that 1,536 columns need not be 2,048. Why not a
library"s: none writes e4m3 with row scales, and none says that a row holds a NaN.
"""

import triton
import triton.language as tl

LARGEST = tl.constexpr(448.0)


@triton.jit(do_not_specialize=["n_alarmed"])
def row_norm(
    x, delta, weight, out, scales, alarm, n_alarmed, eps,
    HIDDEN: tl.constexpr, PIECE_1: tl.constexpr, PIECE_2: tl.constexpr, HAS_DELTA: tl.constexpr, IS_FP8: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0)
    at_1, at_2 = tl.arange(0, PIECE_1), PIECE_1 + tl.arange(0, PIECE_2)
    is_1, is_2 = at_1 < HIDDEN, at_2 < HIDDEN
    start = row.to(tl.int64) * HIDDEN
    x_1 = tl.load(x + start + at_1, is_1, 0.0)
    x_2 = tl.load(x + start + at_2, is_2, 0.0)
    if HAS_DELTA:
        # rounded to x"s dtype first: the norm is that of what stays in x
        x_1 = (x_1.to(tl.float32) + tl.load(delta + start + at_1, is_1, 0.0).to(tl.float32)).to(x_1.dtype)
        x_2 = (x_2.to(tl.float32) + tl.load(delta + start + at_2, is_2, 0.0).to(tl.float32)).to(x_2.dtype)
        tl.store(x + start + at_1, x_1, is_1)
        tl.store(x + start + at_2, x_2, is_2)
    x_1, x_2 = x_1.to(tl.float32), x_2.to(tl.float32)
    squares = tl.sum(x_1 * x_1, 0) + tl.sum(x_2 * x_2, 0)
    is_number = squares < float("inf")  # false for NaN too
    tl.atomic_min(alarm, row, mask=(row < n_alarmed) & (is_number == 0))
    factor = tl.rsqrt(squares / HIDDEN + eps)
    y_1 = x_1 * factor * tl.load(weight + at_1, is_1, 0.0).to(tl.float32)
    y_2 = x_2 * factor * tl.load(weight + at_2, is_2, 0.0).to(tl.float32)
    if IS_FP8:
        scale = tl.maximum(tl.maximum(tl.max(tl.abs(y_1), 0), tl.max(tl.abs(y_2), 0)), 1e-6) / LARGEST
        tl.store(scales + row, scale)
        y_1, y_2 = y_1 / scale, y_2 / scale
    tl.store(out + start + at_1, y_1.to(out.dtype.element_ty), is_1)
    tl.store(out + start + at_2, y_2.to(out.dtype.element_ty), is_2)
