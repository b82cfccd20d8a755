"""# Table maintenance

Keeps ledger, tables and staging in order, so that reads stay fast and nothing is kept longer than it may be.

- **Reads** every table and the staging folder; **writes** the ledger (repaired and failed runs), rewrites small files,
  removes expired rows, files that no version in its retention needs, and staging of runs that are over. Then ends the
  engines that such runs left on a Ray that outlives them.
- **Runs** every day at 05:00 UTC, one at a time; safe beside refreshes: what a run that is not over reads or writes is
  left alone, its pinned table versions too.
- **Shows** in its result what it did, and the runs that are held.
- **Rerun**: clear the failed task; it finds what is left to do.
"""

from airflow.sdk import chain, dag

from semlabel_dags.job_runners import job_task
from semlabel_dags.refresh import DAG_SETTINGS, TRIGGER_ID


@dag(schedule="0 5 * * *", tags=["maintenance"], doc_md=__doc__, **DAG_SETTINGS)
def table_maintenance() -> None:
    """Declare the tasks; see the module's text."""
    chain(
        job_task("maintain_tables", values={"trigger_id": TRIGGER_ID}),  # first: it fails the runs that died
        job_task("end_orphan_engines", values={"run_id": "{{ ti.xcom_pull(task_ids='maintain_tables')['run_id'] }}"}),
    )


table_maintenance()
