"""A round scored from its files alone, as where no table is: the round then finds its members done."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from jobs.score_round import Params, run
from jobs.settings import Settings
from mis_scoring.ray_data.score_files import main
from mis_scoring.ray_data.staging import STAGED_SCORES
from mis_scoring.ray_data.summary import read_staged
from tests.ray.round_tables import ITEM_TEXTS, RUN_ID, member_row, write_rows

pytestmark = pytest.mark.usefixtures("local_ray")


def test_an_engine_scores_two_batches_at_once_where_it_is_told_to(
    settings: Settings, pinned: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = pinned("an engine that is not here")
    write_rows(settings, [member_row(f"m{number}", f"profile {number}", ITEM_TEXTS) for number in range(4)])
    files = settings.tables / "member_rounds" / f"run_id={RUN_ID}" / "round=0"
    arguments = [str(tmp_path / "artifact"), "--rows", str(files), "--out", str(folder)]
    paired = ["--engine", "tests.ray.fake_engines:paired", "--batches-per-engine", "2", "--rows-per-block", "2"]

    assert main([*arguments, *paired]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 4


def test_what_is_scored_elsewhere_is_the_rounds_own(
    settings: Settings, pinned: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = pinned("an engine that is not here")
    rows = [member_row(f"m{number}", f"profile {number}", ITEM_TEXTS) for number in range(5)]
    write_rows(settings, [*rows, member_row("all-reused", "nothing to score", ())])
    files = settings.tables / "member_rounds" / f"run_id={RUN_ID}" / "round=0"
    arguments = [str(tmp_path / "artifact"), "--rows", str(files), "--out", str(folder)]

    assert main([*arguments, "--engine", "tests.ray.fake_engines:plain"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["rows"] == 5 and said["scored"] == 5 * len(ITEM_TEXTS) and said["errors"] == 0
    scored = run(settings, Params(run_id=RUN_ID, round=0))  # would fail if it started the pinned engine
    assert scored["rows"] == 5 and scored["engine"] == said["engine"]
    assert set(read_staged(folder, STAGED_SCORES.names)["member_id"].to_pylist()) == {row["member_id"] for row in rows}
