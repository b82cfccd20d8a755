"""What every command of `semlabel` shares: the --json option, how a result is printed, how a person is asked."""

import json
import sys
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from jobs.iso_time import time_of

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


def emit(as_json: bool, document: Any, show: Callable[[], None] | None = None) -> None:
    """Print one JSON document on stdout, or what `show` prints for a person."""
    if as_json or show is None:
        sys.stdout.write(json.dumps(document, sort_keys=True, default=str) + "\n")
    else:
        show()


def time_option(text: str | None, option: str) -> datetime | None:
    """Return what a person gave as a time; wrong usage where it is none."""
    if text is None:
        return None
    try:
        return time_of(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is no time in ISO 8601", param_hint=option) from error


def confirm(question: str) -> None:
    """Ask on stderr, and end the command unless the answer is yes; where nobody answers, say that --yes does."""
    try:
        is_agreed = typer.confirm(question, err=True)
    except typer.Abort:
        if sys.stdin.isatty():  # Ctrl-C
            raise
        sys.stderr.write("\nNobody is there to answer, so nothing was done: --yes goes on without asking.\n")
        raise typer.Exit(2) from None
    if not is_agreed:
        sys.stderr.write("Nothing was done.\n")
        raise typer.Exit(1)


def confirm_replacing(root: Path, own_rows: Mapping[str, int]) -> None:
    """Ask before tables that no sample can bring back are replaced; `own_rows` as in `jobs.domain`."""
    if own_rows:
        named = " and ".join(f"{name} ({count:,} row(s))" for name, count in own_rows.items())
        confirm(f"Replace {named} under {root}? They are no sample (--yes: unasked)")
