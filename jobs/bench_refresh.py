"""Seconds per stage of a refresh as the population grows, with scores by a fake engine: `python -m jobs.bench_refresh`.

    python -m jobs.bench_refresh --members 1000 10000 --out bench.json

For each size a first weekly run of all members, then a daily run with ten changed profiles, over real Spark, Delta and
retrieval in one process. Profiles are drawn from a pool of phrases, so that embedding them stays small; pairs are
accepted by their hashes. The first size pays for the JVM's first queries.
"""

import argparse
import json
import logging
import os
import platform
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from jobs import build_round, pin_inputs, plan_refresh, publish_labels, retrieve_candidates, scope_members, stop_early
from jobs.labeler.registry import register
from jobs.pins import Pins
from jobs.score_round import Params as RoundParams
from jobs.score_round import round_files
from jobs.settings import Settings
from jobs.spark_session import spark_session
from jobs.table_admin import create_missing
from jobs.table_path import table_path
from jobs.table_reader import pins_of
from jobs.write_sample import BUNDLED_LABELER
from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.core.rounds import RoundRule
from mis_scoring.ray_data.staging import STAGED_SCORES, scores_folder
from mis_scoring.ray_data.summary import prepare_folder
from schemas.catalog import CATALOG, CATEGORIES
from schemas.every import UPSTREAM_TABLES
from schemas.profiles import PROFILES

log = logging.getLogger(__name__)

N_ENTRIES, N_PHRASES, PHRASES_EACH = 500, 300, 5
K, RULE = 20, RoundRule(candidates_per_round=10, stop_below=0.25)
ACCEPTED_SHARE = 0.3
N_CHANGED = 10
ROWS_A_FILE = 20_000

Seconds = dict[str, float]


