"""Which tables a job reads and writes, at which versions, as OpenLineage datasets; no row and no text of them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow.providers.openlineage.extractors import OperatorLineage

# job: (reads, writes); what is not here touches no table, or any
TABLES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "pin_inputs": (("profiles", "catalog"), ("runs",)),
    "scope_members": (("profiles", "catalog", "coverage", "revocations", "holds", "erasures"), ("scope",)),
    "retrieve_candidates": (("scope", "profiles", "catalog"), ("candidates", "embeddings", "quarantine")),
    "plan_refresh": (
        ("scope", "profiles", "catalog", "candidates", "judgments", "revocations", "coverage", "labels"),
        ("member_plans", "runs"),
    ),
    "build_round": (("profiles", "catalog", "candidates", "judgments", "revocations"), ("member_rounds", "texts")),
    "score_round": (("member_rounds",), ()),
    "stop_early": (("member_rounds", "scope", "revocations"), ("judgments", "round_outcomes")),
    "publish_labels": (
        (
            *("scope", "catalog", "candidates", "member_rounds", "round_outcomes", "judgments"),
            *("revocations", "holds", "erasures"),
        ),
        ("coverage", "label_changes", "stop_sample", "labels"),
    ),
    "report_run": (("coverage", "labels", "label_changes"), ()),
}
_VERSIONS = {  # tables whose version is known better than "the one that stands now"
    "profiles": "profiles_delta_version",
    "catalog": "catalog_delta_version",
    "labels": "labels_version",
}


def lineage_of(job: str, known: Mapping[str, Any]) -> "OperatorLineage":
    """Return a finished job's inputs and outputs.

    Args:
        known: the job's parameters and its result. An input that the run pinned has the pinned version, `labels` as an
            output that of the run's own commit (none: no output), every other table the version that stands now.
    """
    from airflow.providers.openlineage.extractors import OperatorLineage

    reads, writes = TABLES.get(job, ((), ()))
    pins = _pins(known.get("run_id")) if reads else {}  # maintenance and promotions pin nothing
    changed = [name for name in writes if name != "labels" or known.get("labels_version") is not None]
    return OperatorLineage(
        inputs=[found for name in reads if (found := _dataset(name, pins))],
        outputs=[found for name in changed if (found := _dataset(name, known))],
    )


def _dataset(table: str, known: Mapping[str, Any]) -> Any:
    """Return the dataset of a table; None where the table is not there."""
    from deltalake import DeltaTable
    from openlineage.client.event_v2 import Dataset
    from openlineage.client.facet_v2 import dataset_version_dataset

    from jobs.settings import Settings

    folder = str(Settings().tables / table)
    if not DeltaTable.is_deltatable(folder):
        return None
    version = known.get(_VERSIONS.get(table, ""))
    found = DeltaTable(folder).version() if version is None else version
    facet = dataset_version_dataset.DatasetVersionDatasetFacet(datasetVersion=str(found))
    return Dataset(namespace="file", name=folder, facets={"version": facet})


def _pins(run_id: str | None) -> dict[str, Any]:
    if run_id is None:
        return {}
    from jobs.settings import Settings
    from jobs.table_reader import pins_of

    return vars(pins_of(Settings().tables, run_id))
