"""The forward pass: every layer over all tokens, the last one over what is read out; the order of the kernels alone.

The last layer computes keys and values of all tokens, and all else for the items' last tokens. With e4m3 weights the
product before a residual goes to `delta`, and the next norm adds it; otherwise the product adds it itself.
"""

from dataclasses import dataclass

import torch

from mis_scoring.engines.prefill.attention.interface import Attention, DevicePlan, Heads
from mis_scoring.engines.prefill.buffers import RowBuffers
from mis_scoring.engines.prefill.kernels.interface import Kernels
from mis_scoring.engines.prefill.layout import LayerWeights, Linear, Weights
from mis_scoring.engines.prefill.rows import CHECKS_OF_A_LAYER, Alarm, Rows
from mis_scoring.engines.prefill.shape import DecoderShape
from mis_scoring.engines.prefill.tiles import KEY_BLOCK

Delta = torch.Tensor | None  # what is still to be added to x


@dataclass(frozen=True, kw_only=True)
class Answers:
    """What a forward leaves behind, on the device.

    Attributes:
        logits: (n_readout_rows, 2) float32.
        lowest_rows: (n_checks,) int32, see `Alarm`.
    """

    logits: torch.Tensor
    lowest_rows: torch.Tensor


@dataclass(frozen=True, kw_only=True)
class Forward:
    """A decoder, its kernels and its memory.

    Attributes:
        tokens: buffers of all tokens; readout: of the items' last ones.
    """

    shape: DecoderShape
    weights: Weights
    kernels: Kernels
    attention: Attention
    tokens: RowBuffers
    readout: RowBuffers

    def run(self, plan: DevicePlan, answers: Answers) -> None:
        """Score a plan; on a GPU the work is queued when this returns."""
        rows = self.tokens.first(plan.host.n_rows)
        self._forget(plan)
        self.kernels.gather(self.weights.embedding, plan.arrays["token_ids"], rows.x)
        delta: Delta = None
        for number, layer in enumerate(self.weights.layers[:-1]):
            delta = self._layer(number, layer, rows, delta, plan, answers)
        self._last_layer(rows, delta, plan, answers)

    def _forget(self, plan: DevicePlan) -> None:
        """Zero what this forward reads and does not write.

        A key that nobody sees still meets a weight of zero, and zero times a NaN of an earlier forward would be one.
        """
        host = plan.host
        self.tokens.attended[host.n_tokens : host.n_rows].view(torch.uint8).zero_()  # padding: in no tile
        self.tokens.heads[host.n_rows : host.n_rows + KEY_BLOCK].zero_()  # the end of the last key block

    def _layer(
        self, number: int, layer: LayerWeights, rows: RowBuffers, delta: Delta, plan: DevicePlan, answers: Answers
    ) -> Delta:
        at_input, at_keys, at_mlp = self._alarms(number, plan, answers)
        queries, kv = self.shape.query_width, self.shape.kv_width
        normed = rows.input_of(layer.qkv)
        self.kernels.norm(rows.x, delta, layer.attention_norm, normed, at_input)
        self.kernels.linear(normed, layer.qkv, rows.heads)
        keys = rows.heads[:, queries : queries + kv]
        self.kernels.rotate(keys, layer.key_norm, plan.arrays["positions"], at_keys)
        attended = Rows(values=rows.attended, fixed_scale=layer.out.input_scale)
        heads = Heads(
            queries=rows.heads[:, :queries],
            keys=keys,
            values=rows.heads[:, queries + kv :],
            out=attended,
            query_norm=layer.query_norm,
            is_readout=False,
        )
        self.attention.attend(heads, plan)
        delta = self._to_residual(attended, layer.out, rows)
        return self._mlp(layer, rows, delta, at_mlp)

    def _last_layer(self, rows: RowBuffers, delta: Delta, plan: DevicePlan, answers: Answers) -> None:
        number, layer = self.shape.n_layers - 1, self.weights.layers[-1]
        at_input, at_keys, at_mlp = self._alarms(number, plan, answers)
        queries, kv = self.shape.query_width, self.shape.kv_width
        normed = rows.input_of(layer.qkv)
        self.kernels.norm(rows.x, delta, layer.attention_norm, normed, at_input)
        key_values = rows.key_values(2 * kv)
        self.kernels.linear(normed, layer.qkv.part(queries, queries + 2 * kv), key_values)
        self.kernels.rotate(key_values[:, :kv], layer.key_norm, plan.arrays["positions"], at_keys)

        read = self.readout.first(plan.host.n_readout_rows)
        chosen = read.input_of(layer.qkv)
        self._read_out(rows, normed, read, chosen, plan)
        self.kernels.linear(chosen, layer.qkv.part(0, queries), read.heads)
        attended = Rows(values=read.attended, fixed_scale=layer.out.input_scale)
        heads = Heads(
            queries=read.heads,
            keys=key_values[:, :kv],
            values=key_values[:, kv:],
            out=attended,
            query_norm=layer.query_norm,
            is_readout=True,
        )
        self.attention.attend(heads, plan)
        delta = self._to_residual(attended, layer.out, read)
        delta = self._mlp(layer, read, delta, at_mlp)
        self._head(read, delta, plan, answers)

    def _read_out(self, rows: RowBuffers, normed: Rows, read: RowBuffers, chosen: Rows, plan: DevicePlan) -> None:
        index = plan.arrays["readout_tokens"]
        self.kernels.gather(rows.x, index, read.x)
        self.kernels.gather(normed.values, index, chosen.values)
        if normed.scales is not None and chosen.scales is not None:
            self.kernels.gather(normed.scales, index, chosen.scales)

    def _mlp(self, layer: LayerWeights, rows: RowBuffers, delta: Delta, alarm: Alarm) -> Delta:
        normed = rows.input_of(layer.gate_up)
        self.kernels.norm(rows.x, delta, layer.mlp_norm, normed, alarm)
        gated = Rows(values=rows.gated, fixed_scale=layer.down.input_scale)
        self.kernels.gated(normed, layer.gate_up, gated)
        return self._to_residual(gated, layer.down, rows)

    def _to_residual(self, found: Rows, linear: Linear, rows: RowBuffers) -> Delta:
        if linear.is_fp8:
            assert rows.delta is not None
            self.kernels.linear(found, linear, rows.delta)
            return rows.delta
        self.kernels.add_linear(found, linear, rows.x)
        return None

    def _head(self, read: RowBuffers, delta: Delta, plan: DevicePlan, answers: Answers) -> None:
        alarm = Alarm(lowest_row=answers.lowest_rows[-1:], n_rows=plan.host.n_items)
        hidden = Rows(values=read.normed)
        self.kernels.norm(read.x, delta, self.weights.final_norm, hidden, alarm)
        self.kernels.readout(hidden.values, self.weights.head, plan.arrays["label_ids"], answers.logits)

    def _alarms(self, number: int, plan: DevicePlan, answers: Answers) -> list[Alarm]:
        """The checks of a layer; the last layer's MLP has readout rows alone."""
        n_rows = [plan.host.n_tokens] * len(CHECKS_OF_A_LAYER)
        if number == self.shape.n_layers - 1:
            n_rows[-1] = plan.host.n_items
        first = number * len(CHECKS_OF_A_LAYER)
        return [
            Alarm(lowest_row=answers.lowest_rows[first + check : first + check + 1], n_rows=n)
            for check, n in enumerate(n_rows)
        ]
