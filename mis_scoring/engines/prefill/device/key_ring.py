"""What the attention's producer and consumers share: a launch's arguments, and the ring that key blocks pass."""

from typing import Any

import triton.experimental.gluon.language as gl
from triton.experimental import gluon
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma
from triton.language.core import _aggregate as aggregate

HEAD_DIM = gl.constexpr(128)
HALF_DIM = gl.constexpr(64)
BLOCK = gl.constexpr(64)  # keys
HALF_BLOCK = gl.constexpr(32)
STAGES = gl.constexpr(4)


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


@gluon.jit
def make_ring(keys, values, key_halves):
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
def tile_of(job, work):
    """First row, rows, first prefix key, prefix keys, first own block, own blocks."""
    at = job.tiles + (work // job.KV_HEADS) * 6
    return gl.load(at), gl.load(at + 1), gl.load(at + 2), gl.load(at + 3), gl.load(at + 4), gl.load(at + 5)


@gluon.jit
def own_block(job, number):
    """First key and item of both halves; an item is named by its first token, -1 is nobody."""
    at = job.own_blocks + number * 4
    return gl.load(at), gl.load(at + 1), gl.load(at + 2), gl.load(at + 3)


@gluon.jit
def produce(job, ring, keys, values, key_halves, value_halves):
    step = 0
    for work in range(gl.program_id(0), job.n_work, gl.num_programs(0)):
        _, _, prefix, n_prefix, own, n_own = tile_of(job, work)
        column = (work % job.KV_HEADS) * HEAD_DIM
        n_blocks = gl.cdiv(n_prefix, BLOCK)
        for number in range(n_own):
            first, _, second, _ = own_block(job, own + number)
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