def main() -> None:
    """Parse the command line, measure, print one line a stage."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--members", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--out", type=Path, help="where the figures go as JSON")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        settings = Settings(home=Path(scratch), candidates_per_member=K)
        labeler = _register_labeler(settings)
        with spark_session(settings, "bench") as spark:
            sizes = {n: measure(spark, settings, labeler, n_members=n) for n in sorted(args.members)}
    found = {"sizes": sizes, "machine": _machine()}
    _print(sizes)
    log.info(json.dumps(found["machine"]))
    if args.out:
        args.out.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def measure(spark: SparkSession, settings: Settings, labeler: str, *, n_members: int) -> dict[str, Any]:
    """Return the seconds of each stage of a first weekly run and of a daily run, in tables of their own."""
    folders = {name: settings.home / f"{name}-{n_members}" for name in ("table_root", "staging_root")}
    own = settings.model_copy(update=folders | {"labeler_alias": labeler})
    create_missing(own.tables, *UPSTREAM_TABLES)
    profiles = _draw_profiles(n_members, seed=0)
    _write(own, PROFILES, profiles)
    _write(own, CATALOG, _draw_catalog())
    weekly = refresh(spark, own, "weekly_full")
    changed = [row | {"profile_version": 2} for row in _draw_profiles(N_CHANGED, seed=1)]
    _write(own, PROFILES, [*changed, *profiles[N_CHANGED:]])
    daily = refresh(spark, own, "daily_incremental")
    return {"weekly_full": weekly, "daily_incremental": daily}


def refresh(spark: SparkSession, settings: Settings, kind: str) -> dict[str, Any]:
    """Run a refresh in this process; returns its counts and its seconds by stage, rounds added up."""
    seconds: Seconds = {}
    with _timed(seconds, "pin"):
        run_id = pin_inputs.run(settings, pin_inputs.Params(kind=kind, trigger_id="bench"))["run_id"]
    pins = pins_of(settings.tables, run_id)

    def step(job: Any, **params: Any) -> dict[str, Any]:
        with _timed(seconds, job.__name__.removeprefix("jobs.")):
            return dict(job.run(spark, settings, job.Params(run_id=run_id, **params)))

    scoped = step(scope_members)
    step(retrieve_candidates)
    step(plan_refresh)
    pairs = 0
    for number in range(pins.n_rounds):
        built = step(build_round, round=number)
        pairs += built["pairs_to_score"] + built["pairs_reused"]
        with _timed(seconds, "fake_scores"):
            _stage_fake_scores(settings, pins, number)
        if step(stop_early, round=number)["next_round"] == 0:
            break
    published = step(publish_labels)
    return {"members": scoped["members"], "pairs": pairs, "changes": published["changes"], "seconds": seconds}


@contextmanager
def _timed(seconds: Seconds, stage: str) -> Iterator[None]:
    started = time.monotonic()
    yield
    seconds[stage] = round(seconds.get(stage, 0.0) + time.monotonic() - started, 2)


def _register_labeler(settings: Settings) -> str:
    """Register the bundled labeler with small rounds; returns its alias. Its weights are never used."""
    folder = Path(tempfile.mkdtemp(dir=settings.home))
    for file in BUNDLED_LABELER.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    LabelerArtifact.load(folder).with_changes(round_rule=RULE).save(folder)
    register(settings, folder, alias="bench")
    return "bench"


def _draw_profiles(n_members: int, *, seed: int) -> list[dict[str, Any]]:
    draw = random.Random(seed)
    phrases = [f"worked for {number} years on subject {number * 7919 % N_PHRASES}" for number in range(N_PHRASES)]
    return [
        {
            "member_id": f"member-{number:07d}",
            "profile_text": ". ".join(draw.sample(phrases, PHRASES_EACH)) + ".",
            "profile_version": 1,
        }
        for number in range(n_members)
    ]


def _draw_catalog() -> list[dict[str, Any]]:
    return [
        {
            "qualification_id": f"entry-{number:04d}",
            "category": CATEGORIES[number % len(CATEGORIES)],
            "text": f"experience with subject {number}",
            "status": "active",
        }
        for number in range(N_ENTRIES)
    ]


def _write(settings: Settings, table: Any, rows: Sequence[dict[str, Any]]) -> None:
    write_deltalake(
        table_path(settings.tables, table), pa.Table.from_pylist(list(rows), table.columns), mode="overwrite"
    )


def _stage_fake_scores(settings: Settings, pins: Pins, number: int) -> None:
    """Stage what `score_round` would, accepting a fixed share of the pairs by their hashes."""
    folder = scores_folder(settings.staging, pins.run_id, number, pins.scorer_id)
    prepare_folder(folder)
    files = round_files(settings.tables, RoundParams(run_id=pins.run_id, round=number))
    columns = ["member_id", "query_hash", "item_ids", "item_hashes"]
    for place, batch in enumerate(ds.dataset(files).to_batches(columns=columns, batch_size=ROWS_A_FILE)):
        staged = [_scored(row, pins) for row in batch.to_pylist() if row["item_ids"]]
        pq.write_table(pa.Table.from_pylist(staged, STAGED_SCORES), folder / "data" / f"{place}.parquet")


def _scored(row: dict[str, Any], pins: Pins) -> dict[str, Any]:
    drawn = [(int(row["query_hash"][:6], 16) ^ int(item[:6], 16)) / 16**6 for item in row["item_hashes"]]
    return row | {
        "margins": [4.0 if number < ACCEPTED_SHARE else -4.0 for number in drawn],
        "is_reference": [False] * len(drawn),
        "n_tokens": 0,
        "tie_tokens": 0,
        "error": None,
        "engine": '{"engine":"fake"}',
        "canary_epoch": "none",
        "scorer_id": pins.scorer_id,
    }


def _machine() -> dict[str, Any]:
    return {
        "cores": os.cpu_count(),
        "load_average": os.getloadavg()[0],
        "python": platform.python_version(),
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _print(sizes: dict[int, dict[str, Any]]) -> None:
    """Print a line a stage: seconds at each size, and the last over the one before."""
    for kind in ("weekly_full", "daily_incremental"):
        runs = [size[kind] for size in sizes.values()]
        log.info("\n%s", kind)
        _print_line("members in scope", [run["members"] for run in runs], str)
        _print_line("pairs", [run["pairs"] for run in runs], str)
        for stage in runs[-1]["seconds"]:
            _print_line(stage, [run["seconds"].get(stage, 0.0) for run in runs], lambda value: f"{value:.1f} s")


def _print_line(name: str, values: Sequence[Any], show: Callable[[Any], str]) -> None:
    ratio = f"{values[-1] / values[-2]:>8.1f} x" if len(values) > 1 and values[-2] else ""
    log.info("  %-22s%s%s", name, "".join(f"{show(value):>12}" for value in values), ratio)


if __name__ == "__main__":
    main()
