"""Embed short texts with MiniLM, each text alone, so that a vector depends on its text only.

Batching would be faster on a GPU and would move the last bits with the batch's shape; ranks must not
move by themselves, and a text is embedded once in its life (table `embeddings`).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from jobs.retrieval.sections import SECTIONING_VERSION
from mis_scoring.core.identity import digest, file_digest

DIMENSION = 384
MAX_TOKENS = 256  # what the model was trained with; the rest of a longer text is cut
# Multiples of 2^-20 have exact float64 dot products in any order of summation, so a similarity has the same bits
# on any number of cores.
GRID = 2.0**20


def retriever_id_of(model_dir: Path) -> str:
    """Return the digest of all that decides a similarity: model, sectioning, rounding."""
    return digest(
        {
            "model": file_digest(model_dir / "model.safetensors"),
            "sections": SECTIONING_VERSION,
            "max_tokens": MAX_TOKENS,
            "grid": GRID,
        }
    )


class MiniLmEmbedder:
    """all-MiniLM-L6-v2 with mean pooling, on one CPU thread a process (Spark brings the parallelism)."""

    def __init__(self, model_dir: Path) -> None:
        import torch
        from tokenizers import Tokenizer
        from transformers import BertModel

        torch.set_num_threads(1)
        self._torch = torch
        self._tokenizer = Tokenizer.from_file(str(model_dir / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_TOKENS)
        model: Any = BertModel
        self._model = model.from_pretrained(model_dir, local_files_only=True).eval()

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return (n, 384) unit vectors on a grid of 2^-20; a text that holds no token of its own gets zeros."""
        with self._torch.inference_mode():
            rows = [self._embed_one(text) for text in texts]
        return np.asarray(rows, np.float32).reshape(len(texts), DIMENSION)

    def _embed_one(self, text: str) -> npt.NDArray[np.float64]:
        token_ids = self._tokenizer.encode(text).ids
        if len(token_ids) <= 2:  # only the model's own start and end tokens
            return np.zeros(DIMENSION)
        hidden = self._model(input_ids=self._torch.tensor([token_ids])).last_hidden_state[0]
        mean = hidden.mean(dim=0).double().numpy()
        unit: npt.NDArray[np.float64] = mean / np.linalg.norm(mean)
        return np.round(unit * GRID) / GRID


def pack_vector(vector: npt.NDArray[np.float32]) -> bytes:
    """Return a vector as the bytes of table `embeddings`; zeros, which have no direction, become no bytes."""
    return vector.astype("<f4").tobytes() if vector.any() else b""


def unpack_vectors(packed: Sequence[bytes]) -> npt.NDArray[np.float64]:
    """Return (n, 384) float64 from the bytes of table `embeddings`."""
    return np.frombuffer(b"".join(packed), "<f4").reshape(len(packed), DIMENSION).astype(np.float64)
