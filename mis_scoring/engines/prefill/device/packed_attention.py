"""Attention of a whole packed forward in one launch, for Hopper: queries causally, items to their query and themselves.

A program walks over tiles (`tiles`): 128 rows of one request and one key head, a row being a token and one of the heads
that share the key. Two consumer warpgroups take 64 rows each, a producer warp brings key blocks of 64 by TMA. A tile
meets its own keys first, block by block as the plan lists them, then its request's query from the end to the start.

What keeps a pair's bits the same in any company: an own block is two halves of 32 keys, each from one item at a
multiple of 32 of its tokens, so a key always has the same column modulo 32; a block that a row may not see leaves the
row's state as it was, exactly (p = exp2(-1e29) = 0, alpha = exp2(0) = 1); products and sums are never contracted by
the compiler, so that all copies of the softmax round alike. The same algorithm in plain torch: `attention.tiled`.
"""

import triton.experimental.gluon.language as gl
from triton.experimental import gluon
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, warpgroup_mma, warpgroup_mma_wait

from mis_scoring.engines.prefill.device.key_ring import (
    BLOCK,
    HALF_BLOCK,
    HALF_DIM,
    HEAD_DIM,
    STAGES,
    Job,
    make_ring,
    own_block,
    produce,
    tile_of,
)

GROUP_ROWS = gl.constexpr(64)  # of a tile's 128, to a warpgroup
MASKED = gl.constexpr(-1e30)
LOWEST = gl.constexpr(-1e28)  # a row's maximum before its first key; far above MASKED, so that exp2 of the gap is 0


@gluon.jit(do_not_specialize=["n_work"])
def attend_packed(
    keys, values, key_halves, value_halves, queries, query_stride, out, out_stride, out_factor, segment_starts,
    positions, row_tokens, own_blocks, tiles, n_work, rotary, query_norm, eps, log2_scale,
    KV_HEADS: gl.constexpr, GROUP: gl.constexpr, IS_READOUT: gl.constexpr, HAS_NORM: gl.constexpr,
    CONSUMER_REGISTERS: gl.constexpr, PRODUCER_REGISTERS: gl.constexpr,
):  # fmt: skip
    """See `attention.hopper` for the arguments."""
    job = Job(
        queries, query_stride, out, out_stride, out_factor, segment_starts, positions, row_tokens, own_blocks, tiles,
        n_work, rotary, query_norm, eps, log2_scale, KV_HEADS, GROUP, IS_READOUT, HAS_NORM,
    )  # fmt: skip
    ring = make_ring(keys, values, key_halves)
    gl.warp_specialize(
        [
            (_consume, (job, ring, 0)),
            (_consume, (job, ring, 1)),
            (produce, (job, ring, keys, values, key_halves, value_halves)),
        ],
        [4, 1],
        [CONSUMER_REGISTERS, PRODUCER_REGISTERS],
    )


