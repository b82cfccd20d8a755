"""A driver that is killed while it scores, and the run after it."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from jobs.score_round import Params, run
from jobs.settings import CHECKOUT, Settings
from mis_scoring.ray_data.staging import STAGED_SCORES
from mis_scoring.ray_data.summary import n_rows_staged, read_staged
from tests.ray.fake_engines import STOP_AFTER
from tests.ray.round_tables import ITEM_TEXTS, RUN_ID, member_row, write_rows

N_MEMBERS = 24
DEADLINE_S = 240
CHILD = """
from pathlib import Path
import ray
from jobs import score_round
from jobs.settings import Settings
from mis_scoring.ray_data.spec import Placement
Placement.for_cluster = classmethod(lambda cls, n_cpus: cls(rows_per_block=4))
ray.init({address!r}, log_to_driver=False, runtime_env={{"env_vars": {{{stop_after!r}: "10"}}}})
score_round.run(Settings(home=Path({home!r}), _env_file=None), score_round.Params(run_id={run_id!r}, round=0))
"""


@pytest.mark.slow
def test_a_killed_round_goes_on_where_it_was_and_no_row_comes_twice(
    settings: Settings, pinned: Callable[..., Path], local_ray: str
) -> None:
    folder = pinned("gated")
    write_rows(settings, [member_row(f"m{n}", f"profile {n}", ITEM_TEXTS) for n in range(N_MEMBERS)])
    _kill_when_half_done(settings, folder, local_ray)
    kept = {row["member_id"]: row for row in read_staged(folder, STAGED_SCORES.names).to_pylist()}
    assert 0 < n_rows_staged(folder) < N_MEMBERS

    result = run(settings, Params(run_id=RUN_ID, round=0))

    rows = read_staged(folder, STAGED_SCORES.names).to_pylist()
    assert sorted(row["member_id"] for row in rows) == sorted(f"m{n}" for n in range(N_MEMBERS))
    epochs = {row["member_id"]: row["canary_epoch"] for row in rows}
    assert sum(epochs[member] == row["canary_epoch"] for member, row in kept.items()) >= 8
    assert (result["rows"], result["scored"]) == (N_MEMBERS, N_MEMBERS * len(ITEM_TEXTS))
    assert result["engines_started"] == 2


def _kill_when_half_done(settings: Settings, folder: Path, address: str) -> None:
    """Start the round with an engine that hangs after 10 of its members, and kill it once two blocks are kept."""
    code = CHILD.format(home=str(settings.home), run_id=RUN_ID, address=address, stop_after=STOP_AFTER)
    child = subprocess.Popen([sys.executable, "-c", code], cwd=CHECKOUT)
    try:
        deadline = time.monotonic() + DEADLINE_S
        while n_rows_staged(folder) < 8:
            assert child.poll() is None, "the round ended before it could be killed"
            assert time.monotonic() < deadline, "no block was kept in time"
            time.sleep(0.2)
    finally:
        child.kill()
        child.wait()
