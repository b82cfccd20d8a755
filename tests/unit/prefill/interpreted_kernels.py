"""The Triton kernels, run by Triton's interpreter, beside their plain references; a line a comparison that holds.

A program of its own: TRITON_INTERPRET is read when triton is loaded. float32, since the interpreter computes bfloat16
descriptors wrongly. Its e4m3 neither saturates nor carries from mantissa to exponent (127.9 becomes 64), so a few
values are left to `tests/gpu`.
"""

import os

import torch

from mis_scoring.engines.prefill.kernels.fused import FusedKernels
from mis_scoring.engines.prefill.kernels.plain import PlainKernels
from mis_scoring.engines.prefill.kernels.product_tile import ProductTile
from mis_scoring.engines.prefill.layout import Linear
from mis_scoring.engines.prefill.rows import NOTHING_WRONG, Alarm, Rows

assert os.environ["TRITON_INTERPRET"] == "1"
HIDDEN, HEAD_DIM, KV_HEADS, TURN = 48, 16, 2, 16
E4M3 = torch.float8_e4m3fn
E4M3_FAULTS = 0.06  # share of values
TILE = ProductTile(rows=16, columns=2 * TURN, depth=16, stages=1, warps=4, group=2, per_sm=1)
draw = torch.Generator().manual_seed(0)
rotary = torch.randn(64, HEAD_DIM, generator=draw)
sizes = {"rotary": rotary, "head_dim": HEAD_DIM, "eps": 1e-6, "turn": TURN}
plain = PlainKernels(**sizes)
fused = FusedKernels(**sizes, tile=TILE, n_sms=3, is_approximate=False)


def random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=draw)


def alarm(n_rows: int) -> Alarm:
    return Alarm(lowest_row=torch.full((1,), NOTHING_WRONG, dtype=torch.int32), n_rows=n_rows)


def fp8_rows(values: torch.Tensor, *, fixed_scale: float | None = None) -> Rows:
    empty = torch.zeros(values.shape).to(E4M3)
    return Rows(values=empty, scales=None if fixed_scale else torch.zeros(len(values), 1), fixed_scale=fixed_scale)


def compare_norm(*, is_fp8: bool, has_delta: bool) -> None:
    x, delta, weight = random(20, HIDDEN), random(20, HIDDEN) if has_delta else None, random(HIDDEN)
    x[13, 5], x[17] = float("nan"), float("inf")
    found = []
    for kernels in (plain, fused):
        given, heard = x.clone(), alarm(18)
        out = fp8_rows(x) if is_fp8 else Rows(values=torch.zeros_like(x))
        kernels.norm(given, delta, weight, out, heard)
        found.append((given, out, int(heard.lowest_row)))
    (x_plain, plain_out, row), (x_fused, fused_out, fused_row) = found
    assert row == fused_row == 13
    sound = [place for place in range(20) if place not in (13, 17)]
    torch.testing.assert_close(x_fused[sound], x_plain[sound])
    if is_fp8:
        torch.testing.assert_close(fused_out.scales[sound], plain_out.scales[sound])
    moved = (fused_out.values.float() - plain_out.values.float())[sound].abs()
    assert (moved > 1e-5).float().mean() < (E4M3_FAULTS if is_fp8 else 1e-9)
    padding = alarm(13)
    fused.norm(x.clone(), delta, weight, Rows(values=torch.zeros_like(x)), padding)
    assert int(padding.lowest_row) == NOTHING_WRONG, "padding is not reported"


def compare_rotate(*, has_norm: bool) -> None:
    qkv, weight = random(20, 3 * KV_HEADS * HEAD_DIM), random(HEAD_DIM) if has_norm else None
    positions = torch.randint(0, 64, (20,), generator=draw, dtype=torch.int32)
    width = slice(KV_HEADS * HEAD_DIM, 2 * KV_HEADS * HEAD_DIM)
    found = []
    for kernels in (plain, fused):
        given, heard = qkv.clone(), alarm(20)
        kernels.rotate(given[:, width], weight, positions, heard)
        assert int(heard.lowest_row) == NOTHING_WRONG
        found.append(given)
    torch.testing.assert_close(found[1], found[0])
    assert torch.equal(found[1][:, : width.start], qkv[:, : width.start]) and not torch.equal(found[1], qkv)
    qkv[7, width.stop - 1] = float("inf")
    heard = alarm(20)
    fused.rotate(qkv[:, width], weight, positions, heard)
    assert int(heard.lowest_row) == 7


def compare_gated(*, is_fp8_out: bool) -> None:
    rows, weight = random(40, HIDDEN), random(4 * TURN, HIDDEN) / HIDDEN**0.5
    found = []
    for kernels in (plain, fused):
        target = (
            fp8_rows(torch.zeros(40, 2 * TURN), fixed_scale=0.1)
            if is_fp8_out
            else Rows(values=torch.zeros(40, 2 * TURN))
        )
        kernels.gated(Rows(values=rows), Linear(weight=weight), target)
        found.append(target.values.float())
    assert ((found[1] - found[0]).abs() > 1e-4).float().mean() < (E4M3_FAULTS if is_fp8_out else 1e-9)


def compare_readout() -> None:
    hidden, head = random(20, HIDDEN), random(30, HIDDEN)
    labels = torch.randint(0, 30, (20, 2), generator=draw, dtype=torch.int32)
    found = [torch.zeros(20, 2), torch.zeros(20, 2)]
    plain.readout(hidden, head, labels, found[0])
    fused.readout(hidden, head, labels, found[1])
    torch.testing.assert_close(found[1], found[0])


for name, compare in {
    "norm": lambda: compare_norm(is_fp8=False, has_delta=False),
    "norm, residual": lambda: compare_norm(is_fp8=False, has_delta=True),
    "norm, residual, e4m3": lambda: compare_norm(is_fp8=True, has_delta=True),
    "rotate": lambda: compare_rotate(has_norm=False),
    "rotate, norm": lambda: compare_rotate(has_norm=True),
    "gated": lambda: compare_gated(is_fp8_out=False),
    "gated, e4m3": lambda: compare_gated(is_fp8_out=True),
    "readout": compare_readout,
}.items():
    compare()
    print(name, "holds", flush=True)  # noqa: T201
