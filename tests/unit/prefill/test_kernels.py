"""The GPU's kernels without a GPU: compiled ahead of time for Hopper, and Triton's run by its interpreter."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mis_scoring.engines.prefill.compile_kernels import (
    HARMLESS_SPILL_BYTES,
    HOPPER,
    SIZES,
    Variant,
    compile_variant,
    variants,
)

INTERPRETED = Path(__file__).with_name("interpreted_kernels.py")
SHARED_BYTES, ATTENTION_REGISTERS = 227 * 1024, 168
# each kernel once, attention in its two kinds, over both shapes and both precisions: `compile_kernels` compiles all
COMPILED = [("1.5B", False, "packed_attention"), ("0.6B", True, "packed_attention, readout")] + [
    ("1.5B", True, name) for name in ("row_norm", "rotate", "readout", "gated_product")
]


@pytest.fixture(autouse=True)
def compiled_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))


def variant_of(size: str, is_fp8: bool, name: str) -> Variant:
    (found,) = [v for v in variants(SIZES[size], is_fp8=is_fp8, capability=HOPPER) if v.name == name]
    return found


@pytest.mark.parametrize(("size", "is_fp8", "name"), COMPILED, ids=lambda value: str(value))
def test_a_kernel_compiles_for_hopper_without_spills(size: str, is_fp8: bool, name: str) -> None:
    made = compile_variant(variant_of(size, is_fp8, name), HOPPER)
    assert made.spilled_bytes <= HARMLESS_SPILL_BYTES and made.shared_bytes <= SHARED_BYTES
    assert made.registers == ATTENTION_REGISTERS or "attention" not in name, "two consumers of 240 and a producer of 24"


def test_a_spill_is_seen() -> None:
    """A tile of 128 x 256 in half of the warps."""
    sound = variant_of("1.5B", True, "gated_product")
    made = compile_variant(replace(sound, options={**sound.options, "num_warps": 4}), HOPPER)
    assert made.spilled_bytes > HARMLESS_SPILL_BYTES


def test_other_gpus_get_the_kernels_but_for_attention() -> None:
    names = [variant.name for variant in variants(SIZES["0.6B"], is_fp8=False, capability=80)]
    assert names == ["row_norm", "rotate", "readout", "gated_product"]
    (gated,) = [v for v in variants(SIZES["0.6B"], is_fp8=False, capability=80) if v.name == "gated_product"]
    assert compile_variant(gated, 80).spilled_bytes == 0


def test_interpreted_kernels_agree_with_their_references() -> None:
    env = os.environ | {"TRITON_INTERPRET": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    ended = subprocess.run([sys.executable, INTERPRETED], env=env, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("holds") == 8
