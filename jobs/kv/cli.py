"""The commands `semlabel kv ...`. Each parses, calls one function and prints."""

from contextlib import closing
from typing import Annotated

import typer

from jobs.command_output import AsJson, emit
from jobs.settings import Settings

app = typer.Typer(help="The published labels as a key-value store for downstream readers.", no_args_is_help=True)


@app.command()
def get(member_id: Annotated[str, typer.Argument(help="Whose labels.")], as_json: AsJson = False) -> None:
    """Show a member's labels as readers get them; exit code 1 where there are none to tell."""
    from jobs.errors import CheckFailedError
    from jobs.kv.service import document_of, read_labels
    from jobs.kv.store import open_store
    from jobs.render_updates import print_labels

    with closing(open_store(Settings())) as store:
        found = read_labels(store, member_id)
    if found is None:
        raise CheckFailedError(f"No labels of member {member_id!r}: no published run has covered the member.")
    document = document_of(*found)
    emit(as_json, document, lambda: print_labels(document))


@app.command()
def feed() -> None:
    """Feed what was published since the stored position; fill an empty store."""
    from dataclasses import asdict

    from jobs.kv.feeder import feed as feed_store
    from jobs.kv.store import open_store

    settings = Settings()
    with closing(open_store(settings)) as store:
        emit(True, asdict(feed_store(store, settings.tables)))


@app.command()
def rebuild() -> None:
    """Fill the store from the tables, in place of all that it holds; readers see the old set or the new one."""
    from jobs.kv.feeder import rebuild as rebuild_store
    from jobs.kv.store import open_store

    settings = Settings()
    with closing(open_store(settings)) as store:
        emit(True, {"members": rebuild_store(store, settings.tables)})


@app.command()
def check(as_json: AsJson = False) -> None:
    """Compare the store with the tables, member by member; exit code 1 where they differ."""
    from jobs.kv.from_delta import check_store
    from jobs.kv.store import open_store
    from jobs.render_updates import print_check

    settings = Settings()
    with closing(open_store(settings)) as store:
        found = check_store(store, settings.tables)
    emit(as_json, found, lambda: print_check(found))
    if not found["agrees"]:
        raise typer.Exit(1)
