"""Run a DAG through Airflow in the foreground, with what a single machine needs around it."""

import json
import logging
import uuid
from typing import Any

from jobs.errors import CheckFailedError, MissingRequirementError
from jobs.inputs import usable_profiles, with_profile_hash
from jobs.ledger import published_pins
from jobs.local.airflow_home import migrate, started_airflow
from jobs.local.connect_server import connect_server
from jobs.local.shared_ray import shared_ray
from jobs.pins import run_id_of
from jobs.retrieve_candidates import to_sections
from jobs.rules.scope import LOOKS_AFTER
from jobs.settings import CHECKOUT, Settings
from jobs.spark_session import delta_jars, spark_session
from jobs.table_admin import current_version
from jobs.table_path import table_exists
from jobs.tables import read
from mis_scoring.core.errors import DataError
from schemas.catalog import CATALOG
from schemas.profiles import PROFILES

log = logging.getLogger(__name__)


def run_refresh(settings: Settings, kind: str, *, recompute: bool = False) -> dict[str, Any]:
    """Run a refresh to its end and return its report.

    Args:
        recompute: score every pair anew, in a new generation of judgments.
    Raises:
        DataError: there is no such kind.
        MissingRequirementError: tables or jars are missing; nothing was started.
        CheckFailedError: a task failed; the labels are as they were.
    """
    _check_before(settings, kind)
    trigger_id = f"manual-{uuid.uuid4()}"
    run_id = run_id_of(kind, trigger_id, settings.environment)
    log.info("run %s: starting Spark and Airflow", run_id)
    exit_code = _run_dag(settings, kind, {"trigger_id": trigger_id, "recompute": recompute})
    report = settings.reports / f"{run_id}.json"
    if exit_code != 0 or not report.exists():
        raise CheckFailedError(
            f"Run {run_id} did not finish; the labels are as they were. The failed task's message stands above; "
            f"`semlabel runs {run_id}` says how far it came."
        )
    return dict(json.loads(report.read_text()))


def _run_dag(settings: Settings, kind: str, conf: dict[str, Any]) -> int:
    """Run the DAG in the foreground; what it needs starts beside it, since starting is what a small run waits for."""
    may_score = bool(conf["recompute"]) or _may_score(settings)
    with connect_server(settings) as spark, shared_ray(settings, is_needed=may_score) as ray_address:
        migrate(settings)
        env = _job_env(settings, spark.url, ray_address)
        with started_airflow(settings, "dags", "test", kind, "--conf", json.dumps(conf), env=env) as airflow:
            spark.wait_until_listening()
            if spark.is_own:
                _warm_up(settings, spark.url)
            return airflow.wait()


def _warm_up(settings: Settings, connect_url: str) -> None:
    """Ask a new server what the first jobs will ask, of a few members, while Airflow starts.

    The first query of a cold JVM takes 14 s, most of it loading classes; here they pass on the other core.
    """
    with spark_session(settings.model_copy(update={"spark_connect_url": connect_url}), "warm-up") as spark:
        few = usable_profiles(with_profile_hash(read(spark, settings.tables, PROFILES).limit(100)))
        to_sections(few).groupBy("member_id").count().collect()


def _check_before(settings: Settings, kind: str) -> None:
    known = sorted(path.stem for path in settings.dags_dir.glob("*.py") if path.stem in LOOKS_AFTER)
    if kind not in known:
        raise DataError(f"{kind!r} is no kind of refresh; there are {', '.join(known)} (DAGs in {settings.dags_dir}).")
    delta_jars(settings)
    missing = [table.name for table in (PROFILES, CATALOG) if not table_exists(settings.tables, table)]
    if missing:
        raise MissingRequirementError(
            f"No table {', '.join(missing)} under {settings.tables}. Make a sample with `semlabel sample`, or load own "
            "data with `semlabel load`."
        )
    if not settings.mlflow_uri and not (settings.home / "mlflow.db").exists():  # MLflow itself takes seconds to import
        raise MissingRequirementError(
            f"No labeler is registered under {settings.home}: `semlabel labeler register FOLDER --alias "
            f"{settings.labeler_alias}`; the bundled one is {CHECKOUT / 'labelers' / 'esco-small'}."
        )


def _may_score(settings: Settings) -> bool:
    """Whether profiles, catalog or K are others than the last published run's; the plan knows more, but comes later."""
    root, published = settings.tables, published_pins(settings.tables)
    if not published:
        return True
    last = published[0]
    return (last.profiles_delta_version, last.catalog_delta_version, last.candidates_per_member) != (
        current_version(root, PROFILES),
        current_version(root, CATALOG),
        settings.candidates_per_member,
    )


def _job_env(settings: Settings, connect_url: str, ray_address: str) -> dict[str, str]:
    """What the jobs of this run take from this process beside the environment that both have."""
    return {
        "SEMLABEL_JOB_RUNNER": "inline",
        "SEMLABEL_SPARK_CONNECT_URL": connect_url,
        "SEMLABEL_RAY_ADDRESS": ray_address,
        "SEMLABEL_CANDIDATES_PER_MEMBER": str(settings.candidates_per_member),
    }
