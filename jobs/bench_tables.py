"""Time of an audit, of the reuse join and of a plan over large tables, by how rows lie in them.

    python -m jobs.bench_tables generate --root /scratch/bench --labels 5000000 --order mixed
    python -m jobs.bench_tables compact --root /scratch/bench
    python -m jobs.bench_tables measure --root /scratch/bench --out bench.json

`generate` writes made-up rows (jobs/bench_rows.py) through delta-rs, a file at a time: one run of all members, then
ten of 1% each. `--order sorted` lays rows out as the jobs do. 5 million labels come with 22 million judgments, 44
million candidates and 200,000 members; they take 2 GB without `member_rounds`, which no accepted label is looked up in
(`--tables`). `compact` joins small files as the table maintenance does; `measure` reads only.
"""

import argparse
import json
import logging
import os
import platform
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pyarrow as pa
from deltalake import DeltaTable, WriterProperties, write_deltalake
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.audit import audit_label
from jobs.bench_rows import BIG, LABELS_EACH, N_ENTRIES, N_JUDGED, SHARED, K, Order, Population, Run, rows_of
from jobs.coverage import published_coverage
from jobs.judgments import usable_judgments
from jobs.ledger import PUBLISHED, append_event, write_pins
from jobs.pins import Pins
from jobs.planned_pairs import to_facts, to_pairs
from jobs.scope import to_scope
from jobs.settings import Settings
from jobs.spark_session import spark_session
from jobs.table_admin import create_missing
from jobs.table_path import table_exists, table_path
from jobs.table_reader import pins_of
from jobs.table_upkeep import compact
from jobs.tables import read
from schemas.candidates import CANDIDATES
from schemas.catalog import CATALOG
from schemas.every import RUN_TABLES, UPSTREAM_TABLES
from schemas.judgments import JUDGMENTS
from schemas.labels import LABELS
from schemas.member_rounds import MEMBER_ROUNDS
from schemas.profiles import PROFILES
from schemas.table import Table

log = logging.getLogger(__name__)

N_FILES, N_SMALL_RUNS, SMALL_SHARE = 16, 10, 0.01
N_AUDITS, N_TIMES = 20, 2
_RUN_IDS = ["weekly_full-0", *(f"daily_incremental-{number + 1}" for number in range(N_SMALL_RUNS))]
SHARES = (0.25, 0.5, 1.0)  # of the members: whether time grows as rows do


