"""Compile all kernels ahead of time, without a GPU: `python -m mis_scoring.engines.prefill.compile_kernels`.

Says registers, shared memory and spills of each, and fails where a kernel spills or does not compile. What is compiled
is what `kernels.fused` and `attention.hopper` launch for the paper's shapes (widths are compiled in, rows are not).
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.experimental.gluon._runtime import GluonASTSource

from mis_scoring.engines.prefill.attention.hopper import (
    BOXES,
    COMPILE_OPTIONS,
    CONSUMER_REGISTERS,
    PRODUCER_REGISTERS,
    box_layout,
)
from mis_scoring.engines.prefill.device.gated_product import gated_product
from mis_scoring.engines.prefill.device.packed_attention import attend_packed
from mis_scoring.engines.prefill.device.readout import readout
from mis_scoring.engines.prefill.device.rotate import rotate
from mis_scoring.engines.prefill.device.row_norm import row_norm
from mis_scoring.engines.prefill.kernels.fused import HEADS_A_PROGRAM, pieces
from mis_scoring.engines.prefill.kernels.product_tile import product_tile

HOPPER = 90
SIZES = {  # of the paper's models: hidden, intermediate, heads, key heads, norm over heads
    "1.5B": (1536, 8960, 12, 2, False),
    "0.6B": (1024, 3072, 16, 8, True),
}
# one address, put aside before the first tile and read back once (0.6B in fp8); a spill inside a loop is more
HARMLESS_SPILL_BYTES = 8
BF16, E4M3, F32, I32 = "*bf16", "*fp8e4nv", "*fp32", "*i32"


@dataclass(frozen=True, kw_only=True)
class Variant:
    """A kernel with the types and constants of one launch.

    Attributes:
        arguments: type of each argument, in order; constants have none.
        constants: by name.
    """

    name: str
    kernel: Any
    arguments: Mapping[str, str]
    constants: Mapping[str, Any]
    options: Mapping[str, Any]
    is_gluon: bool = False


@dataclass(frozen=True, kw_only=True)
class Compiled:
    """What ptxas made of a variant; bytes are those of one thread (spilled) and one block (shared)."""

    name: str
    registers: int
    spilled_bytes: int
    shared_bytes: int
    seconds: float


def compile_variant(variant: Variant, capability: int) -> Compiled:
    """Compile for a GPU that need not be there.

    Raises:
        triton.CompilationError, RuntimeError: it does not compile.
    """
    started = time.monotonic()
    names = [parameter.name for parameter in variant.kernel.params]
    signature = {name: variant.arguments.get(name, "constexpr") for name in names}
    constants = {(names.index(name),): value for name, value in variant.constants.items()}
    aligned: Any = {
        (place,): [["tt.divisibility", 16]]
        for place, name in enumerate(names)
        if signature[name].startswith("*") or name in ("stride", "query_stride", "out_stride", "n_rows", "depth")
    }
    source = (GluonASTSource if variant.is_gluon else ASTSource)(variant.kernel, signature, constants, aligned)
    made = triton.compile(source, target=GPUTarget("cuda", capability, 32), options=dict(variant.options))
    registers, spilled = resources(made.asm["cubin"])
    return Compiled(
        name=variant.name,
        registers=registers,
        spilled_bytes=spilled,
        shared_bytes=made.metadata.shared,
        seconds=time.monotonic() - started,
    )


def resources(cubin: bytes) -> tuple[int, int]:
    """Return registers and bytes on the stack of a thread, as cuobjdump says; what spills is on the stack."""
    tool = triton.knobs.nvidia.cuobjdump.path
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.cubin"
        file.write_bytes(cubin)
        said = subprocess.run([tool, "--dump-resource-usage", file], capture_output=True, text=True, check=True).stdout
    used = dict(part.split(":") for part in said.split() if part.startswith(("REG:", "STACK:", "LOCAL:")))
    return int(used["REG"]), int(used["STACK"]) + int(used["LOCAL"])


def variants(sizes: tuple[int, int, int, int, bool], *, is_fp8: bool, capability: int) -> Iterator[Variant]:
    """Yield every kernel of a model; attention on Hopper alone."""
    hidden, _, heads, kv_heads, has_norm = sizes
    first, second = pieces(hidden)
    yield Variant(
        name="row_norm",
        kernel=row_norm,
        arguments={"x": BF16, "delta": BF16, "weight": BF16, "out": E4M3 if is_fp8 else BF16, "scales": F32}
        | {"alarm": I32, "n_alarmed": "i32", "eps": "fp32"},
        constants={"HIDDEN": hidden, "PIECE_1": first, "PIECE_2": second, "HAS_DELTA": is_fp8, "IS_FP8": is_fp8},
        options={"num_warps": 2},
    )
    yield Variant(
        name="rotate",
        kernel=rotate,
        arguments={"heads": BF16, "stride": "i32", "positions": I32, "rotary": F32, "weight": BF16, "alarm": I32}
        | {"n_rows": "i32", "n_alarmed": "i32", "eps": "fp32"},
        constants={"HEADS": kv_heads, "HALF": 64, "HAS_NORM": has_norm, "ROWS": HEADS_A_PROGRAM},
        options={"num_warps": 4},
    )
    yield Variant(
        name="readout",
        kernel=readout,
        arguments={"hidden": BF16, "head": BF16, "label_ids": I32, "out": F32},
        constants={"HIDDEN": hidden, "BLOCK": triton.next_power_of_2(hidden), "LABELS": 2},
        options={"num_warps": 2},
    )
    yield _gated(hidden, is_fp8=is_fp8, capability=capability)
    if capability == HOPPER:
        for is_readout in (False, True):
            yield _attention(heads // kv_heads, kv_heads, has_norm=has_norm, is_readout=is_readout, is_fp8=is_fp8)


def _gated(hidden: int, *, is_fp8: bool, capability: int) -> Variant:
    tile = product_tile(hidden=hidden, is_fp8=is_fp8, capability=capability)
    kind = "fp8e4nv" if is_fp8 else "bf16"
    return Variant(
        name="gated_product",
        kernel=gated_product,
        arguments={
            "rows": f"tensordesc<{kind}[{tile.rows}, {tile.depth}]>",
            "weight": f"tensordesc<{kind}[{tile.columns}, {tile.depth}]>",
            "out": f"tensordesc<{kind}[{tile.rows}, {tile.turn}]>",
            "row_scales": F32,
            "weight_scales": F32,
            "out_factor": "fp32",
            "n_rows": "i32",
            "n_columns": "i32",
            "depth": "i32",
        },
        constants={
            "BLOCK_ROWS": tile.rows,
            "BLOCK_COLUMNS": tile.columns,
            "BLOCK_DEPTH": tile.depth,
            "GROUP": tile.group,
            "N_PROGRAMS": 132 * tile.per_sm,
            "IS_FP8": is_fp8,
            "IS_FP8_OUT": is_fp8,
            "IS_APPROXIMATE": True,
        },
        options={"num_warps": tile.warps, "num_stages": tile.stages},
    )


def _attention(group: int, kv_heads: int, *, has_norm: bool, is_readout: bool, is_fp8: bool) -> Variant:
    boxes = {name: f"tensordesc<bf16{list(box)},{box_layout(name)!r}>" for name, box in BOXES.items()}
    integers = ("segment_starts", "positions", "row_tokens", "own_blocks", "tiles")
    numbers = {"query_stride": "i32", "out_stride": "i32", "n_work": "i32"}
    return Variant(
        name="packed_attention, readout" if is_readout else "packed_attention",
        kernel=attend_packed,
        arguments={"keys": boxes["keys"], "values": boxes["values"], "key_halves": boxes["halves"]}
        | {"value_halves": boxes["halves"], "queries": BF16, "out": E4M3 if is_fp8 else BF16, "query_norm": BF16}
        | dict.fromkeys(integers, I32)
        | numbers
        | {"rotary": F32}
        | dict.fromkeys(("out_factor", "eps", "log2_scale"), "fp32"),
        constants={
            "KV_HEADS": kv_heads,
            "GROUP": group,
            "IS_READOUT": is_readout,
            "HAS_NORM": has_norm,
            "CONSUMER_REGISTERS": CONSUMER_REGISTERS,
            "PRODUCER_REGISTERS": PRODUCER_REGISTERS,
        },
        options=COMPILE_OPTIONS,
        is_gluon=True,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Compile, print a line a kernel, and return 1 where one spills."""
    parser = argparse.ArgumentParser(prog="python -m mis_scoring.engines.prefill.compile_kernels", description=__doc__)
    parser.add_argument("--capability", type=int, default=HOPPER, help="80, 86, 89 or 90; default %(default)s")
    options = parser.parse_args(arguments)
    n_spilled = 0
    for size, sizes in SIZES.items():
        for is_fp8 in (False, True) if options.capability >= 89 else (False,):
            for variant in variants(sizes, is_fp8=is_fp8, capability=options.capability):
                made = compile_variant(variant, options.capability)
                n_spilled += made.spilled_bytes > HARMLESS_SPILL_BYTES
                sys.stdout.write(
                    f"{size} {'fp8' if is_fp8 else 'bf16'} {made.name}: {made.registers} registers, "
                    f"{made.shared_bytes} bytes shared, {made.spilled_bytes} spilled, {made.seconds:.1f} s\n"
                )
    return 1 if n_spilled else 0


if __name__ == "__main__":
    raise SystemExit(main())
