"""The tensors of a checkpoint's safetensors files by name; nothing else is read, and every one must be known."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mis_scoring.engines.architecture import ArchitectureError
from mis_scoring.engines.prefill.shape import DecoderShape

if TYPE_CHECKING:
    import torch

Shapes = Mapping[str, tuple[int, ...]]


class TensorFiles:
    """Open files; tensors are read one at a time.

    Args:
        opened: safetensors handles.
    """

    def __init__(self, opened: list[Any]) -> None:
        self._file_of = {name: file for file in opened for name in file.keys()}  # noqa: SIM118

    def shapes(self) -> Shapes:
        """Return the shape of every tensor."""
        return {name: tuple(file.get_slice(name).get_shape()) for name, file in self._file_of.items()}

    def load(self, name: str) -> "torch.Tensor":
        """Read one tensor, as it is stored."""
        tensor: torch.Tensor = self._file_of[name].get_tensor(name)
        return tensor


@contextmanager
def open_tensors(folder: Path, shape: DecoderShape) -> Iterator[TensorFiles]:
    """Open a checkpoint's files.

    Raises:
        ArchitectureError: tensors are missing, unknown or of another shape; all are named.
    """
    from safetensors import safe_open

    with ExitStack() as stack:
        paths = sorted(folder.glob("*.safetensors"))
        files = TensorFiles([stack.enter_context(safe_open(path, framework="pt")) for path in paths])
        if faults := tensor_faults(files.shapes(), expected_tensors(shape)):
            raise ArchitectureError(str(folder), faults)
        yield files


def tensor_faults(found: Shapes, expected: Shapes) -> list[str]:
    """Return what is missing, unknown or of another shape, a sentence each."""
    missing = [f"{name} is missing" for name in sorted(expected.keys() - found.keys())]
    unknown = [f"{name} is unknown: the engine would leave it out" for name in sorted(found.keys() - expected.keys())]
    both = sorted(expected.keys() & found.keys())
    wrong = [f"{n} is {list(found[n])}, expected {list(expected[n])}" for n in both if found[n] != expected[n]]
    return missing + unknown + wrong


def expected_tensors(shape: DecoderShape) -> Shapes:
    """Return the tensors that a shape has, by their names in Llama, Qwen2 and Qwen3."""
    expected: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (shape.vocab_size, shape.hidden),
        "model.norm.weight": (shape.hidden,),
    }
    if not shape.is_tied:
        expected["lm_head.weight"] = (shape.vocab_size, shape.hidden)
    for number in range(shape.n_layers):
        expected |= {f"model.layers.{number}.{name}": size for name, size in _layer_tensors(shape).items()}
    return expected


def _layer_tensors(shape: DecoderShape) -> Shapes:
    widths = {"q": shape.query_width, "k": shape.kv_width, "v": shape.kv_width}
    tensors: dict[str, tuple[int, ...]] = {
        "input_layernorm.weight": (shape.hidden,),
        "post_attention_layernorm.weight": (shape.hidden,),
        "self_attn.o_proj.weight": (shape.hidden, shape.query_width),
        "mlp.gate_proj.weight": (shape.intermediate, shape.hidden),
        "mlp.up_proj.weight": (shape.intermediate, shape.hidden),
        "mlp.down_proj.weight": (shape.hidden, shape.intermediate),
    }
    tensors |= {f"self_attn.{part}_proj.weight": (width, shape.hidden) for part, width in widths.items()}
    if shape.has_qkv_bias:
        tensors |= {f"self_attn.{part}_proj.bias": (width,) for part, width in widths.items()}
    if shape.has_head_norm:
        tensors |= {f"self_attn.{part}_norm.weight": (shape.head_dim,) for part in ("q", "k")}
    return tensors
