"""The score processor through plain `ray.data.llm.build_processor`, and the internals of Ray that it stands on."""

import asyncio
import inspect
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from tests.ray.fake_engines import FakeEngine
from tests.ray.round_tables import ITEM_TEXTS, LAYOUT, write_artifact

pytestmark = pytest.mark.usefixtures("local_ray")


def config(folder: Path, **changes: Any) -> Any:
    from mis_scoring.ray_data.processor import SGLangScoreProcessorConfig

    options = {"model_source": str(folder), "engine": "tests.ray.fake_engines:plain", "batch_size": 4, "concurrency": 1}
    return SGLangScoreProcessorConfig(**options | changes)


def row(number: int, *, items: tuple[str, ...] = ITEM_TEXTS) -> dict[str, Any]:
    texts = [LAYOUT.render_item(item) for item in items]
    return {"number": number, "query": LAYOUT.render_query(f"profile {number}"), "items": texts}


def test_scores_are_those_of_each_rows_items_in_their_order_and_a_bad_row_is_an_error(tmp_path: Path) -> None:
    import ray.data
    from ray.data.llm import build_processor

    write_artifact(tmp_path / "artifact")
    rows = [row(number, items=ITEM_TEXTS[: 1 + number % 5]) for number in range(6)]
    rows.append(row(6) | {"query": "rendered by another layout"})
    rows.append(row(7, items=("x" * 500,)))
    processor = build_processor(config(tmp_path / "artifact", should_continue_on_error=True))
    found = {scored["number"]: scored for scored in processor(ray.data.from_items(rows)).take_all()}

    assert sorted(found) == list(range(8))
    assert "layout" in found[6]["__inference_error__"] and "longer than" in found[7]["__inference_error__"]
    assert found[6]["scores"] is None and found[7]["scores"] is None
    engine, tokenizer = FakeEngine("direct"), config(tmp_path / "artifact").spec().tokenizer()
    for given in rows[:6]:
        query = tokenizer.encode_query(given["query"])
        margins = [engine.margin(query, tokenizer.encode_item(item)) for item in given["items"]]
        scored = found[given["number"]]
        assert scored["margins"] == margins and scored["__inference_error__"] == ""
        assert [score >= 0.5 for score in scored["scores"]] == [margin >= 0 for margin in margins]


def test_with_names_the_stage_is_a_client_of_those_engines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mis_scoring.ray_data import processor_stages
    from mis_scoring.ray_data.score import ScoreRows

    write_artifact(tmp_path / "artifact")
    spec, asked = config(tmp_path / "artifact").spec(), []

    def score_tokens(tokens: Any, names: tuple[str, ...]) -> Any:
        asked.append(names)
        return ScoreRows(spec, 60.0)(tokens)

    monkeypatch.setattr(processor_stages, "score_tokens", score_tokens)
    columns = {"data_column": "__data", "should_continue_on_error": False}
    stage = processor_stages.ScoreUDF(spec=spec, engines=("warm",), request_timeout_s=60.0, **columns)
    tokens = {"query_tokens": [1, 2], "item_tokens": [[3], [4, 5]], "__idx_in_batch": 0}

    async def first() -> dict[str, Any]:
        return await anext(stage.udf([tokens]))

    added = asyncio.run(first())
    assert asked == [("warm",)] and len(added["scores"]) == 2 and added["__idx_in_batch"] == 0


def test_a_plain_model_with_a_prompt_and_answers_is_scored_too(tmp_path: Path) -> None:
    import ray.data
    from ray.data.llm import build_processor

    artifact = write_artifact(tmp_path / "artifact")
    (tmp_path / "artifact" / "labeler.json").unlink()
    plain = config(tmp_path / "artifact", prompt=artifact.prompt, answers=("YES", "NO"))
    (scored,) = build_processor(plain)(ray.data.from_items([row(3)])).take_all()
    tokenizer = plain.spec().tokenizer()
    query = tokenizer.encode_query(row(3)["query"])
    engine = FakeEngine("direct")
    assert scored["margins"] == [engine.margin(query, tokenizer.encode_item(item)) for item in row(3)["items"]]


def test_the_example_prints_a_score_for_each_pair(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from mis_scoring.ray_data.example import PROFILES, QUALIFICATIONS, main

    write_artifact(tmp_path / "artifact")
    assert main([str(tmp_path / "artifact"), "--engine", "tests.ray.fake_engines:plain"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if "  <-  " in line]
    assert len(lines) == len(PROFILES) * len(QUALIFICATIONS)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"engine": "sglang"}, "gpus_per_engine"),
        ({"engine": "prefill"}, "engine .prefill. needs gpus_per_engine"),
        ({"prompt": LAYOUT}, "belong together"),
    ],
)
def test_a_config_that_cannot_work_is_refused(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match=message):
        config(tmp_path, **changes)


def test_a_stage_of_engines_with_gpus_can_be_built(tmp_path: Path) -> None:
    from mis_scoring.ray_data.pipeline import INPUT_COLUMNS, read_rows, score_dataset
    from mis_scoring.ray_data.placement import Placement

    write_artifact(tmp_path / "artifact")
    pq.write_table(
        pa.table({name: [["1"]] if name == "item_ids" else ["1"] for name in INPUT_COLUMNS}), tmp_path / "rows"
    )
    placement = Placement(gpus_per_engine=0.5)
    score_dataset(read_rows([str(tmp_path / "rows")], placement), config(tmp_path / "artifact").spec(), placement)


def test_there_is_no_chat_template_and_no_detokenizing(tmp_path: Path) -> None:
    for stage in ("chat_template_stage", "detokenize_stage"):
        with pytest.raises(ValidationError, match=stage):
            config(tmp_path, **{stage: True})


def test_rays_internals_are_those_that_the_processor_was_written_for() -> None:
    import ray
    from ray.llm._internal.batch.processor.base import Processor, ProcessorBuilder
    from ray.llm._internal.batch.stages.base import StatefulStage, StatefulStageUDF

    assert ray.__version__.startswith("2.60.")
    assert list(inspect.signature(ProcessorBuilder.register).parameters) == ["config_type", "builder"]
    assert list(inspect.signature(StatefulStageUDF.__init__).parameters) == [
        "self",
        "data_column",
        "expected_input_keys",
    ]
    assert set(StatefulStage.model_fields) == {"fn", "fn_constructor_kwargs", "map_batches_kwargs"}
    assert Processor.DATA_COLUMN == "__data" and StatefulStageUDF.IDX_IN_BATCH_COLUMN == "__idx_in_batch"
