"""Revocations and holds without Spark: what is counted and priced beforehand, what is kept, what runs and ages say."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs import repair_price
from jobs.audit.label import audit_label
from jobs.errors import CheckFailedError, MissingRequirementError, SchemaError
from jobs.freshness import check_freshness
from jobs.input_hold import place_hold, release_hold, show_holds, standing_holds
from jobs.ledger import append_event
from jobs.list_runs import list_runs, show_run
from jobs.pins import Pins
from jobs.revocations import is_usable, read_revocations
from jobs.revoke import Request, revoke
from jobs.rules.hold import Hold
from jobs.rules.revocation import Judged, Revocation, may_concern, stands_on_revoked, withdrawn_at
from jobs.settings import Settings
from jobs.table_admin import create_missing, require
from jobs.table_reader import query
from mis_scoring.core.errors import DataError
from mis_scoring.core.identity import text_hash
from schemas.coverage import COVERAGE
from schemas.judgments import JUDGMENTS
from tests.published_run import append_events, make_tables, pins, put, write_run
from tests.world import settings_under

NOW = datetime.now(UTC)
BROKEN, SOUND = '{"engine":"broken"}', '{"engine":"sound"}'


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A published run: ann's query has 8 judgments of a broken engine, the last of which a sound one made, too."""
    settings = settings_under(tmp_path, engines_usd_per_hour=36.0)
    make_tables(settings.tables)
    write_run(settings.tables, "run-1", at=NOW - timedelta(hours=3))
    put(settings.tables, JUDGMENTS, [*(judgment(rank) for rank in range(8)), judgment(7, engine=SOUND, generation=1)])
    monkeypatch.setattr(repair_price, "_tokens_at_most", lambda root, facts, scorer_id: (100.0, 10.0))
    monkeypatch.setattr(repair_price, "measured_tokens_per_s", lambda root, scorer_id, engine: 27.0)
    return settings


def judgment(rank: int, **changes: Any) -> dict[str, Any]:
    row = {"scorer_id": "scorer", "query_hash": "query", "item_hash": f"item {rank}", "generation": 0, "margin": 1.0}
    row |= {"score": 0.9, "is_reference": False, "engine": BROKEN, "run_id": "run-1"}
    return row | {"judged_at": NOW - timedelta(hours=2)} | changes


def request(**criteria: Any) -> Request:
    return Request(reason="broken", who="me", **criteria)


@pytest.mark.parametrize(
    "criteria",
    [
        {"fingerprint": BROKEN},
        {"fingerprint": text_hash(BROKEN)[:8]},
        {"fingerprint": BROKEN, "run_id": "run-1", "since": NOW - timedelta(hours=2), "until": NOW},
    ],
    ids=["fingerprint", "digest", "all"],
)
def test_a_revocation_says_beforehand_what_it_concerns_and_what_the_repair_may_cost(
    settings: Settings, criteria: dict[str, Any]
) -> None:
    found = revoke(settings, request(**criteria), is_dry=True)
    assert found == {
        "revocation_id": None,
        "judgments": 8,
        "members": 1,
        "labels": 3,
        "pairs_at_most": 7,  # the eighth has another judgment
        "tokens_at_most": 270,  # two rounds
        "seconds_at_most": 10.0,
        "cost_usd_at_most": 0.1,
    }
    assert read_revocations(settings.tables) == [], "a dry one leaves nothing"


def test_revoked_judgments_are_no_longer_usable_and_count_once(settings: Settings) -> None:
    revoked = revoke(settings, request(fingerprint=BROKEN))
    (one,) = read_revocations(settings.tables)
    assert (one.revocation_id, one.fingerprint, one.run_id) == (revoked["revocation_id"], BROKEN, None)
    put(settings.tables, JUDGMENTS, [judgment(0, judged_at=one.at + timedelta(microseconds=1))])
    sql = f"SELECT engine, item_hash FROM judgments WHERE {is_usable([one])} ORDER BY engine"
    assert query(settings.tables, sql, JUDGMENTS) == [
        {"engine": BROKEN, "item_hash": "item 0"},  # judged later
        {"engine": SOUND, "item_hash": "item 7"},
    ]
    assert revoke(settings, request(run_id="run-1"), is_dry=True)["judgments"] == 1 + 1
    assert read_revocations(settings.tables, as_of=one.at - timedelta(seconds=1)) == []


def test_an_audit_says_that_the_judgment_of_a_label_was_revoked(settings: Settings) -> None:
    assert audit_label(settings, "ann", "q0")["judgment"]["revocation"] is None
    revoked = revoke(settings, request(run_id="run-1"))
    found = audit_label(settings, "ann", "q0")
    assert found["judgment"]["revocation"]["revocation_id"] == revoked["revocation_id"]
    assert {"code": "revoked", "reason": f"{revoked['revocation_id']}: broken"} in found["stale_reasons"]


