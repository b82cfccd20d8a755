"""Vectors of texts: those of table `embeddings`, and the rest by the model, which is loaded when it is first needed."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from jobs.retrieval.embedder import MiniLmEmbedder, pack_vector, unpack_vectors
from jobs.table_reader import is_in, literal, query
from jobs.table_writer import append_rows
from mis_scoring.core.identity import text_hash
from schemas.embeddings import EMBEDDINGS

_HASHES_A_QUERY = 2_000


@dataclass(frozen=True, kw_only=True)
class Vectors:
    """Packed vectors by the hash of their text.

    Attributes:
        new: those of them that the table does not have.
    """

    packed: Mapping[str, bytes]
    new: Mapping[str, bytes]

    def has_direction(self, text: str) -> bool:
        """Whether a text does not embed to nothing."""
        return bool(self.packed[text_hash(text)])

    def stacked(self, texts: Collection[str]) -> npt.NDArray[np.float64]:
        """Return (n, 384) of texts that have a direction."""
        return unpack_vectors([self.packed[text_hash(text)] for text in texts])

    def keep(self, root: Path, retriever_id: str, *, transaction: str) -> None:
        """Append the new ones to the table."""
        rows = [{"retriever_id": retriever_id, "text_hash": one, "vector": vector} for one, vector in self.new.items()]
        if rows:
            append_rows(root, EMBEDDINGS, rows, transaction=transaction)


class Embeddings:
    """Looks vectors up under one table root, and makes those that nobody has made."""

    def __init__(self, root: Path, model_dir: Path) -> None:
        self._root, self._model_dir = root, model_dir
        self._embedder: MiniLmEmbedder | None = None

    def of(self, texts: Collection[str], retriever_id: str) -> Vectors:
        """Return the vectors of texts; writes nothing."""
        by_hash = {text_hash(text): text for text in texts}
        known = self._known(list(by_hash), retriever_id)
        missing = {one: text for one, text in by_hash.items() if one not in known}
        vectors = self._embed(list(missing.values()))
        new = dict(zip(missing, (pack_vector(vector) for vector in vectors), strict=True))
        return Vectors(packed=known | new, new=new)

    def _known(self, hashes: list[str], retriever_id: str) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for start in range(0, len(hashes), _HASHES_A_QUERY):
            wanted = is_in("text_hash", set(hashes[start : start + _HASHES_A_QUERY]))
            sql = f"SELECT text_hash, vector FROM embeddings WHERE retriever_id = {literal(retriever_id)} AND {wanted}"
            found |= {row["text_hash"]: row["vector"] for row in query(self._root, sql, EMBEDDINGS)}
        return found

    def _embed(self, texts: list[str]) -> npt.NDArray[np.float32] | list[npt.NDArray[np.float32]]:
        """Embed on one thread, as every worker of a refresh does; the engine in this process has its own number."""
        if not texts:
            return []
        import torch

        n_threads = torch.get_num_threads()
        if self._embedder is None:
            self._embedder = MiniLmEmbedder(self._model_dir)
        torch.set_num_threads(1)
        try:
            return self._embedder.embed(texts)
        finally:
            torch.set_num_threads(n_threads)
