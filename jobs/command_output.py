"""What every command of `semlabel` shares: the --json option, and how a result is printed."""

import json
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


def emit(as_json: bool, document: Any, show: Callable[[], None] | None = None) -> None:
    """Print one JSON document on stdout, or what `show` prints for a person."""
    if as_json or show is None:
        sys.stdout.write(json.dumps(document, sort_keys=True, default=str) + "\n")
    else:
        show()
