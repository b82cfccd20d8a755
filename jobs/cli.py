"""The command line `semlabel`. Each command parses, calls one function and prints; nothing is decided here.

Every reading command has --json: one document on stdout, logs on stderr. Exit codes: 0 done, 1 a check did not hold,
2 wrong usage, 3 bad input (all faults listed), 4 something needed is missing, 5 an engine failed, 70 anything else.
"""

import sys
import traceback
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from jobs.audit.cli import app as audit_app
from jobs.command_output import AsJson, confirm_replacing, emit, time_option
from jobs.kv.cli import app as kv_app
from jobs.labeler.cli import app as labeler_app
from jobs.local.cli import app as deployment_app
from jobs.sample.seeds import MAX_SAMPLE_SEED
from jobs.settings import Settings, faults_of
from jobs.undo_cli import add_commands as add_undo_commands
from jobs.updates.cli import app as updates_app

app = typer.Typer(
    help="Keep LLM-made labels of a population fresh, cheap, explainable and right.",
    epilog="First: semlabel sample (or load), semlabel refresh; then semlabel runs, semlabel audit. Exit codes: 0 "
    "done, 1 a check did not hold, 2 wrong usage, 3 bad input, 4 something needed is missing, 5 an engine failed.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
_KINDS = (
    "weekly_full: everyone; daily_incremental: whose profile changed; catalog_backfill: whom a new catalog concerns."
)
_FILE = "CSV with a header, or Parquet, a file or a folder, with the columns"
_CANDIDATES = "How many candidates to retrieve for each member (K); unset: SEMLABEL_CANDIDATES_PER_MEMBER."

app.add_typer(audit_app)
app.add_typer(labeler_app, name="labeler")
app.add_typer(deployment_app, name="deployment")
app.add_typer(updates_app, name="updates")
app.add_typer(kv_app, name="kv")


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """Check what the jobs need: Java, jars, data, versions, disk, write access, tables, labeler."""
    from jobs.doctor import examine
    from jobs.render import print_checks

    checks = examine(Settings())
    emit(as_json, [check.as_dict() for check in checks], lambda: print_checks(checks))
    if not all(check.is_ok or check.is_optional for check in checks):
        raise typer.Exit(4)


@app.command()
def sample(
    members: Annotated[int, typer.Option(min=1, help="How many members.")] = 500,
    full_catalog: Annotated[
        bool, typer.Option("--full-catalog", help="All of ESCO instead of the default part.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, max=MAX_SAMPLE_SEED, help="Seed of the members.")] = 0,
    if_missing: Annotated[bool, typer.Option("--if-missing", help="Do nothing where tables exist.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Replace tables that are no sample without asking.")] = False,
    catalog_update: Annotated[
        bool,
        typer.Option("--catalog-update", help="Bring the sample's catalog to a later version of ESCO, and no more."),
    ] = False,
) -> None:
    """Write a sample: the ESCO catalog, generated profiles and their known answers; register the bundled labeler."""
    from jobs.domain import own_rows
    from jobs.update_sample import update_sample_catalog
    from jobs.write_sample import has_upstream_tables, write_sample
    from schemas.catalog import CATALOG
    from schemas.profiles import PROFILES

    settings = Settings()
    if catalog_update:
        emit(False, update_sample_catalog(settings))
        return
    if if_missing and has_upstream_tables(settings):
        return
    if not yes:
        confirm_replacing(settings.tables, own_rows(settings.tables, (PROFILES, CATALOG)))
    emit(False, write_sample(settings, n_members=members, full_catalog=full_catalog, seed=seed))


@app.command()
def load(
    profiles: Annotated[Path | None, typer.Option(exists=True, help=f"{_FILE}: member_id, profile_text.")] = None,
    catalog: Annotated[
        Path | None, typer.Option(exists=True, help=f"{_FILE}: qualification_id, category, text.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Each file is its whole table, from now on.")] = False,
    upsert: Annotated[bool, typer.Option("--upsert", help="The files add and change rows; others stay.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Replace tables that are no sample without asking.")] = False,
) -> None:
    """Load own profiles and catalog; where the files have faults, all are listed at once and nothing is written."""
    from jobs.domain import own_rows
    from jobs.load_data import load_data
    from schemas.catalog import CATALOG
    from schemas.profiles import PROFILES

    if replace == upsert:
        raise typer.BadParameter("say --replace or --upsert", param_hint="--replace/--upsert")
    if profiles is None and catalog is None:
        raise typer.BadParameter("name --profiles, --catalog or both", param_hint="--profiles/--catalog")
    settings = Settings()
    replaced = [table for table, path in ((PROFILES, profiles), (CATALOG, catalog)) if replace and path is not None]

    def agree() -> None:
        if not yes:
            confirm_replacing(settings.tables, own_rows(settings.tables, replaced))

    emit(False, load_data(settings, profiles=profiles, catalog=catalog, is_upsert=upsert, agree=agree))


@app.command()
def refresh(
    kind: Annotated[str, typer.Argument(help=_KINDS)] = "weekly_full",
    candidates: Annotated[int | None, typer.Option(min=1, help=_CANDIDATES)] = None,
    recompute: Annotated[
        bool, typer.Option("--recompute", help="Score every pair anew, in a new generation of judgments.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run a refresh through Airflow in the foreground, and end with its summary; exit code 1 where a task failed."""
    from jobs.refresh import run_refresh
    from jobs.render_report import print_report

    changes = {} if candidates is None else {"candidates_per_member": candidates}
    settings = Settings().model_copy(update=changes)
    report = run_refresh(settings, kind, recompute=recompute)
    emit(as_json, report, lambda: print_report(report, settings))


@app.command()
def plan(
    kind: Annotated[str, typer.Argument(help=_KINDS)] = "weekly_full",
    candidates: Annotated[int | None, typer.Option(min=1, help=_CANDIDATES)] = None,
    recompute: Annotated[bool, typer.Option("--recompute", help="As if every pair were scored anew.")] = False,
    pilot: Annotated[
        bool,
        typer.Option("--pilot", help="Score 50 members first, and expect by them; the refresh reuses what they cost."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Say what a refresh would take, and score nothing but a pilot; exit code 1 where a ceiling would stop it."""
    from jobs.plan_run import plan_run
    from jobs.render_plan import print_plan

    changes = {} if candidates is None else {"candidates_per_member": candidates}
    planned = plan_run(Settings().model_copy(update=changes), kind, recompute=recompute, with_pilot=pilot)
    emit(as_json, planned, lambda: print_plan(planned))
    if planned["above_ceiling"]:
        raise typer.Exit(1)


@app.command()
def catalog_diff(
    then: Annotated[str | None, typer.Argument(help="Delta version or digest; unset: what labels stand on.")] = None,
    now: Annotated[str | None, typer.Argument(help="The same; unset: the catalog as it is.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compare two versions of the catalog: entries added, gone, with another text or category; and whom it moves."""
    from jobs.catalog_diff import catalog_diff as compare
    from jobs.render_plan import print_catalog_diff

    found = compare(Settings(), then, now)
    emit(as_json, found, lambda: print_catalog_diff(found))


@app.command()
def job(
    name: Annotated[str, typer.Argument(help="A job, such as build_round.")],
    values: Annotated[list[str] | None, typer.Option("--set", help="A parameter, as name=value; repeat.")] = None,
    attempt: Annotated[int, typer.Option(min=1, help="Which try of the task this is.")] = 1,
    triggered_at: Annotated[str | None, typer.Option(help="When the run was to start, ISO 8601.")] = None,
) -> None:
    """Run one job, as a task does; prints its result as JSON, or {"error": message}."""
    from jobs.run_job import JOBS, run_job
    from mis_scoring.core.errors import SemlabelError

    if name not in JOBS:
        raise typer.BadParameter(f"no job {name!r}; there are {', '.join(JOBS)}", param_hint="NAME")
    parameters = {key: value for key, _, value in (pair.partition("=") for pair in values or [])}
    since = time_option(triggered_at, "--triggered-at")
    try:
        emit(True, run_job(name, parameters, Settings(), attempt=attempt, triggered_at=since))
    except SemlabelError as error:
        emit(True, {"error": str(error)})
        raise


@app.command()
def runs(
    run_id: Annotated[str | None, typer.Argument(help="Show this run alone: its pins, and what each step did.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many runs to list.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List the runs, newest first, and the holds that stand; or show one run."""
    from jobs.input_hold import show_holds
    from jobs.list_runs import list_runs, show_run
    from jobs.render import print_run, print_runs
    from jobs.render_undo import print_holds

    settings = Settings()
    if run_id is None:
        found, holds = list_runs(settings, limit=limit), show_holds(settings.tables)
        emit(as_json, found, lambda: print_runs(found))
        if not as_json:
            print_holds(holds)
    else:
        shown = show_run(settings, run_id)
        emit(as_json, shown, lambda: print_run(shown))


@app.command()
def approve(
    run_id: Annotated[str, typer.Argument(help="A held run; `semlabel runs` shows which are.")],
    as_json: AsJson = False,
) -> None:
    """Let a run that is past a publication limit go on."""
    from jobs.hold import approve as approve_run
    from jobs.render import print_approved

    approved = approve_run(Settings(), run_id)
    emit(as_json, approved, lambda: print_approved(approved))


add_undo_commands(app)


@app.command()
def stop_rule(
    run_ids: Annotated[
        list[str] | None, typer.Argument(metavar="[RUN]...", help="Runs whose samples to take together.")
    ] = None,
    candidates_per_round: Annotated[
        list[int] | None, typer.Option("--round", min=1, help="N to draw as well; repeat.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Draw what other round rules would lose in labels and save in pairs, from the members judged past their stop."""
    from jobs.render_stop_rule import print_stop_rule
    from jobs.stop_rule import stop_rule as draw

    found = draw(Settings(), run_ids or [], candidates_per_round or [])
    emit(as_json, found, lambda: print_stop_rule(found))


@app.command()
def metrics(
    host: Annotated[str, typer.Option(help="Address to answer at; loopback unless told.")] = "127.0.0.1",
    once: Annotated[bool, typer.Option("--once", help="Print the metrics as text and end.")] = False,
) -> None:
    """Serve the deployment's metrics to Prometheus at /metrics, port SEMLABEL_METRICS_PORT."""
    from prometheus_client import generate_latest

    from jobs.metrics.exporter import registry_of, serve

    settings = Settings()
    if once:
        sys.stdout.write(generate_latest(registry_of(settings)).decode())
    else:
        serve(settings, host=host, port=settings.metrics_port)


@app.command()
def web(
    host: Annotated[str, typer.Option(help="Address to answer at; loopback unless told.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8070,
) -> None:
    """Serve the auditor's pages to whoever has the token; prints the link that logs in."""
    from jobs.web.serve import serve

    serve(Settings(), host=host, port=port)


@app.command()
def serve() -> None:
    """Serve the champion's scores by gRPC until interrupted; settings SEMLABEL_SERVE_* (docs/serving.md)."""
    from jobs.serve_labeler import serve_labeler

    serve_labeler(Settings())


@app.command()
def freshness(as_json: AsJson = False) -> None:
    """Say how old the published labels are; exit code 1 when older than SEMLABEL_FRESHNESS_LIMIT_HOURS."""
    from jobs.freshness import check_freshness
    from jobs.render import print_freshness

    found = check_freshness(Settings())
    emit(as_json, found, lambda: print_freshness(found))
    if not found["is_fresh"]:
        raise typer.Exit(1)


def main() -> None:
    """Run the command line; an error of ours is one clear message and its exit code."""
    from jobs.exit_codes import UNEXPECTED, exit_code_of
    from jobs.logs import log_to_stderr
    from mis_scoring.core.errors import SemlabelError

    log_to_stderr()
    try:
        app()
    except SemlabelError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(exit_code_of(error))
    except ValidationError as error:  # a setting from the environment
        sys.stderr.write("".join(f"{fault}\n" for fault in faults_of(error)))
        sys.exit(2)
    except Exception:  # a lost connection, a full disk: told apart from ours, since a task tries it again
        traceback.print_exc()
        sys.exit(UNEXPECTED)


if __name__ == "__main__":
    main()
