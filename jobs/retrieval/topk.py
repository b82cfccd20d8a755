"""Exact top-K of the catalog for members whose sections are embedded.

Work grows with sections x catalog; memory with catalog (3 KB an entry, float64) and with the sections of one chunk
of members.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

SIMILARITY_DECIMALS = 5  # ranks do not move on smaller differences; equal ones go by qualification id


@dataclass(frozen=True, kw_only=True)
class CatalogIndex:
    """The active catalog, ordered by id, with its vectors.

    Attributes:
        qualification_ids: (n,), ascending.
        vectors: (n, d) float64, each entry on the grid of `embedder.GRID`.
    """

    qualification_ids: npt.NDArray[np.str_]
    vectors: npt.NDArray[np.float64]

    @classmethod
    def build(cls, qualification_ids: Sequence[str], vectors: npt.NDArray[np.floating]) -> "CatalogIndex":
        """Order the entries by id; embeddings may come in any order."""
        ids = np.asarray(qualification_ids, dtype=np.str_)
        order = np.argsort(ids, kind="stable")
        return cls(qualification_ids=ids[order], vectors=np.asarray(vectors, np.float64)[order])


def top_candidates(
    index: CatalogIndex, sections: npt.NDArray[np.floating], *, k: int
) -> tuple[npt.NDArray[np.str_], npt.NDArray[np.float64]]:
    """Return the k best qualification ids of one member and their similarities, best first.

    Args:
        sections: (s, d), the member's section vectors, s >= 1.
    Returns:
        ids (k',) and similarities (k',) rounded to 1e-5, k' = min(k, n); the best section of the profile counts.
    """
    similarity = (np.asarray(sections, np.float64) @ index.vectors.T).max(axis=0).round(SIMILARITY_DECIMALS)
    order = np.argsort(-similarity, kind="stable")[:k]
    return index.qualification_ids[order], similarity[order]
