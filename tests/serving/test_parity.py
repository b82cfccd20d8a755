"""The same pairs through the batch stage and the server: the same decisions, and where a tie is, the same bits."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mis_scoring.core.artifact import LabelerArtifact, digests_of
from mis_scoring.core.labels import LabelTokens
from mis_scoring.core.readout import margin_of, scores_of_margins
from mis_scoring.engines.prefill.calibrate import calibrated_profile, write_profile
from mis_scoring.engines.prefill.fp8 import MLP
from mis_scoring.engines.score_spec import ScoreSpec
from mis_scoring.evaluation.members import write_members
from mis_scoring.serving_parity import Judged, Round, batch_judged, compare, main, rounds_of, server_judged
from tests.labeler_work import made_up_members
from tests.serving.running import Running, running_server
from tests.tiny_labeler import write_tiny_labeler

TIE_EPS = 0.2  # wide, so that many pairs are ties


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("parity") / "labeler"


@pytest.fixture(scope="module")
def artifact(folder: Path) -> LabelerArtifact:
    write_tiny_labeler(folder, threshold=0.5, candidates_per_round=6)
    wide = replace(LabelerArtifact.load(folder), tie_eps=TIE_EPS)
    wide.save(folder)
    return wide


@pytest.fixture(scope="module")
def rounds(artifact: LabelerArtifact, folder: Path) -> list[Round]:
    pairs = folder.parent / "pairs.jsonl.gz"
    write_members(pairs, made_up_members(40, seed=3))
    return rounds_of(artifact, pairs)


@pytest.fixture(scope="module")
def batch(artifact: LabelerArtifact, folder: Path, rounds: list[Round]) -> Judged:
    return batch_judged(ScoreSpec.of(artifact, folder, engine="cascade", engine_threads=1), rounds)


@pytest.fixture(scope="module")
def served(artifact: LabelerArtifact, folder: Path) -> Iterator[Running]:
    with running_server(artifact, folder, engine="cascade", canary_every=20) as running:
        yield running


@pytest.mark.parametrize("two_part", [False, True], ids=["one part", "two parts"])
def test_batch_and_server_decide_alike(served: Running, rounds: list[Round], batch: Judged, two_part: bool) -> None:
    server = server_judged(served.client, rounds, two_part=two_part)
    assert len(batch.margins) == 480
    found = compare(0.5, batch, server)
    assert found["flips"] == 0
    assert found["largest_margin_difference"] < 1e-5
    both = batch.is_reference & server.is_reference
    assert 10 < both.sum() < 400
    assert np.array_equal(batch.margins[both], server.margins[both])


def test_requests_were_joined_and_the_canary_watched(served: Running) -> None:
    assert served.figure("batch_requests_sum") > served.figure("batch_requests_count") > 20
    assert served.figure("canary_failures_total") == 0
    assert served.figure("reference_labels_total") > 0


def test_one_flip_is_counted(batch: Judged) -> None:
    other = batch.margins.copy()
    other[7] = margin_of(0.5) - 1.0 if other[7] >= 0 else margin_of(0.5) + 1.0
    assert compare(0.5, batch, replace(batch, margins=other))["flips"] == 1


def test_an_answer_says_what_a_judgment_keeps(served: Running, rounds: list[Round], artifact: LabelerArtifact) -> None:
    answer = served.client.score(rounds[0].query, rounds[0].items)
    described = served.client.describe()
    assert (answer.artifact_id, answer.scorer_id) == (artifact.artifact_id, artifact.scorer_id)
    assert np.array_equal(answer.scores, scores_of_margins(answer.margins))
    assert '"engine":"cascade"' in answer.engine
    assert described.engine == answer.engine
    assert (described.threshold, described.max_pair_tokens) == (0.5, 1024)
    n_ties = int(answer.is_reference.sum())
    assert (answer.tie_tokens > 0) == (n_ties > 0)
    assert answer.tokens > len(rounds[0].items)


def test_an_artifact_in_fp8_is_compared_on_its_engine_with_its_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, pairs = tmp_path / "fp8", tmp_path / "pairs.jsonl.gz"
    made = write_tiny_labeler(folder)
    on_cpu = {"device": "cpu", "max_forward_tokens": 2_048, "token_budget": 1_024, "max_item_tokens": 200}
    requests = [([3, 4, 5, 6], [[7, 8], [9]])]
    write_profile(folder, calibrated_profile(folder, requests, LabelTokens(yes=1, no=2), quantisation=MLP, **on_cpu))
    profile = {**made.numeric_profile, "dtype": "bfloat16", "quantisation": MLP}
    replace(made, numeric_profile=profile, digests=digests_of(folder)).save(folder)
    write_members(pairs, made_up_members(3, seed=3))
    options = json.dumps({**on_cpu, "attention": "tiled", "verify": False, "quantisation": MLP})
    assert main([str(folder), str(pairs), "--engine", "prefill", "--options", options]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["pairs"], report["engine"]["quantisation"]) == (36, MLP)
