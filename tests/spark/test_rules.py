"""The rules that exist twice, as a function and as columns, say the same."""

from collections import Counter

import numpy as np
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from jobs import round_rule
from jobs.coverage import standing, versions_covered
from jobs.inputs import faulty_profiles
from jobs.judgments import one_a_key
from jobs.rendering import item_text, query_text, text_hash
from jobs.rules import standing as rules
from jobs.rules.inputs import fault_of
from jobs.rules.standing import MemberPins
from mis_scoring.core import identity, readout
from mis_scoring.core.prompt import COMPACT
from mis_scoring.core.rounds import RoundRule

TEXTS = [
    "",
    "a nurse",
    "tab\tand\nline",
    "\u202eright to left",
    "\U0001f9d1 4 bytes",
    "<|readout|>",
    'it\'s "quoted" \\ %s',
]


def test_a_text_is_rendered_and_hashed_alike(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(text,) for text in TEXTS], "text string")
    query, item = query_text(F.col("text"), COMPACT), item_text(F.col("text"), COMPACT)
    for row in rows.select("text", query.alias("q"), item.alias("c"), text_hash(query).alias("h")).collect():
        assert (row.q, row.c) == (COMPACT.render_query(row.text), COMPACT.render_item(row.text))
        assert row.h == identity.text_hash(row.q)


@pytest.mark.parametrize("is_last_round", [False, True])
def test_a_round_ends_alike(spark: SparkSession, is_last_round: bool) -> None:
    rule = RoundRule(candidates_per_round=10, stop_below=0.3)
    cases = [(j, a, m) for j in range(0, 11, 2) for a in range(0, j + 1) for m in (0, 1)]
    rows = spark.createDataFrame(cases, "judged int, accepted int, missing int")
    reason = round_rule.reason(*(F.col(c) for c in rows.columns), stop_below=0.3, is_last_round=is_last_round)
    for row in rows.withColumn("reason", reason).collect():
        counts = {"judged": row.judged, "accepted": row.accepted, "missing": row.missing}
        assert row.reason == rule.outcome(**counts, is_last_round=is_last_round), counts


def test_a_pair_is_accepted_alike_and_a_tie_accepts(spark: SparkSession) -> None:
    for threshold in (0.5, 0.577548, 0.9):
        cut = readout.margin_of(threshold)
        margins = [cut, np.nextafter(cut, -9), np.nextafter(cut, 9), -3.0, 3.0]
        rows = spark.createDataFrame([(float(m),) for m in margins], "margin double")
        accepted = rows.select(round_rule.is_accepted(F.col("margin"), threshold)).collect()
        assert [row[0] for row in accepted] == [True, False, True, False, True]
        assert readout.decisions(np.asarray(margins), threshold).tolist() == [True, False, True, False, True]


def test_a_pair_judged_twice_has_one_judgment_the_newest_generation_then_the_first(spark: SparkSession) -> None:
    rows = spark.sql(
        """SELECT * FROM VALUES ('s','q','c',0,1,'r1'), ('s','q','c',0,2,'r2'), ('s','q','d',0,1,'r1'),
        ('s','q','d',1,2,'r2'), ('s','q','d',1,3,'r3')
        AS t(scorer_id, query_hash, item_hash, generation, judged_at, run_id)"""
    )
    assert {(row.item_hash, row.run_id) for row in one_a_key(rows).collect()} == {("c", "r1"), ("d", "r2")}


MINE = {
    "run_id": "mine", "profile_hash": "p2", "profile_version": 2, "profiles_delta_version": 5, "catalog_version": "c",
    "catalog_delta_version": 3, "artifact_id": "a", "retriever_id": "r", "candidates_per_member": 9,
    "pinned_at": "2026-02-02",
}  # fmt: skip


@pytest.mark.parametrize(
    ("theirs", "expected"),
    [
        ({}, None),
        ({"profiles_delta_version": 6, "catalog_delta_version": 4}, None),
        ({"profile_hash": "p1", "profile_version": 1}, None),
        ({"profile_hash": "p3", "profile_version": 3}, "superseded"),
        ({"profile_hash": "p3", "profile_version": 2, "profiles_delta_version": 6}, "superseded"),
        ({"profile_hash": None, "profile_version": None, "profiles_delta_version": 6}, "superseded"),
        ({"catalog_version": "d", "catalog_delta_version": 4}, "superseded"),
        ({"artifact_id": "b", "pinned_at": "2026-03-03"}, "superseded"),
        ({"artifact_id": "b", "pinned_at": "2026-01-01"}, None),
        ({"candidates_per_member": 8, "pinned_at": "2026-03-03"}, "superseded"),
        (
            {"profile_hash": "p3", "profile_version": 3, "catalog_version": "b", "catalog_delta_version": 2},
            "conflicting",
        ),
        (None, None),
    ],
)
def test_a_runs_pins_stand_against_published_ones(
    spark: SparkSession, theirs: dict[str, object] | None, expected: str | None
) -> None:
    kinds = {"profile_version": "bigint", "profiles_delta_version": "bigint", "catalog_delta_version": "bigint"}
    schema = ", ".join(f"{name} {kinds.get(name, 'string')}" for name in MINE)
    mine = spark.createDataFrame([tuple(_typed(MINE).values())], schema)
    other = spark.createDataFrame([] if theirs is None else [tuple(_typed(MINE | theirs).values())], schema)
    joined = mine.alias("m").join(other.alias("t"), F.lit(True), "left")
    columns = versions_covered("m", "t")
    found = joined.select(standing("m", "t").alias("standing"), *(c.alias(n) for n, c in columns.items())).collect()[0]
    assert found.standing == expected
    pins = None if theirs is None else MemberPins(**MINE | theirs, scorer_id="s")  # type: ignore[arg-type]
    expected_versions = rules.versions_covered(MemberPins(**MINE, scorer_id="s"), pins)  # type: ignore[arg-type]
    assert (found.profiles_delta_version, found.catalog_delta_version) == expected_versions


def _typed(row: dict[str, object]) -> dict[str, object]:
    return row | {"candidates_per_member": str(row["candidates_per_member"])}


def test_a_row_that_cannot_be_used_is_found_alike(spark: SparkSession) -> None:
    texts = [None, "", "...", " \t", "\u00bf?", "\u20ac", "\u0664", "\u05d0", "\U0001f9d1", "\u0301", "a nurse"]
    rows = [(f"m{number}", text) for number, text in enumerate(texts)]
    rows += [("twice", "a"), ("twice", "a"), (None, "nobody's"), ("  ", "nobody's")]
    profiles = spark.createDataFrame(rows, "member_id string, profile_text string")
    found = {(row.key, row.reason) for row in faulty_profiles(profiles).collect()}
    n_rows = Counter(member for member, _ in rows)
    faults = {
        (member or "", fault_of("member_id", member, "profile_text", text, n_rows=n_rows[member]))
        for member, text in rows
    }
    assert found == {(member, fault) for member, fault in faults if fault is not None}
