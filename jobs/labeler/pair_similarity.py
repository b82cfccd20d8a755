"""The retriever's cosine of pairs that came without one: the best section of the profile counts, as in a refresh."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from jobs.errors import MissingRequirementError
from jobs.retrieval.sections import split_sections
from jobs.retrieval.topk import SIMILARITY_DECIMALS
from mis_scoring.evaluation.members import EvaluationMember

NO_SECTION = 0.0  # a profile without a word is like nothing


def with_similarities(members: Sequence[EvaluationMember], *, minilm_dir: Path) -> list[EvaluationMember]:
    """Return the members with every similarity filled in; the embedding model is read only if one is missing.

    Time grows with the distinct qualification texts and with the sections of all profiles, some 5 ms each on a core.

    Raises:
        MissingRequirementError: a similarity is missing and the model is not there.
    """
    if not any(_is_missing(member) for member in members):
        return list(members)
    if not (minilm_dir / "model.safetensors").exists():
        raise MissingRequirementError(
            f"{minilm_dir} has no embedding model: run `make setup`, or give each pair a similarity"
        )
    return list(_filled(members, minilm_dir))


def _is_missing(member: EvaluationMember) -> bool:
    return any(math.isnan(c.similarity) for c in member.candidates)


def _filled(members: Sequence[EvaluationMember], minilm_dir: Path) -> Iterator[EvaluationMember]:
    from jobs.retrieval.embedder import MiniLmEmbedder

    embedder = MiniLmEmbedder(minilm_dir)
    texts = list(dict.fromkeys(c.text for m in members for c in m.candidates if math.isnan(c.similarity)))
    vectors = dict(zip(texts, embedder.embed(texts).astype(np.float64), strict=True))
    for member in members:
        if not _is_missing(member):
            yield member
            continue
        sections = embedder.embed(split_sections(member.profile_text)).astype(np.float64)
        yield replace(
            member,
            candidates=[
                replace(c, similarity=_best(sections, vectors[c.text])) if math.isnan(c.similarity) else c
                for c in member.candidates
            ],
        )


def _best(sections: npt.NDArray[np.float64], vector: npt.NDArray[np.float64]) -> float:
    return float((sections @ vector).max().round(SIMILARITY_DECIMALS)) if len(sections) else NO_SECTION
