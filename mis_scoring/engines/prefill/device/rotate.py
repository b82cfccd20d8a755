"""RMSNorm over each head where the model has one, then the rotation of its position; in place.

For keys; the Hopper attention rotates its queries itself. FlashInfer"s rotation has no norm, and its pair with one
would read and write the heads twice.
"""

import triton
import triton.language as tl


@triton.jit(do_not_specialize=["n_alarmed"])
def rotate(
    heads, stride, positions, rotary, weight, alarm, n_rows, n_alarmed, eps,
    HEADS: tl.constexpr, HALF: tl.constexpr, HAS_NORM: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)  # a token"s head
    is_row = row < n_rows
    token, head = row // HEADS, row % HEADS
    column = tl.arange(0, HALF)[None, :]
    at = heads + token[:, None].to(tl.int64) * stride + head[:, None] * (2 * HALF) + column
    low = tl.load(at, is_row[:, None], 0.0).to(tl.float32)
    high = tl.load(at + HALF, is_row[:, None], 0.0).to(tl.float32)
    squares = tl.sum(low * low, 1) + tl.sum(high * high, 1)
    is_wrong = is_row & (token < n_alarmed) & ((squares < float("inf")) == 0)
    tl.atomic_min(alarm + tl.zeros_like(token), token, mask=is_wrong)
    if HAS_NORM:
        factor = tl.rsqrt(squares / (2 * HALF) + eps)[:, None]
        low = low * factor * tl.load(weight + column).to(tl.float32)
        high = high * factor * tl.load(weight + HALF + column).to(tl.float32)
    at_angle = rotary + tl.load(positions + token, is_row, 0)[:, None] * (2 * HALF) + column
    cos, sin = tl.load(at_angle), tl.load(at_angle + HALF)
    tl.store(at, (low * cos - high * sin).to(heads.dtype.element_ty), is_row[:, None])
    tl.store(at + HALF, (high * cos + low * sin).to(heads.dtype.element_ty), is_row[:, None])
