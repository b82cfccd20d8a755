"""What a device computes with: kernels and attention by its capability, and the largest forward by its memory."""

import logging
from dataclasses import dataclass, replace

import torch

from mis_scoring.core.errors import DataError, MissingRequirementError
from mis_scoring.engines.prefill.attention.interface import Attention
from mis_scoring.engines.prefill.buffers import Columns, row_bytes
from mis_scoring.engines.prefill.kernels.plain import PlainKernels
from mis_scoring.engines.prefill.kernels.product_tile import ProductTile
from mis_scoring.engines.prefill.plan import MIN_ROWS, Limits, padded_rows
from mis_scoring.engines.prefill.rows import NOTHING_WRONG, Alarm
from mis_scoring.engines.prefill.settings import PrefillSettings
from mis_scoring.engines.prefill.shape import DecoderShape
from mis_scoring.engines.prefill.staging import plan_words

log = logging.getLogger(__name__)

OLDEST, HOPPER, FIRST_FP8 = 80, 90, 89
MAX_PARTS = 256
HOPPER_HEAD_DIM = 128


@dataclass(frozen=True, kw_only=True)
class Device:
    """Where a decoder runs.

    Attributes:
        capability: 90 for Hopper; 0 for a CPU.
        n_sms: multiprocessors of a GPU.
    """

    name: str
    capability: int
    n_sms: int

    @classmethod
    def of(cls, settings: PrefillSettings) -> "Device":
        """Look at the device of some settings.

        Raises:
            MissingRequirementError: there is none, or it is too old for what is asked.
        """
        if not settings.is_gpu:
            return cls(name="cpu", capability=0, n_sms=0)
        if not torch.cuda.is_available():
            raise MissingRequirementError("engine 'prefill' finds no GPU: set device to 'cpu' for a few pairs")
        properties = torch.cuda.get_device_properties(0)
        found = cls(
            name=properties.name,
            capability=10 * properties.major + properties.minor,
            n_sms=properties.multi_processor_count,
        )
        least = FIRST_FP8 if settings.quantisation != "none" else OLDEST
        if found.capability < least:
            raise MissingRequirementError(
                f"engine 'prefill' in {settings.dtype}, quantisation {settings.quantisation!r}, needs a GPU of compute "
                f"capability {least / 10}; {found.name} has {found.capability / 10}"
            )
        return found


def make_kernels(device: Device, plain: PlainKernels, tile: ProductTile) -> PlainKernels:
    """Return the fused kernels on a GPU, the plain ones elsewhere."""
    if device.capability == 0:
        return plain
    from mis_scoring.engines.prefill.kernels.fused import FusedKernels

    return FusedKernels(**vars(plain), tile=tile, n_sms=device.n_sms)


def make_attention(settings: PrefillSettings, device: Device, shape: DecoderShape, kernels: PlainKernels) -> Attention:
    """Return the attention of the settings.

    Raises:
        DataError: the device or the model cannot have it.
        MissingRequirementError: FlashInfer is needed and not there.
    """
    name = settings.attention if settings.attention != "auto" else _best(device, shape)
    if name == "hopper":
        if _best(device, shape) != "hopper":
            raise DataError(
                f"attention 'hopper' needs compute capability {HOPPER / 10} and head_dim {HOPPER_HEAD_DIM}; "
                f"{device.name} and a head_dim of {shape.head_dim} take 'auto'"
            )
        from mis_scoring.engines.prefill.attention.hopper import HopperAttention

        return HopperAttention(kernels=kernels, group=shape.group, n_sms=device.n_sms)
    if name == "portable":
        return _portable(shape, kernels, getattr(torch, settings.dtype))
    if name == "tiled":
        from mis_scoring.engines.prefill.attention.tiled import TiledAttention

        return TiledAttention(kernels=kernels, group=shape.group)
    from mis_scoring.engines.prefill.attention.reference import ReferenceAttention

    return ReferenceAttention(kernels=kernels)


def fitting_limits(
    settings: PrefillSettings, shape: DecoderShape, *, tokens: Columns, readout: Columns, free_bytes: int | None
) -> Limits:
    """Return the largest forward that the settings ask for and the memory holds.

    Args:
        free_bytes: None: there is enough.
    Raises:
        DataError: not even the smallest forward fits.
    """
    limits = Limits(
        max_tokens=settings.max_forward_tokens,
        max_items=min(settings.max_items, settings.max_forward_tokens),
        max_parts=MAX_PARTS,
        max_item_tokens=min(settings.max_item_tokens, settings.max_forward_tokens),
    )
    if free_bytes is None:
        return limits
    bound = int(settings.memory_share * free_bytes)
    while _bytes(limits, shape, tokens, readout) > bound:
        if limits.max_tokens <= MIN_ROWS:
            needed = _bytes(limits, shape, tokens, readout)
            raise DataError(
                f"engine 'prefill' needs {needed / 1e9:.1f} GB for the smallest forward; "
                f"memory_share {settings.memory_share} of the {free_bytes / 1e9:.1f} GB that are free is less"
            )
        smaller = max(MIN_ROWS, limits.max_tokens * 7 // 8)
        limits = replace(limits, max_tokens=smaller, max_items=min(limits.max_items, smaller))
    if limits.max_tokens < settings.max_forward_tokens:
        log.warning("max_forward_tokens is %d here: that is what the free memory holds", limits.max_tokens)
    return limits


def _bytes(limits: Limits, shape: DecoderShape, tokens: Columns, readout: Columns) -> int:
    slots = 2 * 4 * plan_words(limits, shape.group)
    rows = padded_rows(limits.max_tokens) * row_bytes(tokens) + padded_rows(limits.max_items) * row_bytes(readout)
    return rows + slots


def _best(device: Device, shape: DecoderShape) -> str:
    if device.capability == 0:
        return "reference"
    return "hopper" if device.capability == HOPPER and shape.head_dim == HOPPER_HEAD_DIM else "portable"


def _portable(shape: DecoderShape, kernels: PlainKernels, dtype: torch.dtype) -> Attention:
    from mis_scoring.engines.prefill.attention.portable import HEAD_DIMS, PortableAttention, require_flashinfer

    require_flashinfer()
    if shape.head_dim not in HEAD_DIMS:
        raise DataError(f"head_dim is {shape.head_dim}; FlashInfer's kernels know {', '.join(map(str, HEAD_DIMS))}")
    quiet = Alarm(lowest_row=torch.full((1,), NOTHING_WRONG, dtype=torch.int32, device="cuda"), n_rows=0)
    return PortableAttention(
        kernels=kernels, n_heads=shape.n_heads, n_kv_heads=shape.n_kv_heads, dtype=dtype, quiet=quiet
    )
