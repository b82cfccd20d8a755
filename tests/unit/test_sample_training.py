"""What training sees: true answers, no unknown pairs, hard negatives, and nothing that is kept for judging."""

import csv
import zlib
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from jobs.sample.catalog import CatalogEntry, sample_catalog
from jobs.sample.draw import Pool
from jobs.sample.esco import ESCO_FILE, Esco, read_esco
from jobs.sample.members import sample_members
from jobs.sample.neighbours import Neighbours, find_neighbours, load_neighbours, profile_phrases, save_neighbours
from jobs.sample.prepare_evaluation import evaluation_members
from jobs.sample.reference import SUPPORTED, Reference
from jobs.sample.seeds import SAMPLE_SEED, TRAINING_SEED_FROM
from jobs.sample.training_batches import BatchStream, StreamSettings, tokenizer_texts
from jobs.sample.training_pairs import PairSource
from jobs.sample.unseen import seen_wordings, unseen_concepts, unseen_wordings, wide_catalog
from mis_scoring.training.batches import Batch
from mis_scoring.training.tokenizer import pad_id_of, train_tokenizer

DIMENSION = 16


def write_esco(path: Path) -> Esco:
    """Write 3,200 concepts with five alternative labels each, so that some lie outside the default catalog."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "description", "hierarchy_levels", "type"])
        for i in range(3_200):
            levels = f"[['S', 'S{i // 25}', 'S{i // 25}.1', 'S{i // 25}.1.1']]"
            writer.writerow([f"c{i}", f"operate{i} device{i}", levels, "preferredLabel"])
            for n in range(5):
                writer.writerow([f"c{i}", f"machine{i} kind{i}x{n}", levels, "altLabels"])
    return read_esco(path)


def vectors_of(texts: list[str]) -> np.ndarray:
    """Return unit vectors that depend on the text alone."""
    rows = [np.random.default_rng(zlib.crc32(text.encode())).standard_normal(DIMENSION) for text in texts]
    vectors = np.asarray(rows, np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


class FakeEmbedder:
    """Stands for MiniLM."""

    def embed(self, texts: list[str]) -> np.ndarray:
        return vectors_of(list(texts))


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as `prepare_training` leaves it, and a tokenizer."""
    folder = tmp_path_factory.mktemp("labeler")
    esco = write_esco(folder / ESCO_FILE)
    phrases = profile_phrases(esco)
    catalogs = {"default": sample_catalog(esco), "wide": wide_catalog(esco)}
    vectors = vectors_of(phrases)
    tables = {n: find_neighbours(phrases, vectors, vectors_of([e.text for e in c])) for n, c in catalogs.items()}
    save_neighbours(folder / "neighbours.npz", tables)
    train_tokenizer(tokenizer_texts(folder, n_members=50), vocab_size=900, path=folder / "tokenizer.json")
    return folder


@pytest.fixture(scope="module")
def esco(data_dir: Path) -> Esco:
    return read_esco(data_dir / ESCO_FILE)


@pytest.fixture(scope="module")
def source(data_dir: Path, esco: Esco) -> PairSource:
    catalog = sample_catalog(esco)
    neighbours = load_neighbours(data_dir / "neighbours.npz", profile_phrases(esco), "default")
    pool = Pool.of(seen_wordings(esco), catalog, without=unseen_concepts(esco))
    return PairSource(esco, catalog, pool, neighbours, n_items=48)


def test_every_pair_has_its_reference_answer_and_none_is_unknown(source: PairSource, esco: Esco) -> None:
    reference = Reference(esco, source.catalog)
    for index in range(60):
        pairs = source.draw(seed=TRAINING_SEED_FROM, index=index, is_short=False)
        answers = reference.answers(pairs.member.facts)
        found = [answers.get(source.catalog[place].qualification_id) for place in pairs.places]
        assert [answer == SUPPORTED for answer in found] == list(pairs.answers)
        assert "unknown" not in found
        assert len(set(pairs.places)) == len(pairs.places) <= 48


