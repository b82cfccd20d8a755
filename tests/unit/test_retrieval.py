"""Retrieval is exact, and its ranks do not move with cores, batches or the order of sections."""

import hashlib
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.retrieval.embedder import DIMENSION, GRID, pack_vector, unpack_vectors
from jobs.retrieval.sections import MAX_SECTIONS, split_sections
from jobs.retrieval.topk import CatalogIndex, top_candidates
from jobs.settings import Settings

PROFILE = """Head nurse; five years in intensive care.
- managed wards, trained staff and planned shifts
Studied nursing (BSc)!"""


def test_a_profile_is_split_into_sentences_and_their_clauses() -> None:
    assert split_sections(PROFILE) == [
        "Head nurse",
        "five years in intensive care",
        "managed wards, trained staff and planned shifts",
        "Studied nursing (BSc",
        "managed wards",
        "trained staff",
        "planned shifts",
    ]


@pytest.mark.parametrize("text", ["", " \n\t", "-- ... --", "\u202e\u202c"])
def test_a_text_without_a_word_has_no_section(text: str) -> None:
    assert split_sections(text) == []


@given(st.text(max_size=400))
def test_sections_are_distinct_worded_and_part_of_the_text(text: str) -> None:
    sections = split_sections(text)
    assert len(sections) == len(set(sections)) <= MAX_SECTIONS
    assert all(section in text and section.strip() for section in sections)


def grid_vectors(seed: int, n: int) -> np.ndarray:
    drawn = np.random.default_rng(seed).normal(size=(n, DIMENSION))
    return np.round(drawn / np.linalg.norm(drawn, axis=1, keepdims=True) * GRID) / GRID


def test_top_candidates_are_those_of_brute_force_and_ties_go_by_id() -> None:
    vectors, sections = grid_vectors(0, 40), grid_vectors(1, 3)
    vectors[7] = vectors[30]
    ids = [f"q{number:02d}" for number in range(40)]
    best = {i: round(max(float(np.dot(v, s)) for s in sections), 5) for i, v in zip(ids, vectors, strict=True)}
    expected = sorted(ids, key=lambda i: (-best[i], i))[:10]
    shuffled = np.random.default_rng(2).permutation(40)
    index = CatalogIndex.build([ids[i] for i in shuffled], vectors[shuffled])
    found, similarity = top_candidates(index, sections, k=10)
    assert found.tolist() == expected
    assert similarity.tolist() == [best[i] for i in expected]


def test_a_similarity_has_the_same_bits_in_any_company() -> None:
    vectors, sections = grid_vectors(3, 500), grid_vectors(4, 50)
    together = sections @ vectors.T
    for row in (0, 17, 49):
        assert (sections[row : row + 1] @ vectors[:77].T == together[row, :77]).all()
        assert sum(sections[row] * vectors[5]) == together[row, 5], "any order of summation"


def test_a_vector_survives_its_bytes_and_zeros_have_none() -> None:
    vector = grid_vectors(5, 1).astype(np.float32)[0]
    assert (unpack_vectors([pack_vector(vector)])[0] == vector).all()
    assert pack_vector(np.zeros(DIMENSION, np.float32)) == b""


DIGEST = """
import hashlib, sys
from jobs.retrieval.embedder import MiniLmEmbedder
from jobs.settings import Settings
texts = sys.argv[1].split("|")
print(hashlib.sha256(MiniLmEmbedder(Settings().minilm_dir).embed(texts).tobytes()).hexdigest())
"""


@pytest.fixture(scope="module")
def embedder() -> Any:
    from jobs.retrieval.embedder import MiniLmEmbedder

    return MiniLmEmbedder(Settings().minilm_dir)


def test_a_text_has_the_same_vector_in_any_company(embedder: Any) -> None:
    texts = [
        f"{verb} {number} {what}" for verb in ("manage", "weld") for number in range(9) for what in ("staff", "pipes")
    ]
    alone = np.concatenate([embedder.embed([text]) for text in texts])
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(texts))
        assert (embedder.embed([texts[i] for i in order]) == alone[order]).all()


@pytest.mark.slow
def test_a_text_has_the_same_vector_on_one_core_and_on_two(embedder: Any) -> None:
    texts = ["a nurse in intensive care", "x", "welds steel pipes " * 30, "", "..."]
    here = embedder.embed(texts[::-1])[::-1]
    command = [sys.executable, "-c", DIGEST, "|".join(texts)]
    env = os.environ | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    elsewhere = subprocess.run(
        command, env=env, capture_output=True, text=True, check=True, preexec_fn=lambda: os.sched_setaffinity(0, {0})
    )
    assert elsewhere.stdout.strip() == hashlib.sha256(np.ascontiguousarray(here).tobytes()).hexdigest()
    assert "Loading weights" not in elsewhere.stderr, "a bar that nobody asked for"
    assert not here[3].any(), "an empty text embeds to nothing"
