"""The load test: what counts as an answer, and how the knee is found."""

import asyncio
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mis_scoring.bench import shapes
from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.serving import bench
from mis_scoring.serving.bench import ITEM_TOKENS, _parser, made_up, measured_folder
from mis_scoring.serving.load import MODES, Asked, Cell, Load, knee, next_rate
from tests.serving.running import Running, running_server
from tests.tiny_labeler import write_tiny_labeler


def cell(rate: float, *, p99_s: float = 0.5, success: float = 1.0) -> Cell:
    return Cell(
        mode="mis",
        n_items=50,
        rate=rate,
        seconds=60.0,
        n_queries=100,
        success=success,
        p50_s=0.1,
        p99_s=p99_s,
        labels_per_s=50 * rate,
        failures={},
    )


def test_the_knee_is_the_highest_rate_that_is_both_fast_and_answered() -> None:
    assert knee([cell(4), cell(2), cell(8, p99_s=1.1), cell(6, success=0.98)]) == cell(4)
    assert knee([cell(2, p99_s=math.inf)]) is None


@given(st.floats(0.2, 500), st.floats(0.5, 50))
def test_the_search_ends_at_a_rate_that_holds_and_is_close_to_one_that_does_not(most: float, first: float) -> None:
    cells: list[Cell] = []
    while (rate := next_rate(cells, first=first)) is not None:
        cells.append(cell(rate, p99_s=0.5 if rate <= most else 2.0))
        assert len(cells) < 20
    found = knee(cells)
    if found is None:
        assert first / 32 >= most / 2
    else:
        assert found.rate <= most < 1.2 * found.rate


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_is_answered_and_counted(running: Running, mode: str) -> None:
    asked = [Asked(query=running.query(text), items=running.items("a", "b")) for text in ("one", "two")]
    before = running.figure("labels_total")
    found = asyncio.run(_run(running, mode, asked, running.artifact.artifact_id))
    assert (found.success, found.n_queries, found.n_items) == (1.0, 8, 2)
    assert 0 < found.p50_s <= found.p99_s < math.inf
    assert running.figure("labels_total") == before + 2 * (8 + 3)


@pytest.mark.parametrize("mode", MODES)
def test_a_request_that_failed_took_for_ever(running: Running, mode: str) -> None:
    asked = [Asked(query="", items=running.items("a"))]
    found = asyncio.run(_run(running, mode, asked, running.artifact.artifact_id, n_warm_up=0))
    assert (found.success, found.p99_s, found.failures) == (0.0, math.inf, {"INVALID_ARGUMENT": 8})
    assert not found.holds


def test_made_up_texts_have_the_lengths_that_are_asked_for(running: Running, folder: Path) -> None:
    asked = made_up(running.artifact, folder, 5, 1000)
    lengths = [len(running.tokenizer.encode_query(one.query)) for one in asked]
    assert max(lengths) <= 1000 - ITEM_TOKENS
    assert len(set(lengths)) > 10
    assert all(
        ITEM_TOKENS - 3 <= len(running.tokenizer.encode_item(item)) <= ITEM_TOKENS + 8 for item in asked[0].items
    )


TINY = {"model_type": "qwen3", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "head_dim": 16}
TINY |= {"num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 400}


def test_a_shape_is_served_with_random_weights_and_the_tokenizer_of_a_real_artifact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shapes, "SHAPES", {"TINY": TINY})
    monkeypatch.setattr(bench, "SHAPES", {"TINY": TINY})
    template = write_tiny_labeler(tmp_path / "real")
    options = _parser().parse_args([str(tmp_path / "real"), "--shape", "tiny"])
    with measured_folder(options) as folder:
        made = LabelerArtifact.load(folder)
        assert (made.prompt, made.label_tokens, made.tie_eps) == (template.prompt, template.label_tokens, 0.0)
        assert made.digests["tokenizer.json"] == template.digests["tokenizer.json"]
        assert made.numeric_profile["dtype"] == "float32" and made.scorer_id != template.scorer_id
        with running_server(made, folder, engine="cascade") as running:
            asked = made_up(made, folder, 3, 200)[:2]
            found = asyncio.run(_run(running, "mis", asked, made.artifact_id))
            assert found.success == 1.0 and running.figure("reference_labels_total") == 0
    assert not folder.exists()
    with measured_folder(_parser().parse_args([str(tmp_path / "real")])) as folder:
        assert folder == tmp_path / "real"


async def _run(running: Running, mode: str, asked: list[Asked], artifact_id: str, *, n_warm_up: int = 3) -> Cell:
    load = Load(running.address, artifact_id, retrieval_s=0.01)
    await load.warm_up(mode, asked, n_warm_up, n_at_once=1)
    found = await load.run(mode, asked, rate=100.0, seconds=0.08, seed=1)
    await load.close()
    return found