@pytest.mark.parametrize(
    ("criteria", "error", "message"),
    [
        ({}, DataError, "Name what to revoke: --fingerprint, --run or --since"),
        ({"since": NOW + timedelta(hours=1)}, DataError, "--since .* lies ahead"),
        ({"run_id": "run-1", "until": NOW + timedelta(hours=1)}, DataError, "--until .* lies ahead"),
        ({"run_id": "other"}, MissingRequirementError, "No run 'other'"),
        ({"fingerprint": "x"}, MissingRequirementError, f"These have judged:\n  {text_hash(BROKEN)[:12]}  8 judgments"),
        ({"run_id": "run-1", "fingerprint": SOUND, "until": NOW - timedelta(days=1)}, CheckFailedError, "nothing was"),
    ],
    ids=["nothing", "since", "until", "run", "fingerprint", "no judgment"],
)
def test_a_revocation_that_names_nothing_says_what_there_is(
    settings: Settings, criteria: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        revoke(settings, request(**criteria))


def rollback_of(settings: Settings, undone: Pins) -> Pins:
    """A published rollback in the ledger."""
    pinned = replace(undone, run_id="rollback-1", kind="rollback", rolls_back=undone.run_id, pinned_at=NOW.isoformat())
    events = {"pinned": vars(pinned), "published": {"labels_version": 2, "changes": {}}}
    append_events(settings.tables, "rollback-1", events, at=NOW - timedelta(minutes=5))
    return pinned


@pytest.mark.parametrize(
    ("input", "value"), [("members", "rollback-1"), ("artifact", "artifact"), ("catalog", "catalog")]
)
def test_a_hold_stands_and_is_shown_until_it_is_released(settings: Settings, input: Any, value: str) -> None:
    root, undone = settings.tables, pins(settings.tables, "run-1")
    pinned = rollback_of(settings, undone)
    write_run(root, "run-2", at=NOW - timedelta(minutes=1))
    for _ in range(2):  # a second time changes nothing
        hold_id = place_hold(root, pinned, input, undone=undone, reason="broken", who="me")
    assert standing_holds(root) == [Hold(hold_id=hold_id, input=input, value=value)]
    assert [(run["run_id"], run["hold"]) for run in list_runs(settings, limit=1)] == [
        ("run-2", None),
        ("rollback-1", hold_id),
    ]
    assert show_run(settings, "rollback-1")["hold"]["who"] == "me"

    assert release_hold(settings, hold_id, reason="mended", who="you")["released_by"] == "you"
    assert show_holds(root) == [] and len(list_runs(settings, limit=1)) == 1
    with pytest.raises(CheckFailedError, match=f"Hold {hold_id} was released at .* by you"):
        release_hold(settings, hold_id, reason="", who="you")


def test_an_unknown_hold_names_those_that_stand(settings: Settings) -> None:
    with pytest.raises(MissingRequirementError, match=r"No hold 'hold-x' .* these stand: none"):
        release_hold(settings, "hold-x", reason="", who="me")
    undone = pins(settings.tables, "run-1")
    hold_id = place_hold(settings.tables, rollback_of(settings, undone), "members", undone=undone, reason="", who="me")
    with pytest.raises(MissingRequirementError, match=hold_id):
        release_hold(settings, "hold-x", reason="", who="me")


def test_labels_are_as_old_as_the_last_run_that_still_holds(settings: Settings) -> None:
    root = settings.tables
    write_run(root, "run-2", at=NOW - timedelta(hours=1))
    assert check_freshness(settings)["run_id"] == "run-2"
    rollback_of(settings, pins(root, "run-2"))
    assert check_freshness(settings)["run_id"] == "run-1", "neither the rollback nor what it took back"
    write_run(root, "run-3", at=NOW - timedelta(minutes=30))
    append_event(root, "run-3", "scope_members", {"is_on_hold": True}, attempt=2)
    assert check_freshness(settings)["run_id"] == "run-1", "a run that is on hold looked at nobody"


def test_a_table_of_an_older_version_gets_the_nullable_columns_that_it_lacks(tmp_path: Path) -> None:
    names = [name for name in COVERAGE.columns.names if name not in ("query_hash", "restored_run_id")]
    create_missing(tmp_path, replace(COVERAGE, columns=pa.schema([COVERAGE.columns.field(name) for name in names])))
    with pytest.raises(SchemaError, match="column query_hash"):
        require(tmp_path, COVERAGE)
    for _ in range(2):
        create_missing(tmp_path, COVERAGE)
    require(tmp_path, COVERAGE)


TIMES = st.integers(1, 6).map(lambda day: datetime(2026, 1, day, tzinfo=UTC))
ENGINES = st.sampled_from("ab")
JUDGED = st.builds(Judged, engine=ENGINES, run_id=ENGINES, judged_at=TIMES)
REVOCATION = st.builds(
    Revocation,
    revocation_id=st.just("r"),
    fingerprint=st.none() | ENGINES,
    run_id=st.none() | ENGINES,
    since=st.none() | TIMES,
    until=TIMES,
    at=TIMES,
)


@given(st.lists(JUDGED, max_size=4), st.lists(REVOCATION, max_size=4), st.lists(TIMES, min_size=1, max_size=4))
def test_revocations_from_before_everybodys_pins_concern_nobody(
    judged: list[Judged], revocations: list[Revocation], pinned: list[datetime]
) -> None:
    later = may_concern(min(pinned), revocations)
    for at in pinned:
        every, few = ([withdrawn_at(one, known) for one in judged] for known in (revocations, later))
        assert stands_on_revoked(at, every) == stands_on_revoked(at, few)
    assert not may_concern(max(one.at for one in revocations), revocations) if revocations else later == []
