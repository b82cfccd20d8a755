"""A Spark job through a real spark-submit, as SEMLABEL_SPARK_JOB_RUNNER=spark_submit runs it."""

import logging
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.spark.conftest import CATALOG_TEXTS, PROFILE_TEXTS
from tests.world import World


@pytest.fixture
def submit(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Returns what runs a job by spark-submit on the world's tables."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    env = {"AIRFLOW_HOME": str(tmp_path / "airflow"), "SEMLABEL_HOME": str(world.settings.home), "PATH": path}
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    logging.getLogger("py4j").setLevel(logging.WARNING)  # Airflow's import lets it speak, to streams that pytest closes
    from jobs.local.airflow_home import spark_connection
    from semlabel_dags.spark_submit import SparkSubmitJob

    monkeypatch.setenv(*spark_connection(world.settings.model_copy(update={"spark_master": "local[1]"})))
    context = {"ti": SimpleNamespace(try_number=1), "dag_run": SimpleNamespace(run_after=datetime.now(UTC))}
    return lambda job, **values: SparkSubmitJob(task_id=job, job=job, values=values).execute(context)


def test_a_submitted_job_returns_what_it_left_in_the_ledger(world: World, submit: Any) -> None:
    world.put_catalog(CATALOG_TEXTS)
    world.put_profiles(PROFILE_TEXTS)
    found = submit("scope_members", run_id=world.pin("monday"))
    assert found["members"] == len(PROFILE_TEXTS) and found["waited_s"] > 0


@pytest.mark.parametrize(("exit_code", "is_final"), [(4, True), (5, False), (70, False)])
def test_a_driver_that_fails_for_good_is_not_submitted_again(
    exit_code: int, is_final: bool, submit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
    from airflow.sdk.exceptions import AirflowException, AirflowFailException

    def fail(*_: Any) -> None:  # in the provider's words
        raise AirflowException(f"Cannot execute: spark-submit --master local[1] cli.py. Error code is: {exit_code}.")

    monkeypatch.setattr(SparkSubmitOperator, "execute", fail)
    with pytest.raises(AirflowException, match="plan_refresh") as raised:
        submit("plan_refresh", run_id="nothing")
    assert isinstance(raised.value, AirflowFailException) is is_final
