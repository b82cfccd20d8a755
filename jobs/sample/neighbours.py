"""The nearest catalog entries of every phrase that a profile can hold, computed once before training.

Training draws millions of members; embedding their profiles is out of the question. A profile's retrieved candidates
are close to the union of its phrases' neighbours, so that is what training draws its candidates from. Judging a
labeler uses true retrieval instead.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from jobs.sample import wording
from jobs.sample.catalog import CatalogEntry
from jobs.sample.education import FIELDS, LEVEL_WORDINGS
from jobs.sample.esco import Esco
from jobs.sample.licences import LICENCES
from jobs.sample.occupations import OCCUPATIONS
from jobs.sample.unseen import unseen_concepts

N_NEIGHBOURS = 48
BATCH = 64
SIMILARITY_STEPS = 255


@dataclass(frozen=True, kw_only=True)
class Neighbours:
    """Nearest entries of phrases in one catalog.

    Attributes:
        phrases: (p,) the phrases.
        rows: (p, N_NEIGHBOURS) uint16, places in the catalog, nearest first.
        similarities: (p, N_NEIGHBOURS) uint8, cosine x 255, negative ones 0.
    """

    phrases: Sequence[str]
    rows: npt.NDArray[np.uint16]
    similarities: npt.NDArray[np.uint8]

    @cached_property
    def place(self) -> dict[str, int]:
        """The row of each phrase."""
        return {phrase: row for row, phrase in enumerate(self.phrases)}

    def candidates(self, phrases: Iterable[str], *, k: int) -> npt.NDArray[np.int64]:
        """Return the places of the k best entries, best first; the best phrase counts, unknown phrases do not."""
        places = [self.place[p] for p in phrases if p in self.place]
        rows, similarities = self.rows[places].ravel(), self.similarities[places].ravel()
        order = np.argsort(similarities)[::-1]
        entries, first = np.unique(rows[order], return_index=True)
        return entries[np.argsort(first)][:k].astype(np.int64)


def profile_phrases(esco: Esco) -> list[str]:
    """Return every phrase to be looked up: alternative labels of seen concepts, and the words of all other facts."""
    unseen = unseen_concepts(esco)
    labels = [x for c in esco.concepts.values() if c.concept_id not in unseen for x in c.alternative_labels]
    years = [f"{n} years" for n in range(1, 15)] + [f"{n} years" for n in wording.YEAR_WORDS]
    return list(dict.fromkeys([*labels, *_fact_phrases(), *years, *wording.FILLERS]))


def _fact_phrases() -> Iterable[str]:
    for occupation in OCCUPATIONS.values():
        yield from occupation.wordings
    for licence in LICENCES.values():
        yield from licence.wordings
    for field in FIELDS.values():
        for level_wordings in LEVEL_WORDINGS.values():
            yield from (f"{level} in {w}" for level in level_wordings for w in field.wordings)


class BatchEmbedder:
    """MiniLM over batches of texts with as many tokens: four times faster than one by one, and no padding."""

    def __init__(self, model_dir: Path, *, threads: int = 1) -> None:
        import torch
        from tokenizers import Tokenizer
        from transformers import BertModel

        torch.set_num_threads(threads)
        self._torch = torch
        self._tokenizer = Tokenizer.from_file(str(model_dir / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(256)
        model: Any = BertModel.from_pretrained(model_dir, local_files_only=True)
        self._model = model.eval()

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return (n, 384) unit vectors."""
        ids = [e.ids for e in self._tokenizer.encode_batch(list(texts))]
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        vectors = np.zeros((len(ids), 384), np.float32)
        start = 0
        with self._torch.inference_mode():
            while start < len(order):
                batch = [i for i in order[start : start + BATCH] if len(ids[i]) == len(ids[order[start]])]
                hidden = self._model(input_ids=self._torch.tensor([ids[i] for i in batch])).last_hidden_state
                mean = hidden.mean(dim=1).numpy()
                vectors[batch] = mean / np.linalg.norm(mean, axis=1, keepdims=True)
                start += len(batch)
        return vectors


def find_neighbours(
    phrases: Sequence[str],
    phrase_vectors: npt.NDArray[np.float32],
    catalog_vectors: npt.NDArray[np.float32],
) -> Neighbours:
    """Search exactly, a few thousand phrases at a time."""
    rows, similarities = [], []
    for start in range(0, len(phrases), 2048):
        scores = phrase_vectors[start : start + 2048] @ catalog_vectors.T
        nearest = np.argsort(-scores, axis=1)[:, :N_NEIGHBOURS]
        rows.append(nearest.astype(np.uint16))
        best = np.take_along_axis(scores, nearest, axis=1)
        similarities.append(np.round(best.clip(0, 1) * SIMILARITY_STEPS).astype(np.uint8))
    return Neighbours(phrases=list(phrases), rows=np.concatenate(rows), similarities=np.concatenate(similarities))


def save_neighbours(path: Path, tables: dict[str, Neighbours]) -> None:
    """Write the tables of several catalogs over the same phrases, without the phrases (they follow from ESCO)."""
    arrays: dict[str, Any] = {f"{name}_rows": t.rows for name, t in tables.items()}
    arrays |= {f"{name}_similarities": t.similarities for name, t in tables.items()}
    np.savez_compressed(path, **arrays)


def load_neighbours(path: Path, phrases: Sequence[str], name: str) -> Neighbours:
    """Read one table back; `phrases` as they were when it was written."""
    with np.load(path, allow_pickle=False) as arrays:
        return Neighbours(phrases=phrases, rows=arrays[f"{name}_rows"], similarities=arrays[f"{name}_similarities"])


def embed_catalog(embedder: BatchEmbedder, catalog: Sequence[CatalogEntry]) -> npt.NDArray[np.float32]:
    """Return (n, 384), row i for entry i."""
    return embedder.embed([entry.text for entry in catalog])
