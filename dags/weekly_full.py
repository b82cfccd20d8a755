"""# Weekly full refresh

Looks at every member again with the champion labeler, and scores only the pairs that no run has scored yet.

- **Reads** profiles, catalog, judgments, labels; **writes** candidates, judgments, coverage, labels, label_changes.
- **Runs** on Sundays at 02:00 UTC, one at a time; by hand with `semlabel refresh weekly_full`.
- **Rounds**: each is a task group; the rounds after the last one that any member needs are skipped.
- **Rerun**: clear the failed task. Every step is keyed by the run and writes its outputs once, so what is finished is
  never written twice. A new trigger is a new run: it reuses all judgments.
- **Takes effect** in `publish_labels`, in one commit; a run that fails before it leaves the labels as they were.
"""

from datetime import UTC, datetime

from airflow.sdk import chain, dag

from semlabel_dags.refresh import DEFAULT_ARGS, pin_inputs, refresh_rounds, retrieve_candidates, run_step


@dag(
    schedule="0 2 * * 0",
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    default_args=DEFAULT_ARGS,
    tags=["refresh"],
    doc_md=__doc__,
)
def weekly_full() -> None:
    """Declare the tasks; see the module's text."""
    chain(
        pin_inputs("weekly_full"),
        run_step("plan_refresh"),
        retrieve_candidates(),
        *refresh_rounds(),
        run_step("publish_labels", is_after_rounds=True),
        run_step("report_run", is_after_rounds=True),
    )


weekly_full()
