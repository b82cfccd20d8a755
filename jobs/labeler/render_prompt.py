"""How a person sees a prompt: one line a token, the query, then each item up to its answer position.

A profile may hold anything, so every token is printed with its control characters spelled: none reaches the terminal.
"""

from typing import Any

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

_console = Console(highlight=False)


def print_prompt(document: dict[str, Any], console: Console = _console) -> None:
    """Print the document of `jobs.labeler.show_prompt.prompt_document`."""
    tokens = document["tokens"]
    table = Table(
        Column("index", justify="right"),
        Column("position", justify="right"),
        "segment",
        Column("id", justify="right"),
        Column("token", overflow="fold"),
        Column("", no_wrap=True),
        box=None,
    )
    for row in tokens:
        segment = row["segment"] if row["item"] is None else f"item {row['item']}"
        style = "bold" if row["is_special"] else ""
        shown = Text(_visible(row["token"]), style=style)
        table.add_row(str(row["index"]), str(row["position"]), segment, str(row["id"]), shown, _mark(row))
    console.print(f"Layout {document['layout']}: {len(tokens):,} tokens", markup=False)
    console.print(table)
    for name, answer in document["answers"].items():
        ids = ", ".join(map(str, answer["ids"]))
        console.print(f"{name:<4}{_visible(answer['text'])!r} is token {ids}", markup=False)
    for fault in document["faults"]:
        console.print(f"fault: {_visible(fault)}", markup=False, soft_wrap=True)


def _mark(row: dict[str, Any]) -> str:
    if row["is_readout"]:
        return "<- the answer is read here"
    return "special" if row["is_special"] else ""


def _visible(text: str) -> str:
    """Blanks as they are, at an end between marks; line breaks and control characters as escapes."""
    spelled = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
    return f"\u2423{spelled[1:]}" if spelled.startswith(" ") else spelled
