"""What a forward asks of its attention: an item's token sees its query and its own item up to itself, nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from mis_scoring.engines.prefill.plan import ForwardPlan, Ints
from mis_scoring.engines.prefill.rows import Rows

if TYPE_CHECKING:
    import torch

Tables = Mapping[str, Ints]


@dataclass(frozen=True, kw_only=True)
class DevicePlan:
    """A plan with its arrays on the device, padded to whole rows.

    Attributes:
        arrays: int32, by name: `token_ids`, `positions`, `segment_starts` (n_rows,), `readout_tokens`
            (n_readout_rows,), `label_ids` (n_readout_rows, 2), and the attention's own tables.
    """

    host: ForwardPlan
    arrays: "Mapping[str, torch.Tensor]"


@dataclass(frozen=True, kw_only=True)
class Heads:
    """One layer's queries, keys and values.

    Attributes:
        queries: (m, n_heads * head_dim), before norm and rotation; of all rows, or of the readout rows.
        keys, values: (rows, n_kv_heads * head_dim), keys rotated.
        out: as the queries.
        query_norm: (head_dim,) where the model has one.
    """

    queries: "torch.Tensor"
    keys: "torch.Tensor"
    values: "torch.Tensor"
    out: Rows
    query_norm: "torch.Tensor | None"
    is_readout: bool


class Attention(Protocol):
    """One way to attend."""

    @property
    def name(self) -> str:
        """What the engine's fingerprint says."""
        ...

    @property
    def is_batch_invariant(self) -> bool:
        """Whether a row's bits depend on its own query and item alone, given the same queries, keys and values."""
        ...

    def tables(self, plan: ForwardPlan) -> Tables:
        """Return what the host prepares besides the plan; it goes to the device with it."""
        ...

    def attend(self, heads: Heads, plan: DevicePlan) -> None:
        """Write the attended values of every row that is a token; others keep what they hold."""
        ...
