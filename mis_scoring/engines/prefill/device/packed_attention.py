"""Attention of a whole packed forward in one launch, for Hopper: queries causally, items to their query and themselves.

A program walks over tiles (`tiles`): 128 rows of one request and one key head, a row being a token and one of the heads
that share the key. Two consumer warpgroups take 64 rows each, a producer warp brings key blocks of 64 by TMA. A tile
meets its own keys first, block by block as the plan lists them, then its request's query from the end to the start.

What keeps a pair's bits the same in any company: an own block is two halves of 32 keys, each from one item at a multiple
of 32 of its tokens, so a key always has the same column modulo 32; a block that a row may not see leaves the row's
state as it was, exactly (p = exp2(-1e29) = 0, alpha = exp2(0) = 1); products and sums are never contracted by the
compiler, so that all copies of the softmax round alike. The same algorithm in plain torch: `attention.tiled`.
"""

from typing import Any

import triton.experimental.gluon.language as gl
from triton.experimental import gluon
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma, warpgroup_mma, warpgroup_mma_wait
from triton.language.core import _aggregate as aggregate

HEAD_DIM = gl.constexpr(128)
HALF_DIM = gl.constexpr(64)
BLOCK = gl.constexpr(64)  # keys
HALF_BLOCK = gl.constexpr(32)
STAGES = gl.constexpr(4)
GROUP_ROWS = gl.constexpr(64)  # of a tile's 128, to a warpgroup
MASKED = gl.constexpr(-1e30)
LOWEST = gl.constexpr(-1e28)  # a row's maximum before its first key; far above MASKED, so that exp2 of the gap is 0


@aggregate
class Job:
    """The launch's arguments, but for the key blocks."""

    queries: gl.tensor
    query_stride: gl.tensor
    out: gl.tensor
    out_stride: gl.tensor
    out_factor: gl.tensor
    segment_starts: gl.tensor
    positions: gl.tensor
    row_tokens: gl.tensor
    own_blocks: gl.tensor
    tiles: gl.tensor
    n_work: gl.tensor
    rotary: gl.tensor
    query_norm: gl.tensor
    eps: gl.tensor
    log2_scale: gl.tensor
    KV_HEADS: gl.constexpr
    GROUP: gl.constexpr
    IS_READOUT: gl.constexpr
    HAS_NORM: gl.constexpr

    @gluon.constexpr_function
    def __init__(
        self,
        queries: Any,
        query_stride: Any,
        out: Any,
        out_stride: Any,
        out_factor: Any,
        segment_starts: Any,
        positions: Any,
        row_tokens: Any,
        own_blocks: Any,
        tiles: Any,
        n_work: Any,
        rotary: Any,
        query_norm: Any,
        eps: Any,
        log2_scale: Any,
        KV_HEADS: Any,
        GROUP: Any,
        IS_READOUT: Any,
        HAS_NORM: Any,
    ) -> None:
        self.queries = queries
        self.query_stride = query_stride
        self.out = out
        self.out_stride = out_stride
        self.out_factor = out_factor
        self.segment_starts = segment_starts
        self.positions = positions
        self.row_tokens = row_tokens
        self.own_blocks = own_blocks
        self.tiles = tiles
        self.n_work = n_work
        self.rotary = rotary
        self.query_norm = query_norm
        self.eps = eps
        self.log2_scale = log2_scale
        self.KV_HEADS = gl.constexpr(KV_HEADS)
        self.GROUP = gl.constexpr(GROUP)
        self.IS_READOUT = gl.constexpr(IS_READOUT)
        self.HAS_NORM = gl.constexpr(HAS_NORM)


@aggregate
class Ring:
    """Key and value blocks on their way: shared memory, and for each stage a barrier that fills and one that empties.

    Keys lie as two halves of the head, so that a query's rotation stays inside one; `*_halves` are the same memory,
    32 keys at a time.
    """

    k_low: gl.shared_memory_descriptor
    k_high: gl.shared_memory_descriptor
    v: gl.shared_memory_descriptor
    k_low_halves: gl.shared_memory_descriptor
    k_high_halves: gl.shared_memory_descriptor
    v_halves: gl.shared_memory_descriptor
    k_full: gl.shared_memory_descriptor
    k_empty: gl.shared_memory_descriptor
    v_full: gl.shared_memory_descriptor
    v_empty: gl.shared_memory_descriptor

    @gluon.constexpr_function
    def __init__(
        self,
        k_low: Any,
        k_high: Any,
        v: Any,
        k_low_halves: Any,
        k_high_halves: Any,
        v_halves: Any,
        k_full: Any,
        k_empty: Any,
        v_full: Any,
        v_empty: Any,
    ) -> None:
        self.k_low = k_low
        self.k_high = k_high
        self.v = v
        self.k_low_halves = k_low_halves
        self.k_high_halves = k_high_halves
        self.v_halves = v_halves
        self.k_full = k_full
        self.k_empty = k_empty
        self.v_full = v_full
        self.v_empty = v_empty


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
    ring = _ring(keys, values, key_halves)
    gl.warp_specialize(
        [
            (_consume, (job, ring, 0)),
            (_consume, (job, ring, 1)),
            (_produce, (job, ring, keys, values, key_halves, value_halves)),
        ],
        [4, 1],
        [CONSUMER_REGISTERS, PRODUCER_REGISTERS],
    )


