"""Embed short texts with MiniLM, so that a vector depends on its text only.

The last bits of a matrix product move with its shape, and ranks must not move by themselves: a pass always holds the
same number of texts, all of one token count, so its shape depends on the text's own length (one text a pass is five
times slower). A text is embedded once in its life (table `embeddings`).
"""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from jobs.retrieval.sections import SECTIONING_VERSION
from mis_scoring.core.identity import digest, file_digest

DIMENSION = 384
TEXTS_PER_PASS = 8
NO_TOKENS = 2  # only the model's own start and end
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
            "texts_per_pass": TEXTS_PER_PASS,
        }
    )


class MiniLmEmbedder:
    """all-MiniLM-L6-v2 with mean pooling, on one CPU thread a process (Spark brings the parallelism)."""

    def __init__(self, model_dir: Path) -> None:
        import torch
        from tokenizers import Tokenizer
        from transformers import BertModel
        from transformers.utils import logging

        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        torch.set_num_threads(1)
        self._torch = torch
        self._tokenizer = Tokenizer.from_file(str(model_dir / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_TOKENS)
        model: Any = BertModel
        self._model = model.from_pretrained(model_dir, local_files_only=True).eval()

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return (n, 384) unit vectors on a grid of 2^-20; a text that holds no token of its own gets zeros."""
        vectors = np.zeros((len(texts), DIMENSION), np.float32)
        by_length: dict[int, list[int]] = defaultdict(list)
        encoded = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        for row, token_ids in enumerate(encoded):
            by_length[len(token_ids)].append(row)
        by_length.pop(NO_TOKENS, None)
        for rows in by_length.values():
            for start in range(0, len(rows), TEXTS_PER_PASS):
                part = rows[start : start + TEXTS_PER_PASS]
                vectors[part] = self._embed_alike([encoded[row] for row in part])
        return vectors

    def _embed_alike(self, token_ids: list[list[int]]) -> npt.NDArray[np.float64]:
        """Embed at most `TEXTS_PER_PASS` texts of one length; the pass is filled up, so that its shape stays."""
        filled = token_ids + [token_ids[-1]] * (TEXTS_PER_PASS - len(token_ids))
        with self._torch.inference_mode():
            hidden = self._model(input_ids=self._torch.tensor(filled)).last_hidden_state
        means: npt.NDArray[np.float64] = hidden[: len(token_ids)].double().mean(dim=1).numpy()
        unit: npt.NDArray[np.float64] = means / np.linalg.norm(means, axis=1, keepdims=True)
        return np.round(unit * GRID) / GRID


def pack_vector(vector: npt.NDArray[np.float32]) -> bytes:
    """Return a vector as the bytes of table `embeddings`; zeros, which have no direction, become no bytes."""
    return vector.astype("<f4").tobytes() if vector.any() else b""


def unpack_vectors(packed: Sequence[bytes]) -> npt.NDArray[np.float64]:
    """Return (n, 384) float64 from the bytes of table `embeddings`."""
    return np.frombuffer(b"".join(packed), "<f4").reshape(len(packed), DIMENSION).astype(np.float64)