def main() -> None:
    """Parse the command line; generate or measure."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("generate", "compact", "measure"))
    parser.add_argument("--root", type=Path, required=True, help="a folder for the tables alone")
    parser.add_argument("--labels", type=int, default=5_000_000)
    parser.add_argument("--order", choices=get_args(Order), default="sorted")
    parser.add_argument("--tables", nargs="*", help="only these; all by default")
    parser.add_argument("--without-spark", action="store_true", help="measure only what readers without Spark do")
    parser.add_argument("--out", type=Path, help="where the figures go as JSON")
    args = parser.parse_args()
    settings = Settings(home=args.root)
    if args.step == "generate":
        generate(settings, args.labels, args.order, args.tables or [table.name for table in BIG])
        return
    if args.step == "compact":
        for table in BIG:
            log.info("%s: %d files fewer", table.name, compact(settings.tables, table, ended=_RUN_IDS))
        return
    found = measure(settings, with_spark=not args.without_spark) | {"machine": _machine()}
    log.info(json.dumps(found, indent=2))
    if args.out:
        args.out.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def generate(settings: Settings, n_labels: int, order: Order, names: list[str]) -> None:
    """Write the tables named that are not there yet, and the ledger of the runs."""
    people = Population(n_labels // LABELS_EACH)
    everyone = np.arange(people.n_members)
    few = [
        np.sort(np.random.default_rng(n).choice(everyone, max(1, int(SMALL_SHARE * len(everyone))), replace=False))
        for n in range(N_SMALL_RUNS)
    ]
    create_missing(settings.tables, *UPSTREAM_TABLES, *RUN_TABLES)
    _write_inputs(settings, people)
    for number, members in enumerate([everyone, *few]):
        run = Run(run_id=_RUN_IDS[number], members=members)
        for table in BIG:
            is_written = number == 0 or table not in (LABELS,)
            if table.name in names and is_written:
                _write_rows(settings.tables, table, people, run, order)
        _write_ledger(settings, run.run_id, number)


def _write_rows(root: Path, table: Table, people: Population, run: Run, order: Order) -> None:
    started, n_rows = time.monotonic(), 0
    n_files = N_FILES if len(run.members) == people.n_members else 1
    for rows in rows_of(table, people, run, order, n_files=n_files):
        _append(root, table, rows)
        n_rows += rows.num_rows
    log.info("%s %s: %d rows, %.1f s", run.run_id, table.name, n_rows, time.monotonic() - started)


def _append(root: Path, table: Table, rows: pa.Table) -> None:
    write_deltalake(
        table_path(root, table), rows, mode="append", writer_properties=WriterProperties(compression="SNAPPY")
    )


def _write_inputs(settings: Settings, people: Population) -> None:
    if DeltaTable(table_path(settings.tables, PROFILES)).version():
        return
    n_members = people.n_members
    ones = pa.repeat(pa.scalar(1, pa.int64()), n_members)
    now = pa.repeat(pa.scalar(datetime.now(UTC), pa.timestamp("us", tz="UTC")), n_members)
    profiles = [people.member_ids, people.hashes, ones, now, people.hashes]
    _append(settings.tables, PROFILES, pa.Table.from_arrays(profiles, schema=PROFILES.columns))
    columns = {"qualification_id": people.entry_ids, "text": people.entry_hashes}
    rest = {"category": "skill", "status": "active"}
    entries = [
        columns.get(field.name, pa.repeat(pa.scalar(rest.get(field.name), field.type), N_ENTRIES))
        for field in CATALOG.columns
    ]
    _append(settings.tables, CATALOG, pa.Table.from_arrays(entries, schema=CATALOG.columns))


def _write_ledger(settings: Settings, run_id: str, number: int) -> None:
    kept = {name: SHARED[name] for name in ("catalog_version", "artifact_id", "scorer_id", "retriever_id")}
    pins = Pins(
        **kept, run_id=run_id, kind=run_id.split("-")[0], trigger_id=run_id, pinned_at=SHARED["pinned_at"].isoformat(),
        profiles_delta_version=1, catalog_delta_version=1, labeler="bench", labeler_version="1",
        artifact_folder=str(settings.home / "no-artifact"), threshold=0.5, candidates_per_round=50, stop_below=0.25,
        candidates_per_member=K, engine="none", is_validated=True, unvalidated_reason="",
    )  # fmt: skip
    write_pins(settings.tables, pins)
    append_event(settings.tables, run_id, PUBLISHED, {"labels_version": number + 1, "changes": {}})


def measure(settings: Settings, *, with_spark: bool) -> dict[str, Any]:
    """Return seconds of audits, of the reuse join, of a plan's join and of the scope; sizes of the tables.

    Rows of the reuse are judgments that are found, rows of the plan candidates, rows of the scope members.
    """
    root = settings.tables
    found: dict[str, Any] = {"tables": {table.name: _size(root, table) for table in BIG if table_exists(root, table)}}
    labels = DeltaTable(table_path(root, LABELS))
    pairs = _some_pairs(labels)
    audit_label(settings, *pairs[0])  # the first one loads libraries
    found["audit_s"] = _spread([_seconds(partial(audit_label, settings, *pair)) for pair in pairs])
    started = time.process_time()
    for pair in pairs:
        audit_label(settings, *pair)
    found["audit_cpu_s"] = round((time.process_time() - started) / len(pairs), 3)
    if with_spark:
        with spark_session(settings, "bench") as spark:
            found |= _measure_spark(spark, settings, pairs)
    return found


def _measure_spark(spark: SparkSession, settings: Settings, pairs: list[tuple[str, str]]) -> dict[str, Any]:
    root, pins = settings.tables, pins_of(settings.tables, "weekly_full-0")
    _one_label(spark, root, pairs[0])  # the first query of a session loads classes
    audits = [_seconds(partial(_one_label, spark, root, pair)) for pair in pairs[:5]]
    profiles = read(spark, root, PROFILES).select("member_id", "profile_version", "profile_hash")
    hashes = read(spark, root, PROFILES).select(F.col("profile_text").alias("query_hash"))
    n_members = profiles.count()
    day = hashes.limit(int(SMALL_SHARE * n_members))

    items = read(spark, root, CATALOG).select("qualification_id", F.col("text").alias("item_hash"))
    nobody = spark.createDataFrame([], "member_id string")

    def reuse(queries: DataFrame, n_queries: int) -> DataFrame:
        return usable_judgments(spark, root, pins, queries, n_queries=n_queries)

    def reuse_of(share: float) -> DataFrame:
        return reuse(hashes.where(_part("query_hash", share)), int(share * n_members))

    def scope_of(share: float) -> DataFrame:
        members = profiles.where(_part("member_id", share))
        covered = published_coverage(spark, root, members=members.select("member_id"))
        return to_scope(members, covered, pins, revoked=nobody)

    def plan_of(share: float) -> DataFrame:
        """Join every candidate of a run with its judgment and label, and count by round, as `plan_refresh` does."""
        members = read(spark, root, PROFILES).where(_part("member_id", share))
        queries = members.select("member_id", F.col("profile_text").alias("query_hash"))
        candidates = read(spark, root, CANDIDATES, run_id=pins.run_id).join(queries, "member_id", "left_semi")
        known = reuse(queries, int(share * n_members))
        labels = read(spark, root, LABELS).join(queries, "member_id", "left_semi")
        aside = spark.createDataFrame([], "key string")
        return to_facts(
            to_pairs(candidates, queries, items.withColumn("n_tokens", F.lit(6)), known, labels, aside), pins
        )

    found: dict[str, Any] = {
        "spark_label_s": _spread(audits),
        "n_members": n_members,
        "reuse_of_a_day_s": _timed(lambda: reuse(day, int(SMALL_SHARE * n_members))),
    }
    measured = (("reuse", reuse_of, N_JUDGED), ("plan", plan_of, K), ("scope", scope_of, 1))
    for name, frame_of, rows_each in measured:
        seconds = {share: _timed(partial(frame_of, share)) for share in SHARES}
        found[f"{name}_s"] = seconds
        found[f"{name}_s_per_million_rows"] = {
            share: round(took / (share * n_members * rows_each / 1e6), 2) for share, took in seconds.items()
        }
    return found


def _part(column: str, share: float) -> Any:
    return F.pmod(F.hash(column), F.lit(1000)) < int(share * 1000)


def _one_label(spark: SparkSession, root: Path, pair: tuple[str, str]) -> None:
    """Read what an audit reads of an accepted pair: label, judgment, coverage, candidate."""
    of_pair = f"member_id = '{pair[0]}' AND qualification_id = '{pair[1]}'"
    label = read(spark, root, LABELS).where(of_pair).collect()[0]
    judged = read(spark, root, JUDGMENTS, scorer_id=label.scorer_id, query_hash=label.query_hash)
    judged.where(F.col("item_hash") == label.item_hash).collect()
    for table in BIG:
        if {"run_id", "member_id"} <= set(table.columns.names) and table not in (LABELS, MEMBER_ROUNDS):
            read(spark, root, table, run_id=label.published_run_id, member_id=pair[0]).collect()


def _timed(frame: Callable[[], DataFrame]) -> float:
    """Return the median seconds of computing all rows of a frame."""
    runs = [_seconds(lambda: frame().write.format("noop").mode("overwrite").save()) for _ in range(N_TIMES)]
    log.info("%s s", ", ".join(f"{seconds:.2f}" for seconds in runs))
    return statistics.median(runs)


def _some_pairs(labels: DeltaTable) -> list[tuple[str, str]]:
    from deltalake import QueryBuilder

    sql = f"SELECT member_id, qualification_id FROM labels WHERE rank % 8 = 0 LIMIT {50 * N_AUDITS}"
    rows = pa.table(QueryBuilder().register("labels", labels).execute(sql).read_all()).to_pylist()
    return [(row["member_id"], row["qualification_id"]) for row in rows[::50]]


def _spread(seconds: list[float]) -> dict[str, float]:
    return {
        "median": round(statistics.median(seconds), 3),
        "most": round(max(seconds), 3),
        "first": round(seconds[0], 3),
    }


def _seconds(do: Callable[[], Any]) -> float:
    started = time.monotonic()
    do()
    return time.monotonic() - started


def _size(root: Path, table: Table) -> dict[str, int]:
    files = pa.table(DeltaTable(table_path(root, table)).get_add_actions(flatten=True))
    totals = {name: int(sum(files[name].to_pylist())) for name in ("num_records", "size_bytes")}
    return totals | {"files": files.num_rows}


def _machine() -> dict[str, Any]:
    at = datetime.now(UTC).isoformat(timespec="seconds")
    return {"at": at, "cpu": platform.processor() or platform.machine(), "cores": os.cpu_count()}


if __name__ == "__main__":
    main()