@gluon.jit
def _ring(keys, values, key_halves):
    k_low = gl.allocate_shared_memory(gl.bfloat16, [STAGES, BLOCK, HALF_DIM], keys.layout)
    k_high = gl.allocate_shared_memory(gl.bfloat16, [STAGES, BLOCK, HALF_DIM], keys.layout)
    v = gl.allocate_shared_memory(gl.bfloat16, [STAGES, BLOCK, HEAD_DIM], values.layout)
    barriers: gl.constexpr = mbarrier.MBarrierLayout()
    k_full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], barriers)
    k_empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], barriers)
    v_full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], barriers)
    v_empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], barriers)
    for stage in gl.static_range(STAGES):
        mbarrier.init(k_full.index(stage), count=1)
        mbarrier.init(v_full.index(stage), count=1)
        mbarrier.init(k_empty.index(stage), count=2)
        mbarrier.init(v_empty.index(stage), count=2)
    return Ring(
        k_low,
        k_high,
        v,
        k_low._reinterpret(gl.bfloat16, [2 * STAGES, HALF_BLOCK, HALF_DIM], key_halves.layout),
        k_high._reinterpret(gl.bfloat16, [2 * STAGES, HALF_BLOCK, HALF_DIM], key_halves.layout),
        # a swizzled block of 128 columns is two of 64: (columns 0-63, 64-127) x (keys 0-31, 32-63)
        v._reinterpret(gl.bfloat16, [4 * STAGES, HALF_BLOCK, HALF_DIM], key_halves.layout),
        k_full,
        k_empty,
        v_full,
        v_empty,
    )


@gluon.jit
def _tile(job, work):
    """First row, rows, first prefix key, prefix keys, first own block, own blocks."""
    at = job.tiles + (work // job.KV_HEADS) * 6
    return gl.load(at), gl.load(at + 1), gl.load(at + 2), gl.load(at + 3), gl.load(at + 4), gl.load(at + 5)


@gluon.jit
def _own_block(job, number):
    """First key and item of both halves; an item is named by its first token, -1 is nobody."""
    at = job.own_blocks + number * 4
    return gl.load(at), gl.load(at + 1), gl.load(at + 2), gl.load(at + 3)


@gluon.jit
def _produce(job, ring, keys, values, key_halves, value_halves):
    step = 0
    for work in range(gl.program_id(0), job.n_work, gl.num_programs(0)):
        _, _, prefix, n_prefix, own, n_own = _tile(job, work)
        column = (work % job.KV_HEADS) * HEAD_DIM
        n_blocks = gl.cdiv(n_prefix, BLOCK)
        for number in range(n_own):
            first, _, second, _ = _own_block(job, own + number)
            stage = step % STAGES
            phase = (step // STAGES) & 1
            mbarrier.wait(ring.k_empty.index(stage), phase ^ 1)
            full = ring.k_full.index(stage)
            mbarrier.expect(full, BLOCK * HEAD_DIM * 2)
            tma.async_copy_global_to_shared(key_halves, [first, column], full, ring.k_low_halves.index(2 * stage))
            tma.async_copy_global_to_shared(key_halves, [second, column], full, ring.k_low_halves.index(2 * stage + 1))
            upper = column + HALF_DIM
            tma.async_copy_global_to_shared(key_halves, [first, upper], full, ring.k_high_halves.index(2 * stage))
            tma.async_copy_global_to_shared(key_halves, [second, upper], full, ring.k_high_halves.index(2 * stage + 1))
            mbarrier.wait(ring.v_empty.index(stage), phase ^ 1)
            full = ring.v_full.index(stage)
            mbarrier.expect(full, BLOCK * HEAD_DIM * 2)
            tma.async_copy_global_to_shared(value_halves, [first, column], full, ring.v_halves.index(4 * stage))
            tma.async_copy_global_to_shared(value_halves, [second, column], full, ring.v_halves.index(4 * stage + 1))
            tma.async_copy_global_to_shared(value_halves, [first, upper], full, ring.v_halves.index(4 * stage + 2))
            tma.async_copy_global_to_shared(value_halves, [second, upper], full, ring.v_halves.index(4 * stage + 3))
            step += 1
        for number in range(n_blocks):
            first = prefix + (n_blocks - 1 - number) * BLOCK
            stage = step % STAGES
            phase = (step // STAGES) & 1
            mbarrier.wait(ring.k_empty.index(stage), phase ^ 1)
            full = ring.k_full.index(stage)
            mbarrier.expect(full, BLOCK * HEAD_DIM * 2)
            tma.async_copy_global_to_shared(keys, [first, column], full, ring.k_low.index(stage))
            tma.async_copy_global_to_shared(keys, [first, column + HALF_DIM], full, ring.k_high.index(stage))
            mbarrier.wait(ring.v_empty.index(stage), phase ^ 1)
            full = ring.v_full.index(stage)
            mbarrier.expect(full, BLOCK * HEAD_DIM * 2)
            tma.async_copy_global_to_shared(values, [first, column], full, ring.v.index(stage))
            step += 1


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
def _softmax(S, top, total, item, last, first_a, item_a, first_b, item_b, scale, IS_MASKED: gl.constexpr, layout: gl.constexpr):
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
        row, n_rows, prefix, n_prefix, own, n_own = _tile(job, work)
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
        first_a, item_a, first_b, item_b = _own_block(job, own)
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
        p, alpha, top, total = _softmax(
            S, top, total, item, token, first_a, item_a, first_b, item_b, scale, True, S_LAYOUT
        )
        P = gl.convert_layout(p.to(gl.bfloat16), P_LAYOUT)
        mbarrier.wait(ring.v_full.index(stage), phase)
        for number in range(1, n_masked):
            is_own = number < n_own
            first_a, item_a, first_b, item_b = _own_block(job, own + gl.where(is_own, number, 0))
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
