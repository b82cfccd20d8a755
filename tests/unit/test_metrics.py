"""What Prometheus gets: figures of the ledger and the tables as they are at the scrape."""

import urllib.request
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from prometheus_client import generate_latest, start_http_server
from prometheus_client.parser import text_string_to_metric_families

from jobs.cli import app
from jobs.metrics import names
from jobs.metrics.exporter import TablesCollector, registry_of
from jobs.metrics.ledger_figures import labels_age_s, ledger_samples
from jobs.metrics.names import METRICS, Metric
from jobs.run_failure import write_canary_failure
from jobs.run_ledger import RunLedger, read_runs
from jobs.settings import Settings
from mis_scoring.engines.canary import CanaryError
from schemas.profiles import PROFILES
from tests.published_run import append_events, make_tables, put, write_run
from tests.world import settings_under

NOW = datetime(2026, 11, 20, tzinfo=UTC)
HOUR = timedelta(hours=1)


def run_of(*events: str, kind: str = "weekly_full", first: datetime = NOW - 10 * HOUR) -> RunLedger:
    """A run whose events are an hour apart, pinned first."""
    known = ("pinned", *events)
    times = {event: first + number * HOUR for number, event in enumerate(known)}
    return RunLedger(run_id="r", payloads={"pinned": {"kind": kind}}, times=times)


@pytest.mark.parametrize(
    ("events", "state"),
    [
        (["plan_refresh"], "open"),
        (["plan_refresh", "planned"], "planned"),
        (["plan_refresh", "rejected"], "rejected"),
        (["plan_refresh", "rejected", "start_engines"], "open"),
        (["held"], "held"),
        (["held", "approved"], "open"),
        (["held", "approved", "held"], "held"),
        (["held", "approved", "published"], "published"),
        (["failed"], "failed"),
        (["failed", "plan_refresh"], "open"),
        (["canary_failed"], "open"),
        (["failed", "canary_failed"], "failed"),
        (["failed", "published"], "published"),
    ],
)
def test_the_state_of_a_run_follows_from_its_events(events: list[str], state: str) -> None:
    assert run_of(*events).state == state


def value(samples: list[names.Sample], metric: Metric, *labels: str) -> float | None:
    return next((sample.value for sample in samples if sample.metric is metric and sample.labels == labels), None)


def test_labels_are_as_old_as_what_the_newest_published_run_read() -> None:
    runs = [run_of("published", first=NOW - 30 * HOUR), run_of("published"), run_of(first=NOW - HOUR)]
    samples = ledger_samples([*runs, run_of("held", kind="daily_incremental", first=NOW - 5 * HOUR)], NOW)
    assert value(samples, names.LABELS_AGE, "weekly_full") == 10 * 3600
    assert value(samples, names.LABELS_AGE, "daily_incremental") is None, "nothing of that kind was published"
    assert value(samples, names.OLDEST_RUN_AGE, "daily_incremental", "held") == 5 * 3600
    assert value(samples, names.RUNS_BY_STATE, "weekly_full", "published") == 2
    assert value(samples, names.RUNS_BY_STATE, "weekly_full", "failed") == 0, "an empty state is 0, not absent"


def test_failures_of_a_canary_are_counted_by_kind_from_the_first_run_on(tmp_path: Path) -> None:
    make_tables(tmp_path)
    write_run(tmp_path, "weekly_full-1", at=NOW)
    write_run(tmp_path, "daily_incremental-1", at=NOW, kind="daily_incremental")
    for fault in ("permuted: a margin moved by 0.5", "duplicated: a margin moved by 0.2"):
        write_canary_failure(tmp_path, "weekly_full-1", 0, CanaryError("leaky", [fault]))
    samples = ledger_samples(read_runs(tmp_path), NOW)
    assert value(samples, names.CANARY_FAILURES, "weekly_full") == 2, "each failure has an event of its own"
    assert value(samples, names.CANARY_FAILURES, "daily_incremental") == 0, "a series that begins at 1 never increases"


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    made = settings_under(tmp_path_factory.mktemp("metrics"), freshness_limit_hours=30)
    make_tables(made.tables)
    at = datetime.now(UTC) - timedelta(hours=20)
    write_run(made.tables, "weekly_full-1", at=at)
    rates = {"positive_rate": {"skill": {"judged": 6, "accepted": 3}}, "quarantined": 1, "seconds": 1.0}
    append_events(made.tables, "weekly_full-1", {"report_run": rates}, at=at + HOUR)
    append_events(made.tables, "table_maintenance-1", {"maintain_tables": {}}, at=at)
    return made


