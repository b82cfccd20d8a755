"""The rules that undo, as functions, as columns and as SQL, say the same of the same drawn rows."""

from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from pyspark.sql import SparkSession

from jobs.judgments import withdrawn_at
from jobs.restored_labels import to_fates
from jobs.revocations import is_usable, read_revocations
from jobs.revoked_members import to_revoked
from jobs.rules import revocation as revocation_rules
from jobs.rules.revocation import Judged, Revocation
from jobs.rules.rollback import member_fate
from jobs.table_admin import create_missing
from jobs.table_reader import query
from schemas.judgments import JUDGMENTS
from schemas.revocations import REVOCATIONS
from tests.published_run import put
from tests.spark.test_refresh_rules import MEMBER_PINS, coverage_frame, drawn

DAYS = [datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2, 3)]
ENGINES = ('{"engine":"a"}', '{"engine":"it\'s \\\\ b"}')
JUDGED = st.builds(
    Judged, engine=st.sampled_from(ENGINES), run_id=st.sampled_from(["r1", "r2"]), judged_at=st.sampled_from(DAYS)
)
REVOCATION = st.builds(
    Revocation,
    revocation_id=st.uuids(version=4).map(str),
    fingerprint=st.none() | st.sampled_from(ENGINES),
    run_id=st.none() | st.sampled_from(["r1", "r2"]),
    since=st.none() | st.sampled_from(DAYS),
    until=st.sampled_from(DAYS),
    at=st.sampled_from(DAYS),
)


def test_a_judgment_is_withdrawn_alike(spark: SparkSession, tmp_path: Path) -> None:
    """By each of several sets of revocations, as they are read back from their table."""
    judged = {f"i{number}": row for number, row in enumerate(drawn(JUDGED, 60))}
    fixed = {"scorer_id": "s", "query_hash": "q", "generation": 0, "margin": 0.0, "score": 0.5, "is_reference": False}
    rows = [fixed | asdict(row) | {"item_hash": item} for item, row in judged.items()]
    create_missing(tmp_path / "j", JUDGMENTS)
    put(tmp_path / "j", JUDGMENTS, rows)
    frame = spark.createDataFrame(
        [(row["item_hash"], row["engine"], row["run_id"], row["judged_at"]) for row in rows],
        "item_hash string, engine string, run_id string, judged_at timestamp",
    )
    seen = set()
    for number, made in enumerate(drawn(st.lists(REVOCATION, max_size=3), 8)):
        root = tmp_path / str(number)
        create_missing(root, REVOCATIONS)
        put(root, REVOCATIONS, [asdict(one) | {"reason": "broken", "who": "me"} for one in made])
        revocations = read_revocations(root)
        expected = {item: revocation_rules.withdrawn_at(row, made) for item, row in judged.items()}
        found = frame.select("item_hash", withdrawn_at(revocations).alias("at")).collect()
        assert {row.item_hash: row["at"] and row["at"].replace(tzinfo=UTC) for row in found} == expected
        sql = f"SELECT item_hash FROM judgments WHERE {is_usable(revocations)}"
        usable = {row["item_hash"] for row in query(tmp_path / "j", sql, JUDGMENTS)}
        assert usable == {item for item, at in expected.items() if at is None}
        assert len(read_revocations(root, as_of=DAYS[0])) == sum(one.at == DAYS[0] for one in made)
        seen |= {at is None for at in expected.values()}
    assert seen == {True, False}


def test_a_member_stands_on_revoked_judgments_alike(spark: SparkSession) -> None:
    times = st.sampled_from(DAYS)
    members = {f"m{n}": pair for n, pair in enumerate(drawn(st.tuples(times, st.lists(times, max_size=3)), 60))}
    stands = [(member, (member, "s", f"q {member}", pinned_at)) for member, (pinned_at, _) in members.items()]
    published = spark.createDataFrame(
        [*stands, ("nobody", None)],
        "member_id string, "
        "stands struct<member_id: string, scorer_id: string, query_hash: string, pinned_at: timestamp>",
    )
    of_pairs = [("s", f"q {member}", at) for member, (_, withdrawn) in members.items() for at in withdrawn]
    others = [("other", f"q {member}", DAYS[-1]) for member in members]
    withdrawn = spark.createDataFrame(of_pairs + others, "scorer_id string, query_hash string, withdrawn_at timestamp")
    found = [row.member_id for row in to_revoked(published, withdrawn).collect()]
    assert sorted(found) == sorted(
        member for member, (pinned_at, at) in members.items() if revocation_rules.stands_on_revoked(pinned_at, at)
    )


def test_a_members_fate_is_decided_alike(spark: SparkSession) -> None:
    flags = st.tuples(st.booleans(), st.sampled_from([True, True, False]))
    same = MEMBER_PINS.flatmap(lambda pins: st.just((pins, replace(pins, run_id="later"))))
    pairs = {
        f"m{n}": row for n, row in enumerate(drawn(st.tuples(same | st.tuples(MEMBER_PINS, MEMBER_PINS), flags), 150))
    }

    def side(place: int, name: str) -> Any:
        rows = coverage_frame(spark, [(member, row[0][place]) for member, row in pairs.items()])
        return rows.selectExpr("member_id", f"struct(*) AS {name}")

    def marked(place: int) -> Any:
        return spark.createDataFrame([(m,) for m, (_, flags) in pairs.items() if flags[place]], "member_id string")

    for is_forced in (False, True):
        fates = to_fates(side(0, "ran").join(side(1, "stands"), "member_id"), marked(0), marked(1), is_forced=is_forced)
        expected = {
            member: member_fate(ran, stands, is_changed_since=changed, is_present=present, is_forced=is_forced)
            for member, ((ran, stands), (changed, present)) in pairs.items()
        }
        assert {row.member_id: row.fate for row in fates.select("member_id", "fate").collect()} == expected
        assert set(expected.values()) == ({"restored", "gone"} if is_forced else {"restored", "republished", "gone"})
