"""The Hopper kernel's algorithm in plain torch, tile by tile and block by block: its reference, and its tables' proof.

What `hopper_device` does in registers is written here so that it can be read: a running softmax over a tile's own key
blocks, then over its query's from the end to the start. Slow; for tests and for looking.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from mis_scoring.engines.prefill.attention.interface import DevicePlan, Heads, Tables
from mis_scoring.engines.prefill.attention.reference import rotated_queries, write_some_rows
from mis_scoring.engines.prefill.kernels.plain import PlainKernels
from mis_scoring.engines.prefill.plan import ForwardPlan
from mis_scoring.engines.prefill.tiles import HALF_BLOCK, KEY_BLOCK, TILE_ROWS, readout_tiles, token_tiles

MASKED, LOWEST = -1e30, -1e28


@dataclass(frozen=True, kw_only=True)
class TiledAttention:
    """See `Attention`.

    Attributes:
        group: heads that share a key.
    """

    kernels: PlainKernels
    group: int

    @property
    def name(self) -> str:
        """See `Attention`."""
        return "tiled"

    @property
    def is_batch_invariant(self) -> bool:
        """See `Attention`: every product here has 128 rows and 64 keys."""
        return True

    def tables(self, plan: ForwardPlan) -> Tables:
        """See `Attention`."""
        return tile_tables(plan, self.group)

    def attend(self, heads: Heads, plan: DevicePlan) -> None:
        """See `Attention`."""
        size, group = self.kernels.head_dim, self.group
        queries = rotated_queries(self.kernels, heads, plan).unflatten(1, (-1, size)).float()
        keys, values = (part.unflatten(1, (-1, size)).float() for part in (heads.keys, heads.values))
        tokens = plan.arrays["readout_tokens"].long() if heads.is_readout else torch.arange(len(queries))
        segments = plan.arrays["segment_starts"].long()
        found = torch.zeros_like(queries)
        tiles, own_blocks = (plan.arrays[name].tolist() for name in TABLES[heads.is_readout])
        for first_row, n_rows, *tile in tiles:
            rows = first_row + torch.arange(TILE_ROWS).clamp(max=n_rows - 1)
            token, head = rows // group, rows % group
            blocks = list(_blocks(tile, own_blocks, tokens[token], segments[tokens[token]]))
            for kv_head in range(keys.shape[1]):
                q = queries[token, kv_head * group + head]
                rounded_to = heads.values.dtype
                attended = _attend_tile(q, keys[:, kv_head], values[:, kv_head], blocks, rounded_to)
                found[token[:n_rows], (kv_head * group + head)[:n_rows]] = attended[:n_rows]
        n_used = plan.host.n_items if heads.is_readout else plan.host.n_tokens
        write_some_rows(found.flatten(1)[:n_used], heads.out, torch.arange(n_used))


TABLES = {False: ("token_tiles", "token_own_blocks"), True: ("readout_tiles", "readout_own_blocks")}
Block = tuple[torch.Tensor, torch.Tensor]  # keys (64,), and what each of 128 rows sees (128, 64)


def tile_tables(plan: ForwardPlan, group: int) -> Tables:
    """Return the tables of both kinds of attention that a forward has."""
    tables = {False: token_tiles(plan, group), True: readout_tiles(plan, group)}
    named = {is_readout: (table.tiles, table.own_blocks) for is_readout, table in tables.items()}
    return {name: part for kind, parts in named.items() for name, part in zip(TABLES[kind], parts, strict=True)}


def _blocks(tile: list[int], own_blocks: list[list[int]], tokens: torch.Tensor, items: torch.Tensor) -> Iterator[Block]:
    """Yield a tile's key blocks: its own, then its query's from the end to the start."""
    prefix, n_prefix, own, n_own = tile
    half = torch.arange(HALF_BLOCK)
    for first, item, second, second_item in own_blocks[own : own + n_own]:
        keys = torch.cat([first + half, second + half])
        item_of_key = torch.tensor([item, second_item]).repeat_interleave(HALF_BLOCK)
        yield keys, (item_of_key[None] == items[:, None]) & (keys[None] <= tokens[:, None])
    for start in reversed(range(0, n_prefix, KEY_BLOCK)):
        keys = prefix + start + torch.arange(KEY_BLOCK)
        yield keys, (keys < prefix + n_prefix).expand(TILE_ROWS, -1)


def _attend_tile(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, blocks: list[Block], rounded_to: torch.dtype
) -> torch.Tensor:
    """Return (128, head_dim) float32 of one key head; a block that a row does not see leaves its state as it was."""
    scale = math.log2(math.e) * queries.shape[1] ** -0.5
    top, total = queries.new_full((TILE_ROWS,), LOWEST), queries.new_zeros(TILE_ROWS)
    attended = torch.zeros_like(queries)
    for places, is_seen in blocks:
        inside = places.clamp(max=len(keys) - 1)  # past the end TMA reads zeros, which nobody sees
        scores = torch.where(is_seen, queries @ keys[inside].T, MASKED)
        new_top = torch.maximum(top, scores.amax(dim=1) * scale)
        p = torch.exp2(scores * scale - new_top[:, None])
        alpha = torch.exp2(top - new_top)
        total = total * alpha + p.sum(dim=1)
        attended = attended * alpha[:, None] + p.to(rounded_to).float() @ values[inside]
        top = new_top
    return attended / total[:, None]