def test_too_few_years_are_among_the_candidates(source: PairSource) -> None:
    n_jobs = n_hard = 0
    for index in range(60):
        pairs = source.draw(seed=TRAINING_SEED_FROM, index=index, is_short=True)
        ids = {source.catalog[place].qualification_id for place in pairs.places}
        for job in pairs.member.facts.jobs:
            if job.years < 10:
                n_jobs += 1
                n_hard += f"experience:{job.occupation_id}:10" in ids
    assert n_jobs > 10
    assert n_hard / n_jobs > 0.8


def test_training_never_uses_unseen_wordings_or_concepts(source: PairSource, esco: Esco) -> None:
    kept_out, retold = unseen_concepts(esco), unseen_wordings(esco)
    assert kept_out
    for index in range(60):
        facts = source.draw(seed=TRAINING_SEED_FROM, index=index, is_short=False).member.facts
        for mention in (*facts.mentions, *facts.wishes):
            assert mention.concept_id not in kept_out
            assert mention.label not in retold.concepts[mention.concept_id].alternative_labels


def test_training_members_are_not_the_samples(source: PairSource, esco: Esco) -> None:
    sample = {m.profile_text for m in sample_members(esco, source.catalog, n_members=200, seed=SAMPLE_SEED)}
    trained = {source.draw(seed=TRAINING_SEED_FROM, index=i, is_short=False).member.profile_text for i in range(200)}
    assert not sample & trained


@pytest.fixture
def stream(data_dir: Path) -> Callable[..., list[Batch]]:
    """Return the first batches of a worker."""

    def first(n: int, *, worker: int = 0, items_per_example: int = 16, n_starts: int = 0) -> list[Batch]:
        settings = StreamSettings(
            data_dir=data_dir,
            tokenizer_json=data_dir / "tokenizer.json",
            pad_id=pad_id_of(data_dir / "tokenizer.json"),
            profiles_per_batch=2,
            n_items=16,
            items_per_example=items_per_example,
            n_starts=n_starts,
        )
        return list(islice(BatchStream(settings, is_short=lambda: True).batches(worker), n))

    return first


def test_a_stream_repeats_itself_and_no_other_worker_or_start(stream: Callable[..., list[Batch]]) -> None:
    again = [b.token_ids.tolist() for b in stream(2)]
    assert [b.token_ids.tolist() for b in stream(2)] == again
    assert [b.token_ids.tolist() for b in stream(2, worker=1)] != again
    assert [b.token_ids.tolist() for b in stream(2, n_starts=1)] != again


def test_single_item_prompts_come_from_the_same_stream(stream: Callable[..., list[Batch]]) -> None:
    (batch,) = stream(1, items_per_example=1)
    assert len(batch.answers) == len(batch.token_ids)
    assert batch.segment_ids.max() == 1


def test_a_profiles_candidates_are_its_phrases_best() -> None:
    table = Neighbours(
        phrases=["a", "b"],
        rows=np.array([[0, 1], [2, 1]], np.uint16),
        similarities=np.array([[200, 50], [100, 90]], np.uint8),
    )
    assert table.candidates(["a", "b", "never seen"], k=3).tolist() == [0, 2, 1]
    assert table.candidates(["b"], k=1).tolist() == [2]


def test_neighbours_are_the_nearest() -> None:
    catalog = vectors_of([f"entry {i}" for i in range(100)])
    table = find_neighbours(["entry 7"], vectors_of(["entry 7"]), catalog)
    assert table.rows[0, 0] == 7
    assert table.similarities[0, 0] == 255
    assert (np.diff(table.similarities[0].astype(int)) <= 0).all()


def test_evaluation_members_carry_ranked_candidates_and_all_supported_entries(esco: Esco) -> None:
    catalog: list[CatalogEntry] = sample_catalog(esco)[::7]
    members = list(sample_members(esco, catalog, n_members=3, seed=SAMPLE_SEED))
    reference = Reference(esco, catalog)
    for member, found in zip(members, evaluation_members(esco, catalog, members, FakeEmbedder(), k=20), strict=True):
        answers = reference.answers(member.facts)
        assert set(found.supported) == {q for q, answer in answers.items() if answer == SUPPORTED}
        assert len(found.candidates) == 20
        assert [c.similarity for c in found.candidates] == sorted(
            (c.similarity for c in found.candidates), reverse=True
        )
        assert all(c.answer == answers.get(c.qualification_id, "unsupported") for c in found.candidates)
