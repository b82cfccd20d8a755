"""# Daily incremental refresh

Brings the labels up to the profiles: members that are new, whose profile changed, who are gone, or whom an earlier run
left incomplete. Who that is comes from comparing each member with the published coverage, so a day that was missed is
caught up by the next run.

- **Reads** profiles, catalog, judgments, labels; **writes** candidates, judgments, coverage, labels, label_changes.
- **Runs** every day at 03:00 UTC, and when the profiles table has changed (looked at every `SEMLABEL_WATCH_PROFILES_S`,
  an hour by default), one at a time: changes during a run are one further run. By hand with
  `semlabel refresh daily_incremental`.
- **Leaves alone** what a changed catalog or labeler would change: that is `catalog_backfill` and `weekly_full`.
- **Rerun**: clear the failed task; what is finished is never written twice. A run without anyone in scope is normal: it
  starts no engine and makes no commit.
- **Takes effect** in `publish_labels`, in one commit; a run that fails before it leaves the labels as they were.
"""

from airflow.sdk import AssetOrTimeSchedule, CronTriggerTimetable, dag

from semlabel_dags.assets import PROFILES
from semlabel_dags.refresh import DAG_SETTINGS, RECOMPUTE, refresh_steps

AT_NIGHT_OR_ON_CHANGE = AssetOrTimeSchedule(
    timetable=CronTriggerTimetable("0 3 * * *", timezone="UTC"), assets=[PROFILES]
)


@dag(schedule=AT_NIGHT_OR_ON_CHANGE, params=RECOMPUTE, tags=["refresh"], doc_md=__doc__, **DAG_SETTINGS)
def daily_incremental() -> None:
    """Declare the tasks; see the module's text."""
    refresh_steps("daily_incremental")


daily_incremental()
