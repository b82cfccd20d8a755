"""The dedicated engine's kernels on a real GPU, each beside its plain reference, in the dtypes that it runs in."""

import importlib.util

import numpy as np
import pytest
import torch

from mis_scoring.engines.prefill.assembly import HOPPER, Device, make_attention, make_kernels
from mis_scoring.engines.prefill.attention.interface import Attention, DevicePlan, Heads
from mis_scoring.engines.prefill.attention.reference import ReferenceAttention
from mis_scoring.engines.prefill.fp8 import LARGEST, quantise_rows
from mis_scoring.engines.prefill.kernels.plain import PlainKernels, fp8_product
from mis_scoring.engines.prefill.kernels.product_tile import product_tile
from mis_scoring.engines.prefill.layout import Linear
from mis_scoring.engines.prefill.plan import Limits, Part, plan_forward
from mis_scoring.engines.prefill.rows import NOTHING_WRONG, Alarm, Rows
from mis_scoring.engines.prefill.settings import PrefillSettings
from mis_scoring.engines.prefill.shape import DecoderShape
from mis_scoring.engines.prefill.staging import Slot

M, E4M3 = 1_040, torch.float8_e4m3fn
SHAPES = {  # hidden, intermediate, heads, key heads, norm over heads
    "1.5B": (1_536, 8_960, 12, 2, False),
    "0.6B": (1_024, 3_072, 16, 8, True),
}


@pytest.fixture(scope="module", params=SHAPES)
def shape(request: pytest.FixtureRequest) -> DecoderShape:
    hidden, intermediate, heads, kv_heads, has_norm = SHAPES[request.param]
    return DecoderShape(
        vocab_size=1_000,
        hidden=hidden,
        intermediate=intermediate,
        n_layers=1,
        n_heads=heads,
        n_kv_heads=kv_heads,
        head_dim=128,
        eps=1e-6,
        max_positions=16_384,
        has_qkv_bias=not has_norm,
        has_head_norm=has_norm,
        is_tied=True,
    )


def kernels_of(shape: DecoderShape, *, is_fp8: bool = False) -> tuple[PlainKernels, PlainKernels]:
    """Fused and plain."""
    device = Device.of(PrefillSettings())
    tile = product_tile(hidden=shape.hidden, is_fp8=is_fp8, capability=device.capability)
    angles = torch.arange(shape.max_positions)[:, None] * (1e6 ** -(torch.arange(64) / 64))
    rotary = torch.cat([angles.cos(), angles.sin()], dim=1).float().cuda()
    plain = PlainKernels(rotary=rotary, head_dim=128, eps=shape.eps, turn=tile.turn)
    return make_kernels(device, plain, tile), plain


