"""The committed labeler: whole, servable by the GPU engine, honest about itself, and able to read a profile."""

import json
from pathlib import Path

import numpy as np
import pytest

from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.core.readout import decisions, margins
from mis_scoring.core.tokenizer import PromptTokenizer
from mis_scoring.engines.registry import make_engine

FOLDER = Path(__file__).parents[2] / "labelers" / "esco-small"
PROFILE = """EXPERIENCE
Ward nurse, Harrow Group (2012-2019)
- Move baggage
BSc patient care science, 2011
Licensed for lorries over 3.5 tonnes
I have never done yoga myself."""
SUPPORTED = [
    "transfer luggage",
    "1+ year as a registered nurse",
    "5+ years as a registered nurse",
    "Bachelor's degree in nursing",
    "Driving licence category C",
    "Driving licence category B",
]
UNSUPPORTED = [
    "10+ years as a registered nurse",
    "5+ years as a tax accountant",
    "Master's degree in nursing",
    "Bachelor's degree in law",
    "Driving licence category D",
    "Haskell",
    "supervise correctional procedures",
]


@pytest.fixture(scope="module")
def artifact() -> LabelerArtifact:
    return LabelerArtifact.load(FOLDER)


def margins_on(artifact: LabelerArtifact, profile_text: str, texts: list[str]) -> np.ndarray:
    tokenizer = PromptTokenizer(FOLDER / "tokenizer.json", artifact.prompt)
    engine = make_engine("cascade", FOLDER, threads=1)
    labels = tokenizer.label_tokens(artifact.label_tokens["yes"], artifact.label_tokens["no"])
    query = tokenizer.encode_query(artifact.prompt.render_query(profile_text))
    items = [tokenizer.encode_item(artifact.prompt.render_item(text)) for text in texts]
    return np.asarray(margins(engine.label_logits(query, items, labels)))


def test_it_reads_a_profile_right(artifact: LabelerArtifact) -> None:
    found = margins_on(artifact, PROFILE, SUPPORTED + UNSUPPORTED)
    accepted = decisions(found, artifact.threshold)
    wrong = [
        text for text, is_yes in zip(SUPPORTED + UNSUPPORTED, accepted, strict=True) if is_yes != (text in SUPPORTED)
    ]
    assert wrong == []


def test_the_number_of_years_decides(artifact: LabelerArtifact) -> None:
    texts = [f"{years}+ years as a registered nurse" for years in (3, 5, 10)]
    for told, expected in (("two", [0, 0, 0]), ("4", [1, 0, 0]), ("8", [1, 1, 0]), ("twelve", [1, 1, 1])):
        found = margins_on(artifact, f"I have worked as a ward nurse for {told} years.", texts)
        assert decisions(found, artifact.threshold).tolist() == [bool(e) for e in expected]


def test_the_gpu_engine_can_serve_its_shape() -> None:
    config = json.loads((FOLDER / "config.json").read_text(encoding="utf-8"))
    assert config["head_dim"] == 128
    assert config["num_key_value_heads"] in (2, 8)
    assert config["vocab_size"] >= 10_240
    assert 2 <= config["num_hidden_layers"] <= 4


def test_the_checkpoint_is_small_enough_to_be_committed() -> None:
    assert (FOLDER / "model.safetensors").stat().st_size <= 10_000_000


def test_its_figures_beat_both_baselines_and_reach_the_aim(artifact: LabelerArtifact) -> None:
    evaluation = artifact.evaluation
    assert evaluation["f1"] >= 0.85
    assert evaluation["f1"] > evaluation["cosine_f1"]
    test = evaluation["slices"]["test"]
    assert test["labeler"]["accuracy"] > test["always_no"]["accuracy"]
    assert {"skill", "experience", "education", "licence"} == set(test["by_category"])


def test_each_stop_reason_covers_a_twentieth_of_the_samples_members(artifact: LabelerArtifact) -> None:
    stops = artifact.evaluation["stops"]
    assert stops["accepted_too_little"] >= 0.05
    assert stops["candidates_exhausted"] >= 0.05
