"""A person's approval of a plan before it spends, in Airflow's own page of required actions."""

from collections.abc import Mapping
from typing import Any

from airflow.providers.standard.operators.hitl import ApprovalOperator


class PlanApproval(ApprovalOperator):
    """Show the plan and its price; wait for Approve where the deployment or the trigger wants it.

    A rejected plan skips all that follows: nothing is spent, the labels stay as they are, and the ledger has the run as
    rejected.

    Args:
        ledger_run_id: the run in the ledger; templated.
    """

    template_fields = (*ApprovalOperator.template_fields, "ledger_run_id")

    def __init__(self, *, ledger_run_id: str, **kwargs: Any) -> None:
        super().__init__(
            subject="Spend this on {{ dag.dag_id }} {{ run_id }}?", ignore_downstream_trigger_rules=True, **kwargs
        )
        self.ledger_run_id = ledger_run_id

    def execute(self, context: Mapping[str, Any]) -> Any:  # type: ignore[override]
        """Wait for the answer, unless nobody wants to be asked (the run's param, else SEMLABEL_APPROVE_PLANS)."""
        from jobs.plan_words import plan_as_markdown
        from jobs.settings import Settings

        self.body = plan_as_markdown(context["ti"].xcom_pull(task_ids="plan_refresh"))
        self.log.info("%s: %s", self.subject, self.body)
        asked = context["params"].get("approve_plan")
        if asked is None:
            asked = Settings().approve_plans
        return super().execute(context) if asked else None  # type: ignore[arg-type]

    def execute_complete(self, context: Mapping[str, Any], event: dict[str, Any]) -> Any:  # type: ignore[override]
        """Go on with the answer; a rejected run ends here, in the ledger too."""
        from jobs.run_failure import reject_run
        from jobs.settings import Settings

        answer = super().execute_complete(context, event)  # type: ignore[arg-type]
        if self.REJECT in answer["chosen_options"]:
            reject_run(Settings().tables, self.ledger_run_id)
        return answer