def random(*size: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(size, device="cuda", generator=torch.Generator("cuda").manual_seed(seed)).bfloat16()


def alarm(n_rows: int = M) -> Alarm:
    return Alarm(lowest_row=torch.full((1,), NOTHING_WRONG, dtype=torch.int32, device="cuda"), n_rows=n_rows)


def fp8_rows(*size: int, fixed_scale: float | None = None) -> Rows:
    values = torch.zeros(size, device="cuda").to(E4M3)
    return Rows(
        values=values, scales=None if fixed_scale else torch.zeros(size[0], 1, device="cuda"), fixed_scale=fixed_scale
    )


def off_by(found: torch.Tensor, expected: torch.Tensor) -> float:
    """Relative error of the whole."""
    return float((found.float() - expected.float()).norm() / expected.float().norm())


@pytest.mark.parametrize("is_fp8", [False, True])
def test_norms_agree_and_name_the_first_row_that_is_no_number(shape: DecoderShape, is_fp8: bool) -> None:
    fused, plain = kernels_of(shape)
    x, delta, weight = random(M, shape.hidden), random(M, shape.hidden, seed=1), random(shape.hidden, seed=2)
    x[1_030, 7] = float("inf")
    found = []
    for kernels in (fused, plain):
        given, heard = x.clone(), alarm()
        out = fp8_rows(M, shape.hidden) if is_fp8 else Rows(values=torch.zeros_like(x))
        kernels.norm(given, delta, weight, out, heard)
        found.append((given[:1_030], out.values[:1_030], int(heard.lowest_row)))
    assert torch.equal(found[0][0], found[1][0]) and found[0][2] == found[1][2] == 1_030
    assert off_by(found[0][1], found[1][1]) < (0.01 if is_fp8 else 0.003)


def test_rotations_agree(shape: DecoderShape) -> None:
    fused, plain = kernels_of(shape)
    weight = random(128, seed=2) if shape.has_head_norm else None
    positions = torch.randint(0, shape.max_positions, (M,), device="cuda", dtype=torch.int32)
    found = [random(M, shape.qkv_width) for _ in range(2)]
    keys = slice(shape.query_width, shape.query_width + shape.kv_width)
    for kernels, heads in zip((fused, plain), found, strict=True):
        kernels.rotate(heads[:, keys], weight, positions, alarm())
    assert off_by(found[0], found[1]) < 0.003


@pytest.mark.parametrize("is_fp8", [False, True])
def test_gated_products_agree_and_saturate(shape: DecoderShape, is_fp8: bool) -> None:
    fused, plain = kernels_of(shape, is_fp8=is_fp8)
    x, w = random(M, shape.hidden), random(2 * shape.intermediate, shape.hidden, seed=1) / shape.hidden**0.5
    x[5] *= 100
    if is_fp8:
        (values, scales), (weight, weight_scales) = quantise_rows(x), quantise_rows(w)
        rows = Rows(values=values, scales=scales)
        linear = Linear(weight=weight, scales=weight_scales.flatten())
    else:
        rows, linear = Rows(values=x), Linear(weight=w)
    found = []
    for kernels in (fused, plain):
        out = Rows(values=torch.zeros(M, shape.intermediate, device="cuda", dtype=torch.bfloat16))
        out = fp8_rows(M, shape.intermediate, fixed_scale=0.02) if is_fp8 else out
        kernels.gated(rows, linear, out)
        found.append(out.values.float())
    assert off_by(found[0], found[1]) < (0.03 if is_fp8 else 0.01)
    assert found[0].isfinite().all() and (not is_fp8 or found[0].abs().max() == LARGEST)


@pytest.mark.parametrize("fixed_scale", [None, 0.01])
def test_fp8_products_agree(shape: DecoderShape, fixed_scale: float | None) -> None:
    fused, _ = kernels_of(shape, is_fp8=True)
    weight, weight_scales = quantise_rows(random(shape.hidden, shape.query_width, seed=1) / shape.query_width**0.5)
    values, scales = quantise_rows(random(M, shape.query_width))
    rows = Rows(values=values, scales=None if fixed_scale else scales, fixed_scale=fixed_scale)
    linear = Linear(weight=weight, scales=weight_scales.flatten(), input_scale=fixed_scale)
    out = torch.zeros(M, shape.hidden, device="cuda", dtype=torch.bfloat16)
    fused.linear(rows, linear, out)
    assert off_by(out, fp8_product(rows, linear)) < 0.005


def test_readouts_agree_and_have_the_same_bits_in_any_company(shape: DecoderShape) -> None:
    fused, plain = kernels_of(shape)
    hidden, head = random(M, shape.hidden), random(1_000, shape.hidden, seed=1)
    labels = torch.randint(0, 1_000, (M, 2), device="cuda", dtype=torch.int32)
    found = [torch.zeros(M, 2, device="cuda") for _ in range(3)]
    fused.readout(hidden, head, labels, found[0])
    plain.readout(hidden, head, labels, found[1])
    torch.testing.assert_close(found[0], found[1], rtol=1e-4, atol=1e-4)
    fused.readout(hidden.flip(0).contiguous(), head, labels.flip(0).contiguous(), found[2])
    assert torch.equal(found[2].flip(0), found[0])


def attentions(shape: DecoderShape) -> list[Attention]:
    """Those that this GPU has."""
    device, (fused, _) = Device.of(PrefillSettings()), kernels_of(shape)
    names = ["hopper"] if device.capability == HOPPER else []
    names += ["portable"] if importlib.util.find_spec("flashinfer") else []
    return [make_attention(PrefillSettings(attention=name), device, shape, fused) for name in names]


@pytest.mark.parametrize("is_readout", [False, True])
def test_every_attention_agrees_with_the_written_out_mask(shape: DecoderShape, is_readout: bool) -> None:
    draw = np.random.default_rng(0)
    parts = []
    for n_query, n_items in ((744, 60), (17, 9), (300, 1)):
        lengths = np.asarray([1, *draw.integers(1, 151, n_items - 1)][:n_items], np.int32)
        ids = draw.integers(0, 1_000, n_query + lengths.sum()).astype(np.int32)
        parts.append(Part(token_ids=ids, query_tokens=n_query, item_tokens=lengths, label_ids=(1, 2)))
    plan = plan_forward(parts)
    _, plain = kernels_of(shape)
    n_rows = plan.n_readout_rows if is_readout else plan.n_rows
    n_used = plan.n_items if is_readout else plan.n_tokens
    keys = random(plan.n_rows, 2 * shape.kv_width, seed=3)
    norm = random(128, seed=4) if shape.has_head_norm else None
    reference, *found = [
        _attended(attention, shape, plan_on_device(plan, attention, shape), keys, norm, n_rows, is_readout)[:n_used]
        for attention in (ReferenceAttention(kernels=plain), *attentions(shape))
    ]
    assert found, "no attention was compared"
    for values in found:
        assert off_by(values, reference) < 0.01 and values.isfinite().all()


def plan_on_device(plan, attention: Attention, shape: DecoderShape) -> DevicePlan:  # type: ignore[no-untyped-def]
    limits = Limits(max_tokens=16_384, max_items=1_024, max_parts=8, max_item_tokens=8_192)
    slot = Slot(limits, group=shape.group, n_checks=4, device="cuda")
    slot.put(plan, attention.tables(plan))
    device_plan, _ = slot.send()
    torch.cuda.synchronize()
    return device_plan


def _attended(  # type: ignore[no-untyped-def]
    attention: Attention, shape: DecoderShape, plan: DevicePlan, keys, norm, n_rows: int, is_readout: bool
) -> torch.Tensor:
    queries = random(n_rows, shape.query_width, seed=5)
    out = Rows(values=torch.zeros_like(queries))
    heads = Heads(
        queries=queries,
        keys=keys[:, : shape.kv_width],
        values=keys[:, shape.kv_width :],
        out=out,
        query_norm=norm,
        is_readout=is_readout,
    )
    attention.attend(heads, plan)
    torch.cuda.synchronize()
    return out.values
