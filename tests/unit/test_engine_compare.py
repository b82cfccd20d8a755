"""Two engines on the same pairs: what differs is counted and named; and a pair alone against its round."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.core.identity import text_hash
from mis_scoring.engine_compare import difference, main

LABELER = Path(__file__).resolve().parents[2] / "labelers" / "esco-small"


def test_a_decision_that_differs_is_named_with_both_margins() -> None:
    ours, theirs = np.float32([2.0, 0.1, -1.0, 0.5]), np.float32([2.0, -0.1, -1.25, 0.5])
    found = difference(ours, theirs, threshold=0.5)
    assert found["n_pairs"] == 4 and found["n_moved"] == 2 and found["largest"] == 0.25 and found["n_flips"] == 1
    (flip,) = found["flips"]
    assert flip["pair"] == 1 and flip["margin"] == pytest.approx(0.1) and flip["other"] == pytest.approx(-0.1)


def test_an_exact_engine_agrees_with_itself_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    artifact = LabelerArtifact.load(LABELER)
    query = artifact.prompt.render_query("Nurse for ten years.")
    items = [artifact.prompt.render_item(text) for text in ("provide care", "drive trucks", "teach")]
    row = {"member_id": "m", "query_text": query, "query_hash": text_hash(query), "item_texts": items}
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "rows.parquet")
    arguments = [str(LABELER), "--rows", str(tmp_path / "rows.parquet")]
    code = main([*arguments, "--engine", "single", "--other", "dense"])
    report = json.loads(capsys.readouterr().out)
    assert code == 0 and report["alone"]["n_moved"] == 0
    assert report["other"]["n_pairs"] == 3 and report["other"]["largest"] < 1e-3
