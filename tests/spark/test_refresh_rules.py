"""The rules of `jobs.rules`, as functions and as columns, say the same of the same drawn rows."""

from dataclasses import asdict, fields, replace
from datetime import datetime
from typing import Any, TypeVar

from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import LongType

from jobs.coverage import standing, to_published
from jobs.label_diff import to_changes
from jobs.pins import Pins
from jobs.revoked_members import SCHEMA
from jobs.rules import labels as label_rules
from jobs.rules import scope as scope_rules
from jobs.rules import standing as standing_rules
from jobs.rules.hold import Hold
from jobs.rules.labels import Entry, Label
from jobs.rules.standing import Covered, MemberPins
from jobs.scope import to_scope
from schemas.coverage import COVERAGE
from schemas.labels import LABELS

T = TypeVar("T")
RETIRED_SINCE = {1}  # versions of the catalog
PINS = {
    "run_id": st.sampled_from(["r1", "r2", "r3"]),
    "profile_hash": st.sampled_from(["p1", "p2", None]),
    "profile_version": st.sampled_from([1, 2, None]),
    "profiles_delta_version": st.integers(1, 2),
    "catalog_version": st.sampled_from(["c1", "c2"]),
    "catalog_delta_version": st.integers(1, 2),
    "artifact_id": st.sampled_from(["a1", "a1", "a2"]),
    "scorer_id": st.sampled_from(["s1", "s1", "s2"]),
    "retriever_id": st.sampled_from(["t1", "t1", "t2"]),
    "candidates_per_member": st.sampled_from([5, 5, 9]),
    "pinned_at": st.sampled_from([datetime(2026, 1, 1), datetime(2026, 1, 2)]),
}
MEMBER_PINS = st.builds(MemberPins, **PINS)
COVERED = st.builds(
    Covered,
    **PINS,
    candidates=st.just(5),
    judged=st.integers(0, 9),
    is_complete=st.sampled_from([True, True, False]),
    incomplete_reason=st.sampled_from(["quarantined", "superseded"]),
    publication=st.integers(1, 2),
    restored_run_id=st.sampled_from([*[None] * 5, "r0"]),
    retrieval_delta_version=st.sampled_from([1, 1, 1, 2, None]),
)
FIXED: dict[str, Any] = {
    "run_id": "now", "profile_hash": None, "profile_version": None, "profiles_delta_version": 2,
    "catalog_version": "c1", "catalog_delta_version": 2, "artifact_id": "a1", "scorer_id": "s1", "retriever_id": "t1",
    "candidates_per_member": 5, "pinned_at": datetime(2026, 1, 3),
}  # fmt: skip
LABEL = st.builds(
    Label,
    score=st.sampled_from([0.5, 0.9]),
    threshold=st.just(0.5),
    artifact_id=st.sampled_from(["a1", "a2"]),
    query_hash=st.just("p1"),
    item_hash=st.sampled_from(["i1", "i2"]),
)
ENTRY = st.builds(
    Entry,
    status=st.sampled_from(["active", "retired", None]),
    item_hash=st.sampled_from(["i1", "i2", None]),
    is_quarantined=st.booleans(),
)


def coverage_frame(spark: SparkSession, rows: list[tuple[str, MemberPins]]) -> DataFrame:
    """Rows of `coverage` with `publication`; what the rules do not look at is filled in."""
    schema = from_arrow_schema(COVERAGE.columns).add("publication", LongType())
    filled = {"rounds": 1, "accepted": 0, "depth": 0, "candidates": 5, "judged": 0, "publication": 0}
    default = dict.fromkeys(schema.fieldNames()) | filled | {"is_complete": True}
    content = [default | asdict(row) | {"member_id": member} for member, row in rows]
    return spark.createDataFrame([tuple(row[name] for name in schema.fieldNames()) for row in content], schema)


def drawn(strategy: st.SearchStrategy[T], n: int) -> list[T]:
    """Rows that hypothesis makes, to be compared in one query."""
    rows: list[T] = []

    @settings(max_examples=n, deadline=None, database=None, derandomize=True, phases=[Phase.generate])
    @given(strategy)
    def collect(row: T) -> None:
        rows.append(row)

    collect()
    return rows


RUNS: tuple[tuple[str, int, tuple[Hold, ...]], ...] = (
    ("daily_incremental", 0, ()),
    ("catalog_backfill", 0, ()),
    ("weekly_full", 0, ()),
    ("weekly_full", 1, (Hold(hold_id="h", input="members", value="r1"),)),
    ("daily_incremental", 0, (Hold(hold_id="h", input="catalog", value="c1"),)),
    ("weekly_full", 0, (Hold(hold_id="h", input="artifact", value="another"),)),
)


