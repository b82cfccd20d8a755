"""# Catalog backfill

Brings the labels up to a new catalog version, and scores no pair again that is still true.

- **Reads** profiles, catalog, judgments, labels; **writes** candidates, judgments, coverage, labels, label_changes.
- **Runs** when the catalog table has changed (looked at every `SEMLABEL_WATCH_CATALOG_S`, a minute by default), and
  every day at 04:00 UTC for what changed while it was paused; one at a time: changes during a run are one further run.
  A run that finds nothing to do is normal: it starts no engine and makes no commit. By hand with
  `semlabel refresh catalog_backfill`.
- **Price**: `plan_refresh` says members, pairs, tokens, money and labels, each at least, as expected and at most, and
  stops above the deployment's ceiling; `approve_plan` shows them. By then members are retrieved, which needs no engine.
  `semlabel plan catalog_backfill` says the same and ends there. A person is asked first where
  `SEMLABEL_APPROVE_PLANS` is true or the run was triggered with `approve_plan`: Approve or Reject under Browse,
  Required Actions. A rejected plan ends the run (`rejected` in the ledger), and spends nothing; the next run asks
  again, and `weekly_full` does not ask.
- **Rerun**: clear the failed task; what is finished is never written twice.
- **Takes effect** in `publish_labels`, in one commit; a run that fails before it leaves the labels as they were.
"""

from airflow.sdk import AssetOrTimeSchedule, CronTriggerTimetable, Param, dag

from semlabel_dags.assets import CATALOG
from semlabel_dags.plan_approval import PlanApproval
from semlabel_dags.refresh import DAG_SETTINGS, RECOMPUTE, RUN_ID, refresh_steps

ON_CHANGE_OR_NEXT_NIGHT = AssetOrTimeSchedule(
    timetable=CronTriggerTimetable("0 4 * * *", timezone="UTC"), assets=[CATALOG]
)
ASK = Param(None, type=["null", "boolean"], description="Ask a person first; unset: as the deployment says.")


@dag(
    schedule=ON_CHANGE_OR_NEXT_NIGHT,
    params={"approve_plan": ASK} | RECOMPUTE,
    tags=["refresh"],
    doc_md=__doc__,
    **DAG_SETTINGS,
)
def catalog_backfill() -> None:
    """Declare the tasks; see the module's text."""
    refresh_steps("catalog_backfill", before_spending=[PlanApproval(task_id="approve_plan", ledger_run_id=RUN_ID)])


catalog_backfill()
