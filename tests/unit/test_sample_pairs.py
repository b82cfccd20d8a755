"""The pairs file of the sample's generator: true answers, members of nobody else, a form that is read back."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jobs.errors import FaultsError, MissingRequirementError
from jobs.labeler import sample_pairs as job
from jobs.labeler.labelled_pairs import read_labelled_pairs
from jobs.sample.catalog import sample_catalog
from jobs.sample.esco import ESCO_FILE, Esco, read_esco
from jobs.sample.members import sample_members
from jobs.sample.prepare_evaluation import K
from jobs.sample.reference import Reference
from jobs.sample.seeds import PAIRS_SEED_FROM
from jobs.sample.unseen import seen_wordings, unseen_concepts
from mis_scoring.evaluation.members import EvaluationMember
from tests.unit.test_sample_training import vectors_of, write_esco


class FakeEmbedder:
    """Stands for MiniLM."""

    def __init__(self, model_dir: Path, *, threads: int) -> None:
        assert (model_dir / "model.safetensors").exists()

    def embed(self, texts: list[str]) -> np.ndarray:
        return vectors_of(list(texts))


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    write_esco(folder / ESCO_FILE)
    (folder / "minilm").mkdir()
    (folder / "minilm" / "model.safetensors").touch()
    return folder


@pytest.fixture(scope="module")
def esco(data_dir: Path) -> Esco:
    return read_esco(data_dir / ESCO_FILE)


@pytest.fixture(autouse=True)
def fake_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "BatchEmbedder", FakeEmbedder)


def written(data_dir: Path, path: Path, **choices: Any) -> list[EvaluationMember]:
    counts = job.sample_pairs(data_dir, path, **({"n_members": 12} | choices))
    pairs = read_labelled_pairs(path, minilm_dir=path)
    assert counts["pairs"] == pairs.n_pairs and pairs.n_duplicates == 0
    assert counts["pairs"] == counts["yes"] + counts["no"] + counts["unknown"]
    return list(pairs.members)


def test_answers_are_the_reference_s_and_members_nobody_else_s(data_dir: Path, esco: Esco, tmp_path: Path) -> None:
    catalog = sample_catalog(esco)
    reference = Reference(esco, catalog)
    drawn = list(
        sample_members(seen_wordings(esco), catalog, n_members=12, seed=PAIRS_SEED_FROM, without=unseen_concepts(esco))
    )
    members = written(data_dir, tmp_path / "pairs.parquet")
    assert [m.profile_text for m in members] == [m.profile_text for m in drawn]
    for member, facts in zip(members, (m.facts for m in drawn), strict=True):
        answers = reference.answers(facts)
        assert all(c.answer == answers.get(c.qualification_id, "unsupported") for c in member.candidates)
        assert len(member.candidates) == job.PAIRS_PER_MEMBER


def test_entries_that_are_nearly_supported_are_among_the_pairs(data_dir: Path, tmp_path: Path) -> None:
    members = written(data_dir, tmp_path / "pairs.parquet", n_members=20)
    hard = [c for m in members for c in m.candidates if c.category != "skill" and c.answer == "unsupported"]
    assert len(hard) > 2 * len(members)


def test_both_forms_hold_the_same_and_a_run_repeats_itself(data_dir: Path, tmp_path: Path) -> None:
    assert written(data_dir, tmp_path / "pairs.csv") == written(data_dir, tmp_path / "pairs.parquet")
    other = written(data_dir, tmp_path / "other.csv", seed=1)
    assert not {m.member_id for m in other} & {m.member_id for m in written(data_dir, tmp_path / "pairs.csv")}


def test_more_supported_pairs_can_be_asked_for(data_dir: Path, tmp_path: Path) -> None:
    few, many = (
        sum(len(m.supported) for m in written(data_dir, tmp_path / "p.csv", supported_share=share))
        for share in (0.0, 0.5)
    )
    assert many > 2 * few


def test_what_is_missing_or_makes_no_sense_is_said(data_dir: Path, tmp_path: Path) -> None:
    with pytest.raises(MissingRequirementError, match="make setup"):
        job.sample_pairs(tmp_path, tmp_path / "p.csv", n_members=1)
    with pytest.raises(FaultsError) as refused:
        job.sample_pairs(
            data_dir, tmp_path / "p.txt", n_members=0, pairs_per_member=K + 1, supported_share=2.0, seed=-1
        )
    assert len(refused.value.faults) == 5
