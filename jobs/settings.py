"""All that a deployment sets, in one typed object; local and cluster differ in these values only.

Each field is read from the environment as SEMLABEL_<NAME>, or from a `.env` file in the working folder.
"""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

LOOPBACK = ("127.0.0.1", "localhost", "::1")
CHECKOUT = Path(__file__).resolve().parent.parent


class Settings(BaseSettings):
    """Where things are and how much may be done. Paths default to folders under `home`."""

    model_config = SettingsConfigDict(env_prefix="SEMLABEL_", env_file=".env", extra="forbid", frozen=True)

    home: Path = CHECKOUT / "var"
    data_dir: Path = Field(CHECKOUT / ".cache" / "data", description="ESCO and the embedding model, left by set-up")
    jars_dir: Path = Field(CHECKOUT / ".cache" / "jars", description="Delta's jars, left by set-up")
    dags_dir: Path = CHECKOUT / "dags"

    table_root: Path | None = Field(None, description="Delta tables; a file system with atomic rename, seen by all")
    staging_root: Path | None = Field(None, description="scores and artifacts on their way; seen by Spark and Ray")
    spark_master: str = "local[2]"
    spark_connect_url: str = Field("", description="sc://host:port of a Connect server; empty: a session of its own")
    spark_driver_memory: str = "2g"
    spark_partitions: int = Field(2, ge=1, description="partitions of a shuffle; about the cores that Spark may use")
    ray_address: str = Field(
        "", description="of a Ray cluster, where a run's engines stay warm; empty: one is started for each round"
    )
    mlflow_uri: str = ""
    environment: str = Field("local", description="part of a run's identity: two deployments never share a run")

    labeler_name: str = "semlabel-labeler"
    labeler_alias: str = "champion"
    candidates_per_member: int = Field(200, ge=1, description="K")
    engine: str = Field("cascade", description="a name of mis_scoring.engines.registry, or `module:function`")
    engine_threads: int = Field(2, ge=1)
    engine_options: dict[str, Any] = Field({}, description="of the engine, as JSON: `sglang` and `prefill` have some")
    n_engines: int = Field(1, ge=1, description="engines that score at a time")
    gpus_per_engine: float = Field(0.0, ge=0, description="a fraction such as 0.5 puts several on one GPU")

    run_idle_hours: float = Field(
        48,
        gt=0,
        description="an unpublished run without an event for so long is over, its engines too; above any round",
    )
    vacuum_hours: int = Field(
        168, ge=1, description="files that no version of the last hours needs are deleted; above run_idle_hours"
    )
    metrics_port: int = Field(9464, ge=1, le=65535, description="where `semlabel metrics` answers Prometheus")
    freshness_limit_hours: float = Field(30, gt=0, description="labels older than this fail `semlabel freshness`")
    watch_profiles_s: float = Field(3600, gt=0, description="how often the profiles table is looked at for a change")
    watch_catalog_s: float = Field(60, gt=0, description="how often the catalog table is looked at for a change")
    approve_plans: bool = Field(False, description="a catalog backfill waits for a person's approval of its plan")
    failure_webhook: str = Field("", description="URL that gets a POST with each task that failed for good")

    bind_host: str = Field("127.0.0.1", description="where Airflow listens; others than loopback need a login")
    airflow_port: int = 8080
    airflow_db: str = Field("", description="SQLAlchemy URL of a PostgreSQL for Airflow; empty: SQLite under home")
    mlflow_port: int = 5000
    spark_connect_port: int = 15002
    ray_port: int = Field(6379, description="of a deployment's Ray; 0: none, each round starts its own")
    parallel_tasks: int = Field(4, ge=1, description="tasks that run at once")
    engine_slots: int = Field(1, ge=1, description="tasks with engines at once: slots of Airflow's pool `engines`")

    # `semlabel serve`, the model server (docs/serving.md), whose engine is the one above
    start_model_server: bool = Field(False, description="`make up` starts it, too (1.1 GB)")
    serve_host: str = Field("127.0.0.1", description="another than loopback needs the token file and TLS")
    serve_port: int = Field(50051, ge=0, le=65535, description="gRPC; 0 takes a free one")
    serve_metrics_port: int = Field(9465, ge=0, le=65535, description="where it answers Prometheus")
    serve_token_file: Path | None = Field(None, description="whoever has its content is answered; unset: anybody is")
    serve_tls_certificate: Path | None = Field(None, description="PEM; with serve_tls_key")
    serve_tls_key: Path | None = None
    serve_tie_rule: bool = Field(True, description="false: near the threshold, decisions may depend on packing")
    serve_look_every_s: float = Field(10, gt=0, description="whether another version is the champion, to be served")
    serve_n_tokenizers: int = Field(1, ge=1, description="processes that turn texts into tokens")
    serve_max_requests: int = Field(256, ge=1, description="under way; one more is RESOURCE_EXHAUSTED")
    serve_max_items: int = Field(1000, ge=1, description="of one request")
    serve_max_batch_tokens: int = Field(8192, ge=1, description="requests are joined into a forward up to so many")
    serve_n_prefilled: int = Field(32, ge=1, description="queries that wait for their items in the engine's memory")
    serve_canary_every: int = Field(100, ge=1, description="forwards between two canaries")
    serve_start_timeout_s: float = Field(600, gt=0, description="an engine that is not ready by then is started again")
    serve_forward_timeout_s: float = Field(120, gt=0, description="an engine that takes longer is started again")
    serve_stream_idle_s: float = Field(30, gt=0, description="a stream without items for so long is ended")
    serve_drain_s: float = Field(30, gt=0, description="how long requests under way may take once it is to end")
    serve_freeze_heap: bool = Field(True, description="keep what is loaded out of the garbage collector's sight")

    # profile updates between refreshes, and the labels of downstream readers (docs/updates.md)
    updates_inbox: str = Field("", description="SQLAlchemy URL of a PostgreSQL for the inbox; empty: SQLite under home")
    updates_write_profiles: bool = Field(
        True, description="false: the source writes `profiles`, and an update waits until it is there"
    )
    updates_per_batch: int = Field(64, ge=1, description="members of a micro-batch at most")
    updates_waiting_limit: int = Field(100_000, ge=1, description="beyond so many waiting updates none is taken in")
    updates_warm_up: bool = Field(True, description="at the start, so that the first edit waits for no code to load")
    updates_host: str = Field("127.0.0.1", description="another than loopback needs the token file and TLS")
    updates_port: int = Field(50061, ge=0, le=65535, description="gRPC: profile updates in, labels out")
    updates_http_port: int = Field(8071, ge=0, le=65535, description="HTTP: labels out, health, metrics")
    updates_token_file: Path | None = Field(None, description="whoever has its content is answered; unset: anybody is")
    updates_tls_certificate: Path | None = Field(None, description="PEM; with updates_tls_key")
    updates_tls_key: Path | None = None
    updates_scorer: str = Field("", description="host:port of a model server; empty: the engine, in the service itself")
    updates_scorer_token_file: Path | None = Field(None, description="with the model server's token")
    updates_scorer_ca: Path | None = Field(None, description="PEM, who signed the model server's certificate")
    updates_scorer_timeout_s: float = Field(30.0, gt=0, description="of one request: a member's round")
    start_updates: bool = Field(False, description="`make up` starts the service, too (1.5 GB)")
    kv_url: str = Field("", description="redis://... of the key-value store; empty: LMDB under home")

    engines_usd_per_hour: float | None = Field(None, ge=0, description="rent of all engines together; prices a plan")
    max_pairs: int | None = Field(None, ge=0, description="a run that may score more stops when it is planned")
    max_cost_usd: float | None = Field(None, ge=0, description="a run that may cost more stops when it is planned")
    ceiling_on: Literal["max", "expected"] = Field("max", description="which figure of a plan the ceilings bound")

    # members of a run that are judged past their stop, which prices early stopping (docs/early-stopping.md)
    stop_sample_share: float = Field(0.01, ge=0, le=1, description="share of the members in scope; 0: none")
    stop_sample_at_least: int = Field(100, ge=2, description="members, where the share would be fewer")
    stop_sample_from: int = Field(10_000, ge=0, description="a run with fewer members in scope draws none")
    stop_price_max_width: float = Field(
        0.1, gt=0, le=1, description="an estimate whose interval of the share is wider is not shown"
    )

    # past one of these a publication is held until `semlabel approve RUN`; 1 turns a share off
    hold_quarantined: float = Field(0.1, ge=0, le=1, description="share of all members that are quarantined")
    hold_incomplete: float = Field(0.1, ge=0, le=1, description="share of all members that were not scored to the end")
    hold_removed: float = Field(0.2, ge=0, le=1, description="share of the published labels that would go")
    hold_category_change: float = Field(0.3, ge=0, description="net change of a category's labels, as a share of them")
    hold_ignores_below: int = Field(20, ge=0, description="members or labels; fewer never hold a publication")

    @field_validator("table_root", "staging_root", mode="before")
    @classmethod
    def _refuse_object_stores(cls, value: object) -> object:
        if isinstance(value, str) and "://" in value and not value.startswith("file://"):
            raise ValueError(
                f"{value!r} is no file system with atomic rename; object stores are not supported: give a local or "
                "shared folder"
            )
        return value.removeprefix("file://") if isinstance(value, str) else value

    @field_validator("engine")
    @classmethod
    def _know_the_engine(cls, value: str) -> str:
        from mis_scoring.engines.registry import name_fault  # numpy: who keeps the default does not wait for it

        if fault := name_fault(value):
            raise ValueError(fault)
        return value

    @model_validator(mode="after")
    def _keep_files_longer_than_runs(self) -> Self:
        if self.vacuum_hours <= self.run_idle_hours:
            raise ValueError(
                f"vacuum_hours is {self.vacuum_hours} and run_idle_hours {self.run_idle_hours:g}: files must outlive "
                "the runs that read them; raise vacuum_hours or lower run_idle_hours"
            )
        return self

    @cached_property
    def tables(self) -> Path:
        """Root folder of all Delta tables."""
        return (self.table_root or self.home / "tables").resolve()

    @cached_property
    def staging(self) -> Path:
        """Root folder of scores and artifacts on their way between jobs."""
        return (self.staging_root or self.home / "staging").resolve()

    @cached_property
    def deployment(self) -> Path:
        """Where the services of `semlabel deployment up` keep their state, their secrets and their logs."""
        return (self.home / "deployment").resolve()

    @cached_property
    def needs_login(self) -> bool:
        """Whether Airflow asks who one is: always, but on a loopback of a local environment."""
        return self.environment != "local" or self.bind_host not in LOOPBACK

    @cached_property
    def reports(self) -> Path:
        """Where reports of runs are left."""
        return (self.home / "reports").resolve()

    @cached_property
    def lineage(self) -> Path:
        """Where OpenLineage's events are appended, unless Airflow is told another transport."""
        return (self.home / "lineage").resolve()

    @cached_property
    def tracking_uri(self) -> str:
        """MLflow's tracking and registry URI; sqlite under `home` by default, no server."""
        return self.mlflow_uri or f"sqlite:///{(self.home / 'mlflow.db').resolve()}"

    @cached_property
    def minilm_dir(self) -> Path:
        """Folder of the embedding model."""
        return self.data_dir / "minilm"


def faults_of(error: ValidationError) -> list[str]:
    """Return one sentence a fault, each with the variable that gave the value."""
    return [f"{_variable_of(fault['loc'])}: {fault['msg']}" for fault in error.errors(include_url=False)]


def _variable_of(place: Sequence[int | str]) -> str:
    return f"SEMLABEL_{str(place[0]).upper().removeprefix('SEMLABEL_')}" if place else "settings"
