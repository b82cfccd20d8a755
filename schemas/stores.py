"""Every place beside the tables where something is kept: whom it concerns, how long it stays, and who deletes it."""

from dataclasses import dataclass

from schemas.table import Personal


@dataclass(frozen=True, kw_only=True)
class Store:
    """A file or folder.

    Attributes:
        where: under the deployment's home (`SEMLABEL_HOME`) unless a setting moves it; `WORK` is a folder that a
            command is given.
        personal: what it holds of a person.
        kept: how long, in words.
        deleted_by: a job, or a person.
    """

    where: str
    holds: str
    personal: Personal
    kept: str
    deleted_by: str


STORES = (
    Store(
        where="staging/retrieval",
        holds="profile sections and the catalog's vectors of a run, read several times",
        personal="texts",
        kept="SEMLABEL_RUN_IDLE_HOURS after the run is over",
        deleted_by="maintain_tables",
    ),
    Store(
        where="staging/scores",
        holds="scores of a round between Ray and `judgments`, with their checkpoint",
        personal="ids",
        kept="SEMLABEL_RUN_IDLE_HOURS after the run is over",
        deleted_by="maintain_tables",
    ),
    Store(
        where="staging/artifacts",
        holds="labelers that runs pinned, copied from MLflow",
        personal="none",
        kept="until deleted; the next pin copies again",
        deleted_by="a person, for labelers that no open run pinned",
    ),
    Store(
        where="reports",
        holds="a run's JSON and HTML, promotions of labelers: counts and versions",
        personal="none",
        kept="until deleted",
        deleted_by="a person",
    ),
    Store(
        where="mlflow.db",
        holds="labeler versions, evaluations, figures of runs",
        personal="none",
        kept="until deleted",
        deleted_by="a person (`mlflow gc`)",
    ),
    Store(
        where="mlflow-artifacts",
        holds="labeler artifacts and evaluation reports; pairs nearest the threshold are never uploaded",
        personal="none",
        kept="until deleted",
        deleted_by="a person (`mlflow gc`)",
    ),
    Store(
        where="updates",
        holds="the inbox of profile updates (SEMLABEL_UPDATES_INBOX): profile texts while they wait, then the highest "
        "version of each member; its lock",
        personal="texts",
        kept="a text until its batch is published; a version for good",
        deleted_by="the update service, and `semlabel forget`",
    ),
    Store(
        where="kv",
        holds="the key-value store of labels (SEMLABEL_KV_URL): each member's qualification ids and scores; of who was "
        "erased the hash of the id",
        personal="ids",
        kept="the current value of a member",
        deleted_by="`semlabel forget`; the folder may be deleted, and is filled again",
    ),
    Store(
        where="airflow",
        holds="Airflow's database and task logs: parameters and counts",
        personal="none",
        kept="until deleted",
        deleted_by="a person (`airflow db clean`)",
    ),
    Store(
        where="deployment",
        holds="what `make up` keeps of its services: secrets, logs; the token of `semlabel web`",
        personal="none",
        kept="until deleted",
        deleted_by="a person",
    ),
    Store(
        where="lineage",
        holds="OpenLineage events: job names, table versions",
        personal="none",
        kept="until deleted",
        deleted_by="a person",
    ),
    Store(
        where="logs",
        holds="logs of services that a run starts for itself",
        personal="none",
        kept="until the next run",
        deleted_by="the next run",
    ),
    Store(
        where="spark-warehouse",
        holds="nothing: Spark wants a folder, and no table is made there",
        personal="none",
        kept="until deleted",
        deleted_by="a person",
    ),
    Store(
        where="WORK/splits, WORK/evaluation/borderline.*",
        holds="pairs for training and evaluation, with profile texts",
        personal="texts",
        kept="until deleted",
        deleted_by="a person, with the work folder",
    ),
    Store(
        where="temporary folders of Spark and Ray",
        holds="shuffles and objects of running jobs, which hold profile texts",
        personal="texts",
        kept="as long as the job, or the Ray cluster, runs",
        deleted_by="Spark and Ray; after a machine died, whoever cleans its temporary folder",
    ),
)