@gluon.jit
def _query_rows(job, work, WARPGROUP: gl.constexpr, layout: gl.constexpr):
    """The warpgroup's 64 rows of a tile as two halves of the head, and their positions; nothing past the last tile."""
    at = job.tiles + (work // job.KV_HEADS) * 6
    row = gl.load(at, work < job.n_work, 0)
    n_rows = gl.load(at + 1, work < job.n_work, 0)
    place = WARPGROUP * GROUP_ROWS + gl.arange(0, GROUP_ROWS, layout=gl.SliceLayout(1, layout))
    is_row = place < n_rows
    token = (row + place) // job.GROUP
    head = (work % job.KV_HEADS) * job.GROUP + (row + place) % job.GROUP
    column = gl.arange(0, HALF_DIM, layout=gl.SliceLayout(0, layout))
    at_row = job.queries + token[:, None] * job.query_stride + head[:, None] * HEAD_DIM + column[None, :]
    low = gl.load(at_row, is_row[:, None], 0.0)
    high = gl.load(at_row + HALF_DIM, is_row[:, None], 0.0)
    if job.IS_READOUT:
        token = gl.load(job.row_tokens + token, is_row, 0)
    return low, high, gl.load(job.positions + token, is_row, 0)


@gluon.jit
def _rotated(job, low, high, position, layout: gl.constexpr):
    """Norm over the head where the model has one, then the rotation of its position."""
    column = gl.arange(0, HALF_DIM, layout=gl.SliceLayout(0, layout))
    low = low.to(gl.float32)
    high = high.to(gl.float32)
    if job.HAS_NORM:
        scale = gl.rsqrt((gl.sum(low * low, 1) + gl.sum(high * high, 1)) / HEAD_DIM + job.eps)[:, None]
        low = low * scale * gl.load(job.query_norm + column).to(gl.float32)[None, :]
        high = high * scale * gl.load(job.query_norm + HALF_DIM + column).to(gl.float32)[None, :]
    at = job.rotary + position[:, None] * HEAD_DIM + column[None, :]
    cos = gl.load(at)
    sin = gl.load(at + HALF_DIM)
    return (low * cos - high * sin).to(gl.bfloat16), (high * cos + low * sin).to(gl.bfloat16)


@gluon.jit
def _softmax(
    S, top, total, item, last, first_a, item_a, first_b, item_b, scale, IS_MASKED: gl.constexpr, layout: gl.constexpr
):
    """One block into the running softmax; masked: a row sees the keys of its own item up to itself."""
    if IS_MASKED:
        column = gl.arange(0, BLOCK, layout=gl.SliceLayout(0, layout))
        key = gl.where(column < HALF_BLOCK, first_a, first_b - HALF_BLOCK) + column
        key_item = gl.where(column < HALF_BLOCK, item_a, item_b)
        is_seen = (key_item[None, :] == item[:, None]) & (key[None, :] <= last[:, None])
        S = gl.where(is_seen, S, MASKED)
    new_top = gl.maximum(top, gl.max(S, 1) * scale)
    p = gl.exp2(gl.fma(S, scale, -new_top[:, None]))
    alpha = gl.exp2(top - new_top)
    return p, alpha, new_top, gl.fma(total, alpha, gl.sum(p, 1))


@gluon.jit
def _step(
    ring, step, q_low, q_high, zero, P, acc, top, total, item, last, first_a, item_a, first_b, item_b, scale,
    IS_MASKED: gl.constexpr, S_LAYOUT: gl.constexpr, O_LAYOUT: gl.constexpr, P_LAYOUT: gl.constexpr,
):  # fmt: skip
    """Take in the next block: its scores run on the tensor cores beside the last block's values."""
    before = step % STAGES
    step += 1
    stage = step % STAGES
    phase = (step // STAGES) & 1
    mbarrier.wait(ring.k_full.index(stage), phase)
    S = warpgroup_mma(q_low, ring.k_low.index(stage).permute((1, 0)), zero, use_acc=False, is_async=True)
    S = warpgroup_mma(q_high, ring.k_high.index(stage).permute((1, 0)), S, is_async=True)
    acc = warpgroup_mma(P, ring.v.index(before), acc, is_async=True)
    S = warpgroup_mma_wait(1, deps=(S,))
    mbarrier.arrive(ring.k_empty.index(stage), count=1)
    p, alpha, top, total = _softmax(
        S, top, total, item, last, first_a, item_a, first_b, item_b, scale, IS_MASKED, S_LAYOUT
    )
    p = p.to(gl.bfloat16)
    # a branch between the softmax and the wait below: ptxas would else move the softmax behind that wait
    mbarrier.wait(ring.v_full.index(stage), phase)
    acc, p = warpgroup_mma_wait(0, deps=(acc, p))
    mbarrier.arrive(ring.v_empty.index(before), count=1)
    acc = acc * gl.convert_layout(alpha, gl.SliceLayout(1, O_LAYOUT))[:, None]
    return step, gl.convert_layout(p, P_LAYOUT), acc, top, total


@gluon.jit
def _consume(job, ring, WARPGROUP: gl.constexpr):
    S_LAYOUT: gl.constexpr = gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[4, 1], instr_shape=[16, 64, 16])
    O_LAYOUT: gl.constexpr = gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[4, 1], instr_shape=[16, 128, 16])
    Q_LAYOUT: gl.constexpr = gl.DotOperandLayout(0, S_LAYOUT, 2)
    P_LAYOUT: gl.constexpr = gl.DotOperandLayout(0, O_LAYOUT, 2)
    HALF_ROWS: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])  # 64 rows x 64
    ROWS: gl.constexpr = gl.BlockedLayout([1, 8], [2, 16], [4, 1], [1, 0])  # 64 rows x 128
    row_layout: gl.constexpr = gl.SliceLayout(1, S_LAYOUT)
    scale = job.log2_scale
    step = 0
    next_low, next_high, next_position = _query_rows(job, gl.program_id(0), WARPGROUP, HALF_ROWS)
    for work in range(gl.program_id(0), job.n_work, gl.num_programs(0)):
        row, n_rows, prefix, n_prefix, own, n_own = tile_of(job, work)
        low, high = _rotated(job, next_low, next_high, next_position, HALF_ROWS)
        q_low = gl.convert_layout(low, Q_LAYOUT)
        q_high = gl.convert_layout(high, Q_LAYOUT)
        place = WARPGROUP * GROUP_ROWS + gl.arange(0, GROUP_ROWS, layout=row_layout)
        token = (row + place) // job.GROUP
        if job.IS_READOUT:
            token = gl.load(job.row_tokens + token, place < n_rows, 0)
        item = gl.load(job.segment_starts + token, place < n_rows, 0)
        n_blocks = n_own + gl.cdiv(n_prefix, BLOCK)
        n_masked = n_own + gl.where(n_prefix % BLOCK > 0, 1, 0)  # own blocks, and a prefix's part of a block
        part = prefix + n_prefix - n_prefix % BLOCK
        first_a, item_a, first_b, item_b = own_block(job, own)
        top = gl.full([GROUP_ROWS], LOWEST, gl.float32, row_layout)
        total = gl.full([GROUP_ROWS], 0.0, gl.float32, row_layout)
        acc = gl.zeros([GROUP_ROWS, HEAD_DIM], gl.float32, O_LAYOUT)
        zero = gl.zeros([GROUP_ROWS, BLOCK], gl.float32, S_LAYOUT)

        stage = step % STAGES
        phase = (step // STAGES) & 1
        mbarrier.wait(ring.k_full.index(stage), phase)
        S = warpgroup_mma(q_low, ring.k_low.index(stage).permute((1, 0)), zero, use_acc=False, is_async=True)
        S = warpgroup_mma(q_high, ring.k_high.index(stage).permute((1, 0)), S, is_async=True)
        S = warpgroup_mma_wait(0, deps=(S,))
        mbarrier.arrive(ring.k_empty.index(stage), count=1)
        p, _, top, total = _softmax(S, top, total, item, token, first_a, item_a, first_b, item_b, scale, True, S_LAYOUT)
        P = gl.convert_layout(p.to(gl.bfloat16), P_LAYOUT)
        mbarrier.wait(ring.v_full.index(stage), phase)
        for number in range(1, n_masked):
            is_own = number < n_own
            first_a, item_a, first_b, item_b = own_block(job, own + gl.where(is_own, number, 0))
            first_a = gl.where(is_own, first_a, part)
            first_b = gl.where(is_own, first_b, part + HALF_BLOCK)
            # a part of the prefix: every row sees its keys, up to the prefix's end
            item_a = gl.where(is_own, item_a, 0)
            item_b = gl.where(is_own, item_b, 0)
            seen_item = gl.where(is_own, item, 0)
            seen_last = gl.where(is_own, token, prefix + n_prefix - 1)
            step, P, acc, top, total = _step(
                ring, step, q_low, q_high, zero, P, acc, top, total, seen_item, seen_last, first_a, item_a, first_b,
                item_b, scale, True, S_LAYOUT, O_LAYOUT, P_LAYOUT,
            )  # fmt: skip
        next_low, next_high, next_position = _query_rows(job, work + gl.num_programs(0), WARPGROUP, HALF_ROWS)
        for _ in range(n_masked, n_blocks):
            step, P, acc, top, total = _step(
                ring, step, q_low, q_high, zero, P, acc, top, total, item, token, 0, 0, 0, 0, scale, False,
                S_LAYOUT, O_LAYOUT, P_LAYOUT,
            )  # fmt: skip
        stage = step % STAGES
        acc = warpgroup_mma(P, ring.v.index(stage), acc, is_async=True)
        acc = warpgroup_mma_wait(0, deps=(acc,))
        mbarrier.arrive(ring.v_empty.index(stage), count=1)
        step += 1

        found = acc * gl.convert_layout(job.out_factor / total, gl.SliceLayout(1, O_LAYOUT))[:, None]
        found = gl.convert_layout(found.to(job.out.dtype.element_ty), ROWS)
        place = WARPGROUP * GROUP_ROWS + gl.arange(0, GROUP_ROWS, layout=gl.SliceLayout(1, ROWS))
        column = gl.arange(0, HEAD_DIM, layout=gl.SliceLayout(0, ROWS))
        head = (work % job.KV_HEADS) * job.GROUP + (row + place) % job.GROUP
        at = job.out + ((row + place) // job.GROUP)[:, None] * job.out_stride
        gl.store(at + head[:, None] * HEAD_DIM + column[None, :], found, (place < n_rows)[:, None])
