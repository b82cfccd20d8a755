"""The commands `semlabel updates ...`. Each parses, calls one function and prints."""

import time
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from jobs.command_output import AsJson, emit
from jobs.settings import Settings

app = typer.Typer(help="Profile updates between refreshes: from an edit to its labels.", no_args_is_help=True)


@app.command()
def serve() -> None:
    """Take updates by gRPC, work on them, feed the key-value store and answer readers, until it is ended."""
    from jobs.updates.serve import serve as run_service

    run_service(Settings())


@app.command()
def send(
    member_id: Annotated[str, typer.Argument(help="Whose profile.")],
    text: Annotated[str | None, typer.Option(help="The new profile.")] = None,
    text_file: Annotated[Path | None, typer.Option(exists=True, dir_okay=False, help="The new profile.")] = None,
    removed: Annotated[bool, typer.Option("--removed", help="The member is gone.")] = False,
    version: Annotated[int | None, typer.Option(help="profile_version; unset: seconds since 1970.")] = None,
    wait: Annotated[float, typer.Option(min=0, help="Seconds to wait until the labels can be read.")] = 0.0,
    as_json: AsJson = False,
) -> None:
    """Send one update to the service, and say what became of it."""
    from jobs.render_updates import print_sent
    from jobs.updates.client import send as send_update
    from jobs.updates.update import ProfileUpdate

    if sum((text is not None, text_file is not None, removed)) != 1:
        raise typer.BadParameter("say one of them", param_hint="--text/--text-file/--removed")
    profile_text = text if text_file is None else text_file.read_text(encoding="utf-8")
    given = int(time.time()) if version is None else version
    update = ProfileUpdate(member_id=member_id, profile_version=given, profile_text=profile_text)
    sent = send_update(Settings(), update, wait_s=wait)
    emit(as_json, sent, lambda: print_sent(sent))


@app.command()
def load(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="JSON lines, an update each.")],
) -> None:
    """Put the updates of a file into the inbox, whether a service runs or not, until as many wait as may."""
    from jobs.updates.inbox import open_inbox
    from jobs.updates.take_in import read_lines, take_in

    inbox = open_inbox(Settings())
    emit(True, dict(Counter(outcome for _, outcome in take_in(inbox, read_lines(file)))))


@app.command()
def status(as_json: AsJson = False) -> None:
    """Say what lies in the inbox."""
    from jobs.render_updates import print_inbox
    from jobs.updates.inbox import open_inbox

    figures = open_inbox(Settings()).figures()
    age = None if figures.oldest_s is None else round(time.time() - figures.oldest_s, 1)
    found = {"waiting": figures.waiting, "taken": figures.taken, "oldest_age_s": age}
    emit(as_json, found, lambda: print_inbox(found))