def test_a_member_is_in_scope_alike(spark: SparkSession) -> None:
    """Each drawn member has up to three rows of coverage, and a profile or none."""
    now = MemberPins(**FIXED)
    covered = st.lists(COVERED, max_size=3, unique_by=lambda row: row.run_id)
    profile = st.none() | st.tuples(PINS["profile_hash"], PINS["profile_version"])
    drawn_members = drawn(st.tuples(covered, profile, st.sampled_from([*[False] * 5, True])), 400)
    members = {f"m{number}": pair for number, pair in enumerate(drawn_members)}
    rows = [(member, row) for member, (covered, _, _) in members.items() for row in covered]
    profiles = [(member, found[1], found[0]) for member, (_, found, _) in members.items() if found]
    frame = spark.createDataFrame(profiles, "member_id string, profile_version bigint, profile_hash string")
    revoked = [(member,) for member, (covered, _, is_revoked) in members.items() if covered and is_revoked]
    published = to_published(coverage_frame(spark, rows))

    reasons, kept = set[str](), 0
    for kind, generation, holds in RUNS:
        expected = {}
        for member, (covered, found, is_drawn) in members.items():
            is_revoked = is_drawn and bool(covered)
            mine = None if found is None else replace(now, profile_hash=found[0], profile_version=found[1])
            before = standing_rules.published(covered)
            why = scope_rules.scope_reasons(kind, mine, before, is_revoked=is_revoked, holds=holds)
            if why:
                keeps = scope_rules.keeps_candidates(kind, why, before.stands, RETIRED_SINCE)
                expected[member] = (why[0], why, keeps)
        scope = to_scope(
            frame,
            published,
            replace(pins_like(now, kind), generation=generation),
            revoked=spark.createDataFrame(revoked, SCHEMA),
            holds=holds,
            retired_since=RETIRED_SINCE,
            runs_with_candidates=["r1", "r2", "r3"],
        )
        rows = scope.collect()
        assert {row.member_id: (row.reason, tuple(row.reasons), row.keeps_candidates) for row in rows} == expected
        reasons |= {reason for _, why, _ in expected.values() for reason in why}
        kept += sum(keeps for _, _, keeps in expected.values())
    assert reasons == scope_rules.LOOKS_AFTER["weekly_full"] and kept, "every reason was drawn"


def pins_like(now: MemberPins, kind: str) -> Pins:
    """The pins of a run that sees what `now` sees."""
    known: dict[str, Any] = dict.fromkeys((field.name for field in fields(Pins)), "") | asdict(now) | {"kind": kind}
    return Pins(**{field.name: known[field.name] for field in fields(Pins)})


def test_a_runs_pins_stand_alike(spark: SparkSession) -> None:
    pairs = drawn(st.tuples(MEMBER_PINS, st.none() | MEMBER_PINS), 300)
    mine = coverage_frame(spark, [(f"m{number}", pair[0]) for number, pair in enumerate(pairs)])
    others = [(f"m{number}", pair[1]) for number, pair in enumerate(pairs) if pair[1] is not None]
    joined = mine.alias("mine").join(coverage_frame(spark, others).alias("theirs"), "member_id", "left")
    found = {row[0]: row[1] for row in joined.select("member_id", standing("mine", "theirs")).collect()}
    expected = {f"m{n}": standing_rules.standing(ours, theirs) for n, (ours, theirs) in enumerate(pairs)}
    assert found == expected
    assert set(expected.values()) == {None, "superseded", "conflicting"}


def test_a_label_changes_alike(spark: SparkSession) -> None:
    """Each drawn pair is a member and an entry of its own."""
    sides = (
        st.none() | LABEL,
        st.none() | LABEL,
        st.none() | ENTRY,
        MEMBER_PINS,
        st.none() | MEMBER_PINS,
        st.booleans(),
        st.sampled_from([None, "revoked", "recomputed"]),
    )
    pairs = drawn(st.tuples(*sides), 300)
    named = [(f"m{number}", f"q{number}", *pair) for number, pair in enumerate(pairs)]
    schema = from_arrow_schema(LABELS.columns)

    def labels(place: int) -> DataFrame:
        rows = [label_row(row[0], row[1], row[place]) for row in named if row[place] is not None]
        return spark.createDataFrame([tuple(row[name] for name in schema.fieldNames()) for row in rows], schema)

    stop = F.when(F.col("is_removed"), "member_removed")
    flags = spark.createDataFrame(
        [(row[0], *row[7:]) for row in named], "member_id string, is_removed boolean, cause string"
    )
    members = coverage_frame(spark, [(row[0], row[5]) for row in named]).drop("stop_reason").join(flags, "member_id")
    entries = spark.createDataFrame(
        [(row[1], row[4].status, row[4].item_hash, row[4].is_quarantined or None) for row in named if row[4]],
        "qualification_id string, status string, item_hash string, is_quarantined boolean",
    )
    earlier = coverage_frame(spark, [(row[0], row[6]) for row in named if row[6] is not None])
    changes = to_changes(labels(3), labels(2), members.withColumn("stop_reason", stop), entries, earlier)
    found = {
        row.member_id: (row.change, row.reason) for row in changes.select("member_id", "change", "reason").collect()
    }

    expected = {}
    for member, _, before, after, entry, now, then, is_removed, cause in named:
        change = label_rules.label_change(before, after, entry, is_member_removed=is_removed)
        if change is not None:
            why = label_rules.change_reason(before, after, entry, now, then, is_member_removed=is_removed, cause=cause)
            expected[member] = (change, why)
    assert found == expected


def label_row(member_id: str, qualification_id: str, label: Label) -> dict[str, Any]:
    """A row of `labels`; lineage is filled in."""
    lineage = {
        "scorer_id": "s", "profile_version": 1, "catalog_version": "c", "rank": 0, "round": 0, "judged_run_id": "r",
        "published_run_id": "r", "since_run_id": "r", "member_id": member_id, "qualification_id": qualification_id,
    }  # fmt: skip
    return lineage | asdict(label)