def scraped(settings: Settings) -> dict[tuple[str, ...], float]:
    text = generate_latest(registry_of(settings)).decode()
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_a_batch_of_profile_updates_says_nothing_of_how_old_the_labels_of_all_others_are(tmp_path: Path) -> None:
    make_tables(tmp_path)
    write_run(tmp_path, "weekly_full-1", at=NOW - timedelta(hours=20))
    write_run(tmp_path, "profile_updates-1", at=NOW - timedelta(hours=1), kind="profile_updates")
    found = labels_age_s(read_runs(tmp_path), NOW)
    assert found is not None and found[1] == "weekly_full-1"


def test_a_scrape_gives_the_figures_of_the_tables(settings: Settings) -> None:
    found = scraped(settings)
    assert found["semlabel_members",] == 3
    assert found["semlabel_members_stale", "quarantined"] == 1 and found["semlabel_members_stale", "not_covered"] == 0
    assert (found["semlabel_labels", "skill"], found["semlabel_labels", "licence"]) == (1, 2)
    assert found["semlabel_pairs_scored_total", "weekly_full"] == 9
    assert found["semlabel_tokens_total", "weekly_full"] == 180
    assert found["semlabel_run_waited_seconds", "weekly_full"] == 25
    assert found["semlabel_positive_rate", "skill", "weekly_full"] == 0.5
    assert found["semlabel_job_seconds_total", "score_round", "weekly_full"] == 8
    assert 20 * 3600 < found["semlabel_labels_age_seconds", "weekly_full"] < 21 * 3600


def test_every_metric_that_is_named_is_given(settings: Settings) -> None:
    assert {name for name, *_ in scraped(settings)} == set(METRICS)


def test_a_changed_profile_makes_its_member_stale(settings: Settings, tmp_path: Path) -> None:
    own = settings_under(tmp_path)
    make_tables(own.tables)
    write_run(own.tables, "weekly_full-1", at=NOW)
    collector = TablesCollector(own.tables)
    stale = lambda: {s.labels[0]: s.value for s in collector.samples(NOW) if s.metric is names.STALE_MEMBERS}  # noqa: E731
    assert stale()["not_covered"] == 0
    put(own.tables, PROFILES, [{"member_id": "dan", "profile_text": "new"}])
    assert stale()["not_covered"] == 1, "a table with a new version is read again"


def test_before_the_first_run_a_scrape_gives_what_there_is(tmp_path: Path) -> None:
    limit = {("semlabel_freshness_limit_seconds",): 12 * 3600}
    assert scraped(settings_under(tmp_path, freshness_limit_hours=12)) == limit


def test_metrics_are_served_on_loopback(settings: Settings) -> None:
    server, thread = start_http_server(0, addr="127.0.0.1", registry=registry_of(settings))
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/metrics", timeout=30) as answer:
            assert b"semlabel_labels_age_seconds" in answer.read()
    finally:
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(("limit_hours", "exit_code"), [(30, 0), (10, 1)])
def test_freshness_fails_when_the_labels_are_older_than_the_setting(
    settings: Settings, limit_hours: int, exit_code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from typer.testing import CliRunner

    monkeypatch.setenv("SEMLABEL_HOME", str(settings.home))
    monkeypatch.setenv("SEMLABEL_FRESHNESS_LIMIT_HOURS", str(limit_hours))
    done = CliRunner().invoke(app, ["freshness", "--json"])
    assert done.exit_code == exit_code and '"run_id": "weekly_full-1"' in done.stdout
