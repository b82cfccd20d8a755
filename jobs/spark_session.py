"""One Spark session for a job: its own in this process, or a client of a Connect server.

Tables are written by SQL and DataFrames only, since those work on both. `make setup` leaves Delta's jars; with the
extension set and no jar a session would start and fail at its first query, so that is checked first.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from jobs.errors import MissingRequirementError
from jobs.settings import Settings

# A session lives for many small queries: the second compiler tier pays within the first refresh (each later one takes
# 40% less wall time with it), the collector of servers doesn't.
_JAVA_OPTIONS = "-XX:+UseSerialGC"
_SESSION_CONF = {
    # the state of a table here is some hundred rows; 50 partitions make a small MERGE take 12 s, not 4
    "spark.databricks.delta.snapshotPartitions": "1",
    # `replace` names partition columns only: matching on others would delete row by row, and count all files first
    "spark.databricks.delta.replaceWhere.dataColumns.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # a row may hold all vectors of a member; small batches keep a Python worker's memory flat
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1000",
}


# On one machine the data is small and planning is what costs: a third of the CPU went into compiling generated code.
# Nobody else has to reach its driver; executors of a cluster do, at the name that Spark finds for the machine.
_LOCAL_CONF = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.maxPlanStringLength": "1024",
}


def delta_jars(settings: Settings) -> list[str]:
    """Return the paths of Delta's jars.

    Raises:
        MissingRequirementError: none is there.
    """
    jars = sorted(str(path) for path in settings.jars_dir.glob("*.jar"))
    if len(jars) < 7:
        raise MissingRequirementError(
            f"Delta's jars are missing: {len(jars)} of 7 found in {settings.jars_dir}. Run `make setup`, or set "
            "SEMLABEL_JARS_DIR to the folder that holds them."
        )
    return jars


def session_conf(settings: Settings) -> dict[str, str]:
    """Return what each session sets for itself, also as a client of a Connect server."""
    partitions = str(settings.spark_partitions)
    return _SESSION_CONF | {
        "spark.sql.shuffle.partitions": partitions,
        # `read` names files; more than 32 are looked up by a query, with a task a file if it is not told otherwise
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": partitions,
    }


def server_conf(settings: Settings) -> dict[str, str]:
    """Return the configuration that only a new driver can take (a local session or a Connect server)."""
    local_conf = _LOCAL_CONF if _is_local(settings) else {}
    return (
        session_conf(settings)
        | local_conf
        | {
            "spark.jars": ",".join(delta_jars(settings)),
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            "spark.driver.extraJavaOptions": f"{_JAVA_OPTIONS} -Dderby.system.home={settings.home}",
            "spark.driver.memory": settings.spark_driver_memory,
            "spark.sql.warehouse.dir": str(settings.home / "spark-warehouse"),
            "spark.log.level": "ERROR",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.pyspark.python": sys.executable,
            "spark.pyspark.driver.python": sys.executable,
        }
    )


def server_env(settings: Settings) -> dict[str, str]:
    """Return the environment that goes with `server_conf`: where the driver listens, and its Python."""
    own = {"SPARK_LOCAL_IP": "127.0.0.1"} if _is_local(settings) else {}
    return own | {"PYSPARK_PYTHON": sys.executable}  # workers of a Connect server ignore spark.pyspark.python


def _is_local(settings: Settings) -> bool:
    return settings.spark_master.startswith("local")


@contextmanager
def spark_session(settings: Settings, name: str) -> Iterator[SparkSession]:
    """Yield a session and end it: a client of `spark_connect_url`, else a driver on `spark_master`."""
    session = _connect(settings) if settings.spark_connect_url else _start(settings, name)
    try:
        yield session
    finally:
        session.stop()


def _connect(settings: Settings) -> SparkSession:
    builder = SparkSession.builder.remote(settings.spark_connect_url)
    for key, value in session_conf(settings).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _start(settings: Settings, name: str) -> SparkSession:
    for variable, value in server_env(settings).items():
        os.environ.setdefault(variable, value)
    builder = SparkSession.builder.appName(f"semlabel {name}").master(settings.spark_master)
    for key, value in server_conf(settings).items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except PySparkRuntimeError as error:
        if error.getCondition() != "JAVA_GATEWAY_EXITED":
            raise
        raise MissingRequirementError("Java did not start: Spark needs Java 17. `semlabel doctor` looks.") from error
