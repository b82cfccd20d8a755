"""All that a deployment sets, in one typed object; local and cluster differ in these values only.

Each field is read from the environment as SEMLABEL_<NAME>, or from a `.env` file in the working folder.
"""

from functools import cached_property
from pathlib import Path

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

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
    engine: str = "cascade"
    engine_threads: int = Field(2, ge=1)
    n_engines: int = Field(1, ge=1, description="engines that score at a time")
    gpus_per_engine: float = Field(0.0, ge=0, description="a fraction such as 0.5 puts several on one GPU")
    engine_idle_hours: float = Field(
        48.0, gt=0, description="a run without an event for so long is over: its engines are ended; above any round"
    )

    @field_validator("table_root", "staging_root", mode="before")
    @classmethod
    def _refuse_object_stores(cls, value: object) -> object:
        if isinstance(value, str) and "://" in value and not value.startswith("file://"):
            raise ValueError(
                f"{value!r} is no file system with atomic rename; object stores are not supported: give a local or "
                "shared folder"
            )
        return value.removeprefix("file://") if isinstance(value, str) else value

    @cached_property
    def tables(self) -> Path:
        """Root folder of all Delta tables."""
        return (self.table_root or self.home / "tables").resolve()

    @cached_property
    def staging(self) -> Path:
        """Root folder of scores and artifacts on their way between jobs."""
        return (self.staging_root or self.home / "staging").resolve()

    @cached_property
    def reports(self) -> Path:
        """Where reports of runs are left."""
        return (self.home / "reports").resolve()

    @cached_property
    def tracking_uri(self) -> str:
        """MLflow's tracking and registry URI; sqlite under `home` by default, no server."""
        return self.mlflow_uri or f"sqlite:///{(self.home / 'mlflow.db').resolve()}"

    @cached_property
    def minilm_dir(self) -> Path:
        """Folder of the embedding model."""
        return self.data_dir / "minilm"
