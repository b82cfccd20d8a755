"""Engines that outlive a round: warm for the next, found by whoever comes after a kill, ended with their run."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jobs import score_round, start_engines, stop_engines
from jobs.ledger import PUBLISHED, append_event
from jobs.run_failure import fail_run
from jobs.run_job import run_job
from jobs.run_ledger import read_run
from jobs.score_round import Params
from jobs.settings import CHECKOUT, Settings
from mis_scoring.core.errors import EngineError
from mis_scoring.engines.score_spec import ScoreSpec
from mis_scoring.ray_data.placement import Placement
from mis_scoring.ray_data.staging import STAGED_SCORES
from mis_scoring.ray_data.summary import n_rows_staged, read_staged
from tests.ray.fake_engines import Steering
from tests.ray.round_tables import ITEM_TEXTS, RUN_ID, member_row, write_artifact, write_rows

N_MEMBERS, ROWS_A_BATCH = 16, 4
MEMBERS = sorted(f"m{n}" for n in range(N_MEMBERS))
DEADLINE_S = 240
Pin = Callable[..., Path]
CHILD = """
from pathlib import Path
from jobs import score_round
from jobs.run_ledger import read_run
from jobs.settings import Settings
from mis_scoring.ray_data.placement import Placement
Placement.for_cluster = classmethod(lambda cls, n_cpus: cls(rows_per_block={rows}))
settings = Settings(home=Path({home!r}), ray_address={address!r}, _env_file=None)
score_round.run(settings, score_round.Params(run_id={run_id!r}, round=0))
"""


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    small = Placement(rows_per_block=ROWS_A_BATCH)
    monkeypatch.setattr(Placement, "for_cluster", classmethod(lambda cls, n_cpus: small))


@pytest.fixture(autouse=True)
def ended(warm: Settings) -> Iterator[None]:
    yield
    stop_engines.run(warm, stop_engines.Params(run_id=RUN_ID))


def write_round(settings: Settings, number: int) -> None:
    rows = [member_row(member, f"profile {member}", ITEM_TEXTS, round=number) for member in MEMBERS]
    write_rows(settings, rows)


def score(settings: Settings, number: int = 0) -> dict[str, object]:
    return score_round.run(settings, Params(run_id=RUN_ID, round=number))


def staged(folder: Path) -> dict[str, str]:
    """The canary epoch of each staged member; nobody is staged twice."""
    rows = read_staged(folder, STAGED_SCORES.names).to_pylist()
    epochs = {row["member_id"]: row["canary_epoch"] for row in rows}
    assert len(rows) == len(epochs)
    return epochs


def test_an_engine_stays_warm_for_the_next_round_and_ends_with_its_run(
    warm: Settings, pinned: Pin, steering: Steering
) -> None:
    pinned("steered")
    write_round(warm, 0)
    write_round(warm, 1)
    assert [score(warm, number)["engines_started"] for number in (0, 1)] == [1, 0]
    assert len(steering.noted("engines")) == 1
    stop = stop_engines.Params(run_id=RUN_ID)
    assert stop_engines.run(warm, stop) == {"engines_ended": 1}
    assert stop_engines.run(warm, stop) == {"engines_ended": 0}


def test_after_a_kill_of_the_driver_its_engine_goes_on_and_one_batch_is_scored_again(
    warm: Settings, pinned: Pin, steering: Steering
) -> None:
    folder = pinned("steered")
    write_round(warm, 0)
    steering.order("hang", after_requests=2 * ROWS_A_BATCH + 1)
    _kill_when_half_done(warm, folder)
    kept = staged(folder)
    assert len(kept) == n_rows_staged(folder) == 2 * ROWS_A_BATCH
    steering.recall("hang")

    result = score(warm)

    epochs = staged(folder)
    assert sorted(epochs) == MEMBERS and kept.items() <= epochs.items()
    assert (result["rows"], result["scored"]) == (N_MEMBERS, N_MEMBERS * len(ITEM_TEXTS))
    assert len(steering.noted("engines")) == 1, "the killed driver's engine was still warm"
    assert len(steering.noted("requests")) <= N_MEMBERS + ROWS_A_BATCH


def test_after_a_kill_of_an_engine_the_next_try_scores_one_batch_again(
    warm: Settings, pinned: Pin, steering: Steering
) -> None:
    folder = pinned("steered")
    write_round(warm, 0)
    steering.order("die", after_requests=2 * ROWS_A_BATCH + 1)
    with pytest.raises(EngineError, match="died"):
        score(warm)
    kept = staged(folder)
    assert len(kept) == 2 * ROWS_A_BATCH

    score(warm)

    epochs = staged(folder)
    assert sorted(epochs) == MEMBERS and kept.items() <= epochs.items()
    assert len(steering.noted("engines")) == 2
    assert len(steering.noted("requests")) <= N_MEMBERS + ROWS_A_BATCH


def test_an_engine_that_may_restart_does_so_within_the_round(
    warm: Settings, pinned: Pin, steering: Steering, monkeypatch: pytest.MonkeyPatch
) -> None:
    lenient = Placement(rows_per_block=ROWS_A_BATCH, max_restarts=1)
    monkeypatch.setattr(Placement, "for_cluster", classmethod(lambda cls, n_cpus: lenient))
    folder = pinned("steered")
    write_round(warm, 0)
    steering.order("die", after_requests=ROWS_A_BATCH + 1)
    score(warm)
    assert sorted(staged(folder)) == MEMBERS
    assert len(steering.noted("engines")) == 2
    assert len(steering.noted("requests")) <= N_MEMBERS + ROWS_A_BATCH


def test_where_a_later_canary_fails_its_epoch_is_not_staged_and_those_before_are(
    warm: Settings, pinned: Pin, steering: Steering
) -> None:
    folder = pinned("steered")
    write_round(warm, 0)
    steering.order("leak", after_requests=ROWS_A_BATCH + 2)
    with pytest.raises(EngineError, match="the canary of engine"):
        score(warm)
    kept = staged(folder)
    assert len(kept) == ROWS_A_BATCH and len(set(kept.values())) == 1

    steering.recall("leak")
    score(warm)
    assert sorted(staged(folder)) == MEMBERS and kept.items() <= staged(folder).items()
    assert len(steering.noted("engines")) == 2, "the one that failed was not asked again"
    assert read_run(warm.tables, RUN_ID).n_canary_failures == 1, "a try that ended well takes nothing back"


def test_the_engines_of_a_run_that_is_over_are_found_by_the_next(
    warm: Settings, pinned: Pin, steering: Steering
) -> None:
    pinned("steered")
    write_round(warm, 0)
    score(warm)
    next_run = start_engines.Params(run_id="weekly_full-next")
    assert start_engines.run(warm, next_run) == {"orphaned_runs": [], "engines_ended": 0}
    append_event(warm.tables, RUN_ID, PUBLISHED, {})
    assert start_engines.run(warm, next_run) == {"orphaned_runs": [RUN_ID], "engines_ended": 1}


def test_the_engines_of_a_run_that_died_are_ended_by_maintenance(
    warm: Settings, pinned: Pin, steering: Steering
) -> None:
    pinned("steered")
    write_round(warm, 0)
    score(warm)
    maintenance = {"run_id": "table_maintenance-0123456789ab"}
    assert run_job("end_orphan_engines", maintenance, warm)["engines_ended"] == 0, "somebody may go on with it"
    fail_run(warm.tables, RUN_ID, "round_0.score_round", "its machine is gone")
    assert run_job("end_orphan_engines", maintenance, warm, attempt=2)["orphaned_runs"] == [RUN_ID]


def test_an_idle_engine_gives_its_place_to_one_that_waits(local_ray: str, tmp_path: Path) -> None:
    from mis_scoring.ray_data.named_engines import end_engines, engines_by_owner, named_engines

    artifact = write_artifact(tmp_path / "artifact")
    spec = ScoreSpec.of(artifact, tmp_path / "artifact", engine="tests.ray.fake_engines:plain")
    one_fits = Placement(cpus_per_actor=1.5, idle_after_s=0.2)
    for owner in ("first", "second"):
        with named_engines(owner, spec, one_fits) as where:
            assert len(where.engines) == 1
    assert "first" not in engines_by_owner()
    assert end_engines("second") == list(where.engines)


def _kill_when_half_done(settings: Settings, folder: Path) -> None:
    """Score in a process of its own, and kill that once two batches are kept."""
    code = CHILD.format(home=str(settings.home), address=settings.ray_address, run_id=RUN_ID, rows=ROWS_A_BATCH)
    child = subprocess.Popen([sys.executable, "-c", code], cwd=CHECKOUT)
    try:
        deadline = time.monotonic() + DEADLINE_S
        while n_rows_staged(folder) < 2 * ROWS_A_BATCH:
            assert child.poll() is None, "the round ended before it could be killed"
            assert time.monotonic() < deadline, "no batch was kept in time"
            time.sleep(0.2)
    finally:
        child.kill()
        child.wait()
