"""The rules of `jobs.rules`, as functions and as columns, say the same of the same drawn rows."""

from collections import defaultdict
from dataclasses import asdict, fields
from datetime import datetime
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from jobs.coverage import standing, to_published
from jobs.label_diff import to_changes
from jobs.pins import Pins
from jobs.rules import labels as label_rules
from jobs.rules import scope as scope_rules
from jobs.rules import standing as standing_rules
from jobs.rules.labels import Entry, Label
from jobs.rules.standing import Covered, MemberPins
from jobs.scope import to_scope
from schemas.coverage import COVERAGE
from schemas.labels import LABELS

few_draws = settings(
    max_examples=2, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck), database=None
)
MEMBERS = tuple(f"m{number}" for number in range(25))
N_ENTRIES = 7
PINS = {
    "run_id": st.sampled_from(["r1", "r2"]),
    "profile_hash": st.sampled_from(["p1", "p2", None]),
    "profile_version": st.sampled_from([1, 2, None]),
    "profiles_delta_version": st.integers(1, 2),
    "catalog_version": st.sampled_from(["c1", "c2"]),
    "catalog_delta_version": st.integers(1, 2),
    "artifact_id": st.sampled_from(["a1", "a2"]),
    "scorer_id": st.sampled_from(["s1", "s1", "s2"]),
    "retriever_id": st.sampled_from(["t1", "t1", "t2"]),
    "candidates_per_member": st.sampled_from([5, 5, 9]),
    "pinned_at": st.sampled_from([datetime(2026, 1, 1), datetime(2026, 1, 2)]),
}
MEMBER_PINS = st.builds(MemberPins, **PINS)
COVERED = st.tuples(
    st.sampled_from(MEMBERS),
    st.builds(
        Covered,
        **PINS,
        candidates=st.just(5),
        judged=st.integers(0, 9),
        is_complete=st.booleans(),
        incomplete_reason=st.sampled_from(["quarantined", "superseded"]),
        publication=st.integers(1, 2),
    ),
)
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
    schema = from_arrow_schema(COVERAGE.columns).add("publication", "bigint")
    filled = {"rounds": 1, "accepted": 0, "depth": 0, "candidates": 5, "judged": 0, "publication": 0}
    default = dict.fromkeys(schema.fieldNames()) | filled | {"is_complete": True}
    content = [default | asdict(row) | {"member_id": member} for member, row in rows]
    return spark.createDataFrame([tuple(row[name] for name in schema.fieldNames()) for row in content], schema)


@few_draws
@given(
    rows=st.lists(COVERED, min_size=60, max_size=60, unique_by=lambda row: (row[0], tuple(asdict(row[1]).values()))),
    profiles=st.fixed_dictionaries(
        dict.fromkeys(MEMBERS, st.tuples(st.booleans(), PINS["profile_hash"], PINS["profile_version"]))
    ),
    now=st.builds(MemberPins, **PINS),
)
def test_a_member_is_in_scope_alike(
    spark: SparkSession, rows: list[tuple[str, Covered]], profiles: dict[str, Any], now: MemberPins
) -> None:
    present = {member: (hash_, version) for member, (is_there, hash_, version) in profiles.items() if is_there}
    content = [(member, version, hash_) for member, (hash_, version) in present.items()]
    frame = spark.createDataFrame(content, "member_id string, profile_version bigint, profile_hash string")
    published = to_published(coverage_frame(spark, rows))
    of_member = defaultdict(list)
    for member, row in rows:
        of_member[member].append(row)

    for kind, looks_after in scope_rules.LOOKS_AFTER.items():
        found = {
            row.member_id: (row.reason, row.pairs_at_most)
            for row in to_scope(frame, published, pins_like(now, kind), n_entries=N_ENTRIES).collect()
        }
        expected = {}
        for member in MEMBERS:
            before = standing_rules.published(of_member[member])
            mine = None
            if member in present:
                hash_, version = present[member]
                mine = MemberPins(**asdict(now) | {"profile_hash": hash_, "profile_version": version})
            reason = scope_rules.scope_reason(kind, mine, before)
            if reason is not None:
                pairs = scope_rules.new_pairs_at_most(mine, before, n_entries=N_ENTRIES)
                expected[member] = (reason, pairs)
        assert found == expected
        assert {reason for reason, _ in found.values()} <= looks_after


def pins_like(now: MemberPins, kind: str) -> Pins:
    """The pins of a run that sees what `now` sees."""
    known: dict[str, Any] = dict.fromkeys((field.name for field in fields(Pins)), "") | asdict(now) | {"kind": kind}
    return Pins(**{field.name: known[field.name] for field in fields(Pins)})


@few_draws
@given(pairs=st.lists(st.tuples(MEMBER_PINS, st.none() | MEMBER_PINS), min_size=120, max_size=120))
def test_a_runs_pins_stand_alike(spark: SparkSession, pairs: list[tuple[MemberPins, MemberPins | None]]) -> None:
    mine = coverage_frame(spark, [(f"m{number}", pair[0]) for number, pair in enumerate(pairs)])
    others = [(f"m{number}", pair[1]) for number, pair in enumerate(pairs) if pair[1] is not None]
    joined = mine.alias("mine").join(coverage_frame(spark, others).alias("theirs"), "member_id", "left")
    found = {row[0]: row[1] for row in joined.select("member_id", standing("mine", "theirs")).collect()}
    expected = {f"m{n}": standing_rules.standing(ours, theirs) for n, (ours, theirs) in enumerate(pairs)}
    assert found == expected
    assert set(expected.values()) == {None, "superseded", "conflicting"}


@few_draws
@given(
    pairs=st.lists(
        st.tuples(
            st.none() | LABEL, st.none() | LABEL, st.none() | ENTRY, MEMBER_PINS, st.none() | MEMBER_PINS, st.booleans()
        ),
        min_size=80,
        max_size=80,
    )
)
def test_a_label_changes_alike(spark: SparkSession, pairs: list[Any]) -> None:
    """Each drawn pair is a member and an entry of its own."""
    named = [(f"m{number}", f"q{number}", *pair) for number, pair in enumerate(pairs)]
    schema = from_arrow_schema(LABELS.columns)

    def labels(place: int) -> DataFrame:
        rows = [label_row(row[0], row[1], row[place]) for row in named if row[place] is not None]
        return spark.createDataFrame([tuple(row[name] for name in schema.fieldNames()) for row in rows], schema)

    stop = F.when(F.col("is_removed"), "member_removed")
    flags = spark.createDataFrame([(row[0], row[7]) for row in named], "member_id string, is_removed boolean")
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
    for member, _, before, after, entry, now, then, is_removed in named:
        change = label_rules.label_change(before, after, entry, is_member_removed=is_removed)
        if change is not None:
            why = label_rules.change_reason(before, after, entry, now, then, is_member_removed=is_removed)
            expected[member] = (change, why)
    assert found == expected


def label_row(member_id: str, qualification_id: str, label: Label) -> dict[str, Any]:
    """A row of `labels`; lineage is filled in."""
    lineage = {
        "scorer_id": "s", "profile_version": 1, "catalog_version": "c", "rank": 0, "round": 0, "judged_run_id": "r",
        "published_run_id": "r", "since_run_id": "r", "member_id": member_id, "qualification_id": qualification_id,
    }  # fmt: skip
    return lineage | asdict(label)
