"""# Labeler promotion

Makes a labeler the champion that the next runs pin, through the gate, and says what that means before it costs.

- **Reads** the labeler's version or work folder, published coverage; **writes** MLflow (gate, aliases), the reports.
- **Runs** by hand: `semlabel deployment airflow dags trigger labeler_promotion --conf '{"labeler": "challenger"}'`;
  `labeler` is a version's number, an alias, or the work folder of a trained labeler, which is judged and registered.
- **Gate**: a version that does not keep a limit ends the run, and the champion stays;
  `semlabel labeler promote --force` is the only way past it.
- **Afterwards** nothing is scored: members are retrieved, and `plan_refresh` plans a full refresh with the new
  champion: members, pairs, tokens, money, and whether a ceiling would stop it; in the ledger that run ends `planned`.
  The next `weekly_full` does it; trigger it to have it sooner. DAGs that schedule on the asset `labeler` are told.
- **Rerun**: clear the failed task; a version that is the champion is promoted again without effect.
- **Takes effect** in `promote_labeler`, for runs that are pinned later; undo with
  `semlabel labeler promote previous_champion`.
"""

from airflow.sdk import Param, chain, dag

from semlabel_dags.assets import NEW_LABELER
from semlabel_dags.job_runners import job_task
from semlabel_dags.refresh import DAG_SETTINGS, TRIGGER_ID, plan_steps

LABELER = Param("challenger", type="string", description="A version's number, an alias, or a work folder.")
EVALUATED = "{{ ti.xcom_pull(task_ids='evaluate_labeler')['%s'] }}"
OF_VERSION = {"run_id": EVALUATED % "run_id", "version": EVALUATED % "version"}


@dag(schedule=None, params={"labeler": LABELER}, tags=["labeler"], doc_md=__doc__, **DAG_SETTINGS)
def labeler_promotion() -> None:
    """Declare the tasks; see the module's text."""
    chain(
        job_task("evaluate_labeler", values={"trigger_id": TRIGGER_ID, "labeler": "{{ params.labeler }}"}),
        job_task("gate_labeler", values=OF_VERSION),
        job_task("promote_labeler", values=OF_VERSION, announcement=NEW_LABELER, outlets=[NEW_LABELER.outlet]),
        *plan_steps("weekly_full", ends_run=True),  # as the next weekly run would pin and plan
    )


labeler_promotion()
