"""The check of an engine on a labeler's own pairs, with engines whose errors are known."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.core.errors import DataError
from mis_scoring.core.labels import LabelTokens, TokenIds
from mis_scoring.core.readout import FloatArray
from mis_scoring.core.tokenizer import PromptTokenizer
from mis_scoring.engine_check import Member, measure, read_members, write_variant
from mis_scoring.engines.score_spec import ScoreSpec
from tests.ray.fake_engines import FakeEngine
from tests.ray.round_tables import ITEM_TEXTS, LAYOUT, write_artifact

SHIFT = 2**-5  # exact in float32, under the canary's tolerance below


class Coarse(FakeEngine):
    def __init__(self, name: str, *, shift: float = 0.0) -> None:
        super().__init__(name, shift=shift)
        self.rounding, self.n_concurrent = 0.1, 3


@pytest.fixture
def artifact(tmp_path: Path) -> LabelerArtifact:
    return write_artifact(tmp_path / "artifact")


@pytest.fixture
def members(artifact: LabelerArtifact, tmp_path: Path) -> list[Member]:
    rows = [
        {
            "query_text": LAYOUT.render_query(f"profile {number}"),
            "item_texts": [LAYOUT.render_item(f"{text} {place}") for place, text in enumerate(ITEM_TEXTS * 12)],
        }
        for number in range(7)
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "rows.parquet")
    return read_members(tmp_path / "rows.parquet", tokenizer_of(tmp_path / "artifact"))


def tokenizer_of(folder: Path) -> PromptTokenizer:
    return PromptTokenizer(folder / "tokenizer.json", LAYOUT)


def test_the_bound_holds_every_difference_and_the_band_its_pairs(
    artifact: LabelerArtifact, members: list[Member], tmp_path: Path
) -> None:
    engine, reference = Coarse("engine", shift=SHIFT), Coarse("reference")
    tokenizer = tokenizer_of(tmp_path / "artifact")
    report, eps = measure(artifact, tokenizer, members, engine, reference, lambda: Coarse("exact", shift=-SHIFT))
    pairs = [reference.margin(member.query, item) for member in members for item in member.items]
    assert report["n_pairs"] == len(pairs) == 7 * 60
    assert report["tie"]["max_difference"] == SHIFT and 2 * SHIFT <= eps <= 2.2 * SHIFT
    near = sum(abs(margin + SHIFT) <= eps for margin in pairs)
    assert report["tie"]["n_in_band"] == 4 * near > 0
    assert report["against_float32"]["engine"]["max_difference"] == 2 * SHIFT
    assert report["order_with_tie_rule"]["n_changed"] == report["order_without_tie_rule"]["n_changed"] == 0
    assert 0 < report["tie_cost"]["tie_tokens"] < report["tie_cost"]["tokens"] * 7


def test_the_rule_decides_alike_what_company_would_flip(
    artifact: LabelerArtifact, members: list[Member], tmp_path: Path
) -> None:
    class Jittery(Coarse):
        """Rounds up in long rounds and down in short ones."""

        def label_logits(self, query: TokenIds, items: Sequence[TokenIds], label_tokens: LabelTokens) -> FloatArray:
            self.shift = SHIFT if len(items) > 7 else -SHIFT
            return super().label_logits(query, items, label_tokens)

    engine, exact = Jittery("engine"), Coarse("exact")
    engine.n_concurrent = 1
    report, _ = measure(artifact, tokenizer_of(tmp_path / "artifact"), members, engine, exact, lambda: exact)
    assert report["tie"]["n_flips"] > 0 < report["order_without_tie_rule"]["n_changed"]
    assert report["order_with_tie_rule"]["n_changed"] == 0


def test_the_variant_is_another_scorer_with_the_measured_bound(artifact: LabelerArtifact, tmp_path: Path) -> None:
    folder, out = tmp_path / "artifact", tmp_path / "variant"
    write_variant(artifact, folder, out, dtype="bfloat16", tie_eps=0.07, tie={"n_pairs": 3})
    variant = LabelerArtifact.load(out)
    assert variant.scorer_id != artifact.scorer_id and variant.tie_eps == 0.07
    assert variant.numeric_profile == {**artifact.numeric_profile, "dtype": "bfloat16"}
    assert ScoreSpec.of(variant, out, engine="sglang").engine == "sglang"


@pytest.mark.parametrize(("engine", "options"), [("sglang", {}), ("cascade", {"dtype": "bfloat16"})])
def test_an_engine_in_another_dtype_than_the_artifacts_is_refused(
    engine: str, options: dict[str, str], artifact: LabelerArtifact, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match="bfloat16, but artifact 'test-labeler' has scores in float32"):
        ScoreSpec.of(artifact, tmp_path / "artifact", engine=engine, engine_options=options)


def test_a_plain_model_is_a_scorer_by_its_files_prompt_and_answers(artifact: LabelerArtifact, tmp_path: Path) -> None:
    folder = tmp_path / "artifact"
    one = ScoreSpec.of_model(folder, prompt=LAYOUT, answers=("YES", "NO"), engine="sglang")
    assert one == ScoreSpec.of_model(folder, prompt=LAYOUT, answers=("YES", "NO"), engine="sglang")
    others = [
        ScoreSpec.of_model(folder, prompt=LAYOUT, answers=("NO", "YES"), engine="sglang"),
        ScoreSpec.of_model(folder, prompt=LAYOUT, answers=("YES", "NO"), engine="cascade"),
    ]
    assert one.scorer_id not in {other.scorer_id for other in others}
