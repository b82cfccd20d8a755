"""A decoder ready to run: weights, kernels and memory on one device; one forward after the other, from two slots."""

from pathlib import Path

import torch

from mis_scoring.core.errors import EngineDeadError, EngineError
from mis_scoring.core.readout import FloatArray
from mis_scoring.engines.prefill.assembly import Device, fitting_limits, make_attention, make_kernels
from mis_scoring.engines.prefill.batcher import N_SLOTS
from mis_scoring.engines.prefill.buffers import RowBuffers, columns_of
from mis_scoring.engines.prefill.errors import require_finite
from mis_scoring.engines.prefill.forward import Forward
from mis_scoring.engines.prefill.fp8 import Fp8Profile
from mis_scoring.engines.prefill.kernels.plain import PlainKernels
from mis_scoring.engines.prefill.kernels.product_tile import product_tile
from mis_scoring.engines.prefill.plan import ForwardPlan, Part, padded_rows, plan_forward
from mis_scoring.engines.prefill.rotary import rotary_table
from mis_scoring.engines.prefill.rows import n_checks
from mis_scoring.engines.prefill.settings import PrefillSettings
from mis_scoring.engines.prefill.shape import DecoderShape
from mis_scoring.engines.prefill.staging import Slot
from mis_scoring.engines.prefill.weights import load_weights

_CPU_CAPABILITY = 90  # whose layout of gate and up the plain kernels take; any would do


class DecoderRunner:
    """Launches and finishes forwards; one launching thread and one finishing thread.

    Raises:
        ArchitectureError: the checkpoint's tensors are not those of its shape.
        DataError, MissingRequirementError: the device cannot have what the settings ask for.
    """

    def __init__(
        self, folder: Path, shape: DecoderShape, settings: PrefillSettings, profile: Fp8Profile | None
    ) -> None:
        self.device = device = Device.of(settings)
        self.shape, dtype = shape, getattr(torch, settings.dtype)
        capability = device.capability or _CPU_CAPABILITY
        tile = product_tile(hidden=shape.hidden, is_fp8=profile is not None, capability=capability)
        weights = load_weights(
            folder, shape, dtype=settings.dtype, device=settings.device, turn=tile.turn, profile=profile
        )
        rotary = rotary_table(folder, n_positions=shape.max_positions, head_dim=shape.head_dim).to(settings.device)
        plain = PlainKernels(rotary=rotary, head_dim=shape.head_dim, eps=shape.eps, turn=tile.turn)
        kernels = make_kernels(device, plain, tile)
        tokens = columns_of(shape, weights, dtype, heads_width=shape.qkv_width)
        readout = columns_of(shape, weights, dtype, heads_width=shape.query_width)
        free_bytes = torch.cuda.mem_get_info()[0] if settings.is_gpu else None
        self.limits = fitting_limits(settings, shape, tokens=tokens, readout=readout, free_bytes=free_bytes)
        self.forward = Forward(
            shape=shape,
            weights=weights,
            kernels=kernels,
            attention=make_attention(settings, device, shape, kernels),
            tokens=RowBuffers.allocate(padded_rows(self.limits.max_tokens), tokens, settings.device),
            readout=RowBuffers.allocate(padded_rows(self.limits.max_items), readout, settings.device),
        )
        checks = n_checks(shape.n_layers)
        self._slots = [
            Slot(self.limits, group=shape.group, n_checks=checks, device=settings.device) for _ in range(N_SLOTS)
        ]

    def launch(self, slot: int, plan: ForwardPlan) -> None:
        """Plan the attention, copy, and queue the forward; on a CPU, compute it.

        Raises:
            EngineError: torch refused.
        """
        try:
            with torch.inference_mode():
                self._slots[slot].put(plan, self.forward.attention.tables(plan))
                device_plan, answers = self._slots[slot].send()
                self.forward.run(device_plan, answers)
                self._slots[slot].fetch()
        except RuntimeError as error:
            raise self._failed(plan, error) from error

    def finish(self, slot: int, plan: ForwardPlan) -> FloatArray:
        """Wait for a forward, and return (n_items, 2) float32.

        Raises:
            NonFiniteError: a value in it is not finite.
            EngineDeadError: the device failed.
        """
        try:
            logits, lowest_rows = self._slots[slot].wait()
        except RuntimeError as error:
            raise self._failed(plan, error) from error
        require_finite(lowest_rows, plan, self.shape.n_layers)
        return logits

    def score(self, parts: list[Part]) -> FloatArray:
        """Score some parts in one forward, and wait for it; not beside a batcher."""
        plan = plan_forward(parts)
        self.launch(0, plan)
        return self.finish(0, plan)

    def _failed(self, plan: ForwardPlan, error: RuntimeError) -> EngineError:
        text = f"engine 'prefill' failed on a forward of {plan.n_tokens} tokens and {plan.n_items} items: {error}"
        # what a kernel did wrong stays with the device's context: no later call can succeed
        return EngineDeadError(text) if self.device.capability else EngineError(text)
