"""The commands `semlabel deployment ...`: the services of one machine. Each parses, calls one function and prints."""

import sys

import typer

from jobs.command_output import AsJson, emit
from jobs.settings import Settings

app = typer.Typer(help="Airflow, MLflow and Spark as services of this machine.", no_args_is_help=True)


@app.command("up")
def start(as_json: AsJson = False) -> None:
    """Start the services and say where they are; DAGs are paused until `semlabel deployment airflow dags unpause`."""
    from jobs.local.deployment import start_deployment
    from jobs.render import print_deployment

    status = start_deployment(Settings())
    emit(as_json, status, lambda: print_deployment(status))


@app.command("down")
def end() -> None:
    """End the services that `up` started; tasks that ran are taken up again after the next `up`."""
    from jobs.local.deployment import end_deployment

    emit(True, {"ended": end_deployment(Settings())})


@app.command("status")
def show(as_json: AsJson = False) -> None:
    """Say where the services are and whether they run."""
    from jobs.local.deployment import deployment_status
    from jobs.render import print_deployment

    status = deployment_status(Settings())
    emit(as_json, status, lambda: print_deployment(status))


@app.command("airflow", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def airflow(context: typer.Context) -> None:
    """Run Airflow's own command line on the deployment, such as `airflow dags pause weekly_full`."""
    from jobs.local.deployment import run_airflow

    sys.exit(run_airflow(Settings(), context.args))
