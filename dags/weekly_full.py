"""# Weekly full refresh

Looks at every member again with the champion labeler, and scores only the pairs that no run has scored yet.

- **Reads** profiles, catalog, judgments, labels; **writes** candidates, judgments, coverage, labels, label_changes.
- **Runs** on Sundays at 02:00 UTC, one at a time; by hand with `semlabel refresh weekly_full`.
- **Rounds**: each is a task group; the rounds after the last one that any member needs are skipped.
- **Rerun**: clear the failed task. Every step is keyed by the run and writes its outputs once, so what is finished is
  never written twice. A new trigger is a new run: it reuses all judgments, unless
  it was triggered with `recompute`: then it opens a new generation and scores every pair.
- **Takes effect** in `publish_labels`, in one commit; a run that fails before it leaves the labels as they were.
"""

from airflow.sdk import dag

from semlabel_dags.refresh import DAG_SETTINGS, RECOMPUTE, refresh_steps


@dag(schedule="0 2 * * 0", params=RECOMPUTE, tags=["refresh"], doc_md=__doc__, **DAG_SETTINGS)
def weekly_full() -> None:
    """Declare the tasks; see the module's text."""
    refresh_steps("weekly_full")


weekly_full()
