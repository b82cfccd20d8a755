"""silu(rows @ gate.T) * (rows @ up.T) in one product, whose tiles hold both of a pair: gate and up come in turns.

Half the output of a product and no pass over it; e4m3 outputs are converted on the way, saturating. Persistent;
operands and result move by tensor descriptors. The order of the sums is that of the tile, whatever the number of rows.
"""

import triton
import triton.language as tl


@triton.jit
def _tanh(x):
    return tl.inline_asm_elementwise("tanh.approx.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1)


@triton.jit
def _exact_tanh(x):
    return 2.0 / (1.0 + tl.exp(-2.0 * x)) - 1.0


@triton.jit
def gated_product(
    rows, weight, out, row_scales, weight_scales, out_factor, n_rows, n_columns, depth,
    BLOCK_ROWS: tl.constexpr, BLOCK_COLUMNS: tl.constexpr, BLOCK_DEPTH: tl.constexpr, GROUP: tl.constexpr,
    N_PROGRAMS: tl.constexpr, IS_FP8: tl.constexpr, IS_FP8_OUT: tl.constexpr, IS_APPROXIMATE: tl.constexpr,
):  # fmt: skip
    tiles_down, tiles_across = tl.cdiv(n_rows, BLOCK_ROWS), tl.cdiv(n_columns, BLOCK_COLUMNS)
    for tile in tl.range(tl.program_id(0), tiles_down * tiles_across, N_PROGRAMS, flatten=True):
        # GROUP tiles down at a time, so that neighbours find operands in L2
        first = (tile // (GROUP * tiles_across)) * GROUP
        height = min(tiles_down - first, GROUP)
        down = first + (tile % (GROUP * tiles_across)) % height
        across = (tile % (GROUP * tiles_across)) // height
        product = tl.zeros([BLOCK_ROWS, BLOCK_COLUMNS], tl.float32)
        for step in range(0, tl.cdiv(depth, BLOCK_DEPTH)):
            a = rows.load([down * BLOCK_ROWS, step * BLOCK_DEPTH])
            b = weight.load([across * BLOCK_COLUMNS, step * BLOCK_DEPTH])
            product = tl.dot(a, b.T, product)
        if IS_FP8:
            at_row = down * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
            at_column = across * BLOCK_COLUMNS + tl.arange(0, BLOCK_COLUMNS)
            product = product * tl.load(row_scales + at_row, at_row < n_rows, 0.0)[:, None]
            product = product * tl.load(weight_scales + at_column, at_column < n_columns, 0.0)[None, :]
        turns = tl.permute(tl.reshape(product, (BLOCK_ROWS, 2, BLOCK_COLUMNS // 2)), (0, 2, 1))
        gate, up = tl.split(turns)
        half = 0.5 * gate  # silu(g) = g/2 (1 + tanh(g/2)): one special-function instruction, not two
        if IS_APPROXIMATE:  # noqa: SIM108
            found = (half + half * _tanh(half)) * up
        else:
            found = (half + half * _exact_tanh(half)) * up
        if IS_FP8_OUT:
            found = found * out_factor
        out.store([down * BLOCK_ROWS, across * (BLOCK_COLUMNS // 2)], found.to(out.dtype))
