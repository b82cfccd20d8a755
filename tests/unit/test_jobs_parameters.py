"""What a job, a setting and the command line take, and what they say of a wrong value."""

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from jobs.build_round import Params
from jobs.errors import CheckFailedError, FaultsError, MissingRequirementError
from jobs.exit_codes import exit_code_of
from jobs.pin_inputs import Params as PinParams
from jobs.pins import run_id_of
from jobs.run_job import parse_params, run_job
from jobs.run_ledger import read_run
from jobs.spark_session import delta_jars, server_conf, server_env
from mis_scoring.core.errors import DataError, EngineError
from tests.published_run import make_tables, write_run
from tests.world import settings_under

TIMES = {"seconds": 0, "waited_s": 0}


def test_parameters_are_typed() -> None:
    assert parse_params(Params, {"run_id": "r", "round": "3"}, job="build_round") == Params(run_id="r", round=3)


def test_a_flag_is_true_or_false_and_may_be_left_out() -> None:
    known = {"kind": "weekly_full", "trigger_id": "t"}
    assert [
        parse_params(PinParams, known | given, job="pin_inputs").recompute
        for given in ({}, {"recompute": "True"}, {"recompute": "false"})
    ] == [False, True, False]
    with pytest.raises(FaultsError, match="parameter recompute='maybe' is neither true nor false"):
        parse_params(PinParams, known | {"recompute": "maybe"}, job="pin_inputs")


def test_every_wrong_parameter_is_listed_at_once() -> None:
    with pytest.raises(FaultsError) as raised:
        parse_params(Params, {"round": "three", "colour": "red"}, job="build_round")
    assert raised.value.faults == [
        "unknown parameter colour='red'; it takes run_id, round",
        "parameter run_id is missing",
        "parameter round='three' is no whole number",
    ]


def test_a_published_run_keeps_its_plan_and_the_pairs_of_its_rounds(tmp_path: Path) -> None:
    """Cleared and run again, both would count what the run has judged meanwhile as reused."""
    settings = settings_under(tmp_path, jars_dir=tmp_path)
    make_tables(settings.tables)
    for run_id, published in (("done", True), ("going", False)):
        write_run(settings.tables, run_id, at=datetime.now(UTC) - timedelta(hours=1), published=published)
    first = read_run(settings.tables, "done")
    of_job: dict[str, dict[str, str]] = {"plan_refresh": {}, "build_round": {"round": "0"}}
    for job, values in of_job.items():
        again = run_job(job, {"run_id": "done"} | values, settings, attempt=2)
        event = f"round_0_{job}" if values else job
        assert again | TIMES == {**first.of(event)} | TIMES
        assert {**read_run(settings.tables, "done").of(event)} | TIMES == again | TIMES, "so are reports and counters"
        with pytest.raises(MissingRequirementError, match="Delta's jars"):  # it would start Spark
            run_job(job, {"run_id": "going"} | values, settings)


def test_the_same_trigger_of_the_same_deployment_is_the_same_run() -> None:
    assert run_id_of("weekly_full", "t", "local") == run_id_of("weekly_full", "t", "local")
    others = {
        run_id_of("daily", "t", "local"),
        run_id_of("weekly_full", "u", "local"),
        run_id_of("weekly_full", "t", "x"),
    }
    assert len(others | {run_id_of("weekly_full", "t", "local")}) == 4


def test_an_object_store_is_refused_as_a_table_root_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no file system with atomic rename"):
        settings_under(tmp_path, table_root="s3://bucket/tables")


def test_missing_jars_are_one_clear_error_before_any_session(tmp_path: Path) -> None:
    with pytest.raises(MissingRequirementError, match=r"Delta's jars are missing: 0 of 7 .* Run `make setup`"):
        delta_jars(settings_under(tmp_path, jars_dir=tmp_path))


@pytest.mark.parametrize(("master", "is_local"), [("local[2]", True), ("spark://master:7077", False), ("yarn", False)])
def test_executors_of_a_cluster_can_reach_the_driver(tmp_path: Path, master: str, is_local: bool) -> None:
    for number in range(7):
        (tmp_path / f"{number}.jar").touch()
    settings = settings_under(tmp_path, jars_dir=tmp_path, spark_master=master)
    conf = server_conf(settings) | server_env(settings)
    loopback = {"spark.driver.host", "spark.driver.bindAddress", "SPARK_LOCAL_IP"}
    assert loopback & conf.keys() == (loopback if is_local else set())
    assert [name for name, value in conf.items() if value == "127.0.0.1" and name not in loopback] == []


def test_each_kind_of_error_has_its_exit_code() -> None:
    errors = (CheckFailedError("x"), DataError("x"), MissingRequirementError("x"), EngineError("x"))
    assert [exit_code_of(error) for error in errors] == [1, 3, 4, 5]


def semlabel(home: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    env = os.environ | {"SEMLABEL_HOME": str(home)}
    return subprocess.run(
        [sys.executable, "-m", "jobs.cli", *arguments], env=env, capture_output=True, text=True, check=False
    )


def test_a_refresh_without_tables_says_what_to_do_and_starts_nothing(tmp_path: Path) -> None:
    done = semlabel(tmp_path, "refresh", "weekly_full")
    assert done.returncode == 4
    assert "No table profiles, catalog" in done.stderr and "semlabel sample" in done.stderr
    assert not (tmp_path / "airflow").exists()


def test_an_unknown_dag_names_the_known_ones(tmp_path: Path) -> None:
    done = semlabel(tmp_path, "refresh", "monthly")
    assert done.returncode == 3 and "there are " in done.stderr and "weekly_full" in done.stderr


def test_reading_before_the_first_run_says_so(tmp_path: Path) -> None:
    done = semlabel(tmp_path, "runs", "--json")
    assert done.returncode == 4 and "no run has made it yet" in done.stderr
