"""Attention of a whole forward in one launch on Hopper: queries and items together, queries rotated on the way.

`device.packed_attention` says how; this is what it is launched with. Heads of 128 in bfloat16 alone.
"""

import math
from dataclasses import dataclass

import torch
import triton.experimental.gluon.language as gl
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

from mis_scoring.engines.prefill.attention.interface import DevicePlan, Heads, Tables
from mis_scoring.engines.prefill.attention.tiled import TABLES, tile_tables
from mis_scoring.engines.prefill.device.packed_attention import attend_packed
from mis_scoring.engines.prefill.kernels.plain import PlainKernels
from mis_scoring.engines.prefill.plan import ForwardPlan
from mis_scoring.engines.prefill.tiles import HALF_BLOCK, KEY_BLOCK

HEAD_DIM = 128
CAPABILITY = 90
CONSUMER_REGISTERS, PRODUCER_REGISTERS = 240, 24
# no contraction: all copies of the softmax in the kernel must round alike
COMPILE_OPTIONS = {"num_warps": 4, "maxnreg": 168, "enable_fp_fusion": False}
BOXES = {"keys": (KEY_BLOCK, HEAD_DIM // 2), "values": (KEY_BLOCK, HEAD_DIM), "halves": (HALF_BLOCK, HEAD_DIM // 2)}


@dataclass(frozen=True, kw_only=True)
class HopperAttention:
    """See `Attention`.

    Attributes:
        group: heads that share a key.
        n_sms: programs of a launch, one an SM.
    """

    kernels: PlainKernels
    group: int
    n_sms: int

    @property
    def name(self) -> str:
        """See `Attention`."""
        return "hopper"

    @property
    def is_batch_invariant(self) -> bool:
        """See `Attention`."""
        return True

    def tables(self, plan: ForwardPlan) -> Tables:
        """See `Attention`."""
        return tile_tables(plan, self.group)

    def attend(self, heads: Heads, plan: DevicePlan) -> None:
        """See `Attention`."""
        tiles, own_blocks = (plan.arrays[name] for name in TABLES[heads.is_readout])
        kv_heads = heads.keys.shape[1] // HEAD_DIM
        n_work = len(tiles) * kv_heads
        norm = heads.query_norm
        attend_packed[(min(self.n_sms, n_work),)](
            box(heads.keys, "keys"), box(heads.values, "values"), box(heads.keys, "halves"),
            box(heads.values, "halves"), heads.queries, heads.queries.stride(0), heads.out.values,
            heads.out.values.stride(0), 1.0 if heads.out.fixed_scale is None else 1.0 / heads.out.fixed_scale,
            plan.arrays["segment_starts"], plan.arrays["positions"], plan.arrays["readout_tokens"], own_blocks, tiles,
            n_work, self.kernels.rotary, heads.queries if norm is None else norm, self.kernels.eps,
            math.log2(math.e) * HEAD_DIM**-0.5, kv_heads, self.group, heads.is_readout, norm is not None,
            CONSUMER_REGISTERS, PRODUCER_REGISTERS, **COMPILE_OPTIONS,
        )  # fmt: skip


def box_layout(kind: str) -> gl.NVMMASharedLayout:
    """Return how a box of keys or values lies in shared memory."""
    return gl.NVMMASharedLayout.get_default_for(list(BOXES[kind]), gl.bfloat16)


def box(part: torch.Tensor, kind: str) -> TensorDescriptor:
    """Describe keys or values to the tensor memory unit, which copies a box at a time; past the end it reads zeros."""
    return TensorDescriptor.from_tensor(part, list(BOXES[kind]), box_layout(kind))
