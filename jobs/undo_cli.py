"""The commands that undo: revoke, rollback, release. Each parses, calls one function and prints."""

import getpass
from typing import Annotated, Literal

import typer

from jobs.command_output import AsJson, emit, time_option
from jobs.settings import Settings

Reason = Annotated[str, typer.Option(help="Kept with the fact, for whoever reads it later.")]
Who = Annotated[str | None, typer.Option(help="Who says so; your user name unless told.")]
When = Annotated[str | None, typer.Option(help="ISO 8601; without a zone it is UTC.")]


def revoke(
    reason: Reason,
    fingerprint: Annotated[
        str | None, typer.Option(help="Of an engine: its JSON, or the start of its SHA-256.")
    ] = None,
    run: Annotated[str | None, typer.Option(help="What a run has judged.")] = None,
    since: When = None,
    until: When = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it concerns, and revoke nothing.")] = False,
    who: Who = None,
    as_json: AsJson = False,
) -> None:
    """Withdraw judgments; the next run of any kind repairs the members whose labels were made with them."""
    from jobs.render_undo import print_revoked
    from jobs.revoke import Request
    from jobs.revoke import revoke as revoke_judgments

    request = Request(
        fingerprint=fingerprint,
        run_id=run,
        since=time_option(since, "--since"),
        until=time_option(until, "--until"),
        reason=reason,
        who=who or getpass.getuser(),
    )
    done = revoke_judgments(Settings(), request, is_dry=dry_run)
    emit(as_json, done, lambda: print_revoked(done))


def rollback(
    run_id: Annotated[str, typer.Argument(help="The run to take back.")],
    reason: Reason = "",
    hold: Annotated[
        Literal["members", "artifact", "catalog"],
        typer.Option(help="What no run may use until it is released: who was restored, or what the run used."),
    ] = "members",
    force: Annotated[
        bool, typer.Option("--force", help="Take members back, too, whom a newer run has published.")
    ] = False,
    who: Who = None,
    as_json: AsJson = False,
) -> None:
    """Restore the labels from before a run, in one commit, and place a hold so that no schedule brings them back."""
    from jobs.foreground_session import foreground_session
    from jobs.render_undo import print_rolled_back
    from jobs.rollback import Request, roll_back

    settings = Settings()
    request = Request(run_id=run_id, hold=hold, is_forced=force, reason=reason, who=who or getpass.getuser())
    with foreground_session(settings, "rollback") as spark:
        done = roll_back(spark, settings, request)
    emit(as_json, done, lambda: print_rolled_back(done))


def release(
    hold_id: Annotated[str, typer.Argument(help="A hold; `semlabel runs` shows those that stand.")],
    reason: Reason = "",
    who: Who = None,
    as_json: AsJson = False,
) -> None:
    """Release a hold: the next runs look at its members again, and use its labeler and catalog."""
    from jobs.input_hold import release_hold
    from jobs.render_undo import print_released

    done = release_hold(Settings(), hold_id, reason=reason, who=who or getpass.getuser())
    emit(as_json, done, lambda: print_released(done))


def add_commands(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    for command in (revoke, rollback, release):
        app.command()(command)
