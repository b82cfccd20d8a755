"""When the engines that a run left on a shared Ray are nobody's any more."""

from datetime import UTC, datetime, timedelta

import pytest

from jobs.end_orphan_engines import Params as OrphanParams
from jobs.end_orphan_engines import reason_to_end
from jobs.end_orphan_engines import run as end_orphan_engines
from jobs.run_ledger import RunLedger
from jobs.settings import Settings
from jobs.start_engines import Params as StartParams
from jobs.start_engines import run as start_engines
from jobs.stop_engines import Params as StopParams
from jobs.stop_engines import run as stop_engines

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)


def hours_ago(**events: float) -> RunLedger:
    times = {event: NOW - timedelta(hours=hours) for event, hours in events.items()}
    return RunLedger(run_id="r", payloads={}, times=times)


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (hours_ago(pinned=3, round_0_score_round=1), None),
        (hours_ago(pinned=60, round_0_score_round=49), "nothing has happened in it since 2026-03-02 11:00 UTC"),
        (hours_ago(pinned=3, published=1, report_run=0.5), "it is published"),
        (hours_ago(pinned=3, failed=1), "it failed, and nobody has gone on with it"),
        (hours_ago(pinned=3, failed=2, stop_engines=1), "it failed, and nobody has gone on with it"),
        (hours_ago(pinned=3, failed=2, round_1_build_round=1), None),
        (hours_ago(pinned=3, held=1), None),
        (hours_ago(pinned=3, piloted=1, planned=1), "it ended with its plan"),
        (hours_ago(pinned=3, plan_refresh=2, rejected=1), "it ended with its plan"),
    ],
)
def test_engines_are_ended_once_their_run_is_over(run: RunLedger, reason: str | None) -> None:
    assert reason_to_end(run, now=NOW, idle=timedelta(hours=48)) == reason


def test_without_a_shared_ray_there_is_nothing_to_set_up_or_to_stop() -> None:
    settings = Settings(_env_file=None)
    nothing = {"orphaned_runs": [], "engines_ended": 0}
    assert start_engines(settings, StartParams(run_id="r")) == nothing
    assert end_orphan_engines(settings, OrphanParams(run_id="table_maintenance-1")) == nothing
    assert stop_engines(settings, StopParams(run_id="r")) == {"engines_ended": 0}
