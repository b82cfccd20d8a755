"""The commands that answer questions about labels: audit, history, diff, replay; and forget, which erases a member."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from jobs.command_output import AsJson, confirm, emit
from jobs.settings import Settings

app = typer.Typer()

Member = Annotated[str, typer.Argument(help="A member's id; `semlabel web` searches.")]
MaybeQualification = Annotated[str | None, typer.Argument(help="A qualification's id, as in the catalog.")]


@app.command()
def audit(
    member_id: Member,
    qualification_id: MaybeQualification = None,
    as_of: Annotated[str | None, typer.Option(help="A published run, or a time (ISO 8601, UTC).")] = None,
    as_json: AsJson = False,
) -> None:
    """Say why a member has, or does not have, a label; without a qualification, show the member's label set.

    Exit code 4 where no table knows the member or the qualification.
    """
    from jobs.audit import audit_label, audit_member, unknown_ids
    from jobs.audit.render import print_member
    from jobs.audit.render_label import print_label

    settings = Settings()
    unknown = unknown_ids(settings, member_id, qualification_id)
    if qualification_id is None:
        member = audit_member(settings, member_id, as_of=as_of)
        emit(as_json, member, lambda: print_member(member))
    else:
        label = audit_label(settings, member_id, qualification_id, as_of=as_of)
        emit(as_json, label, lambda: print_label(label))
    _end_if(unknown)


@app.command()
def history(member_id: Member, qualification_id: MaybeQualification = None, as_json: AsJson = False) -> None:
    """List what published runs changed of a member's labels, oldest first, with the reasons.

    Exit code 4 where no table knows the member or the qualification.
    """
    from jobs.audit import label_history, unknown_ids
    from jobs.audit.render import print_history

    settings = Settings()
    unknown = unknown_ids(settings, member_id, qualification_id)
    changes = label_history(settings, member_id, qualification_id)
    document = {"member_id": member_id, "qualification_id": qualification_id, "changes": changes}
    emit(as_json, document, lambda: print_history(changes))
    _end_if(unknown)


def _end_if(unknown: list[str]) -> None:
    """End with exit code 4 if an id is unknown: the answer is right, but of nobody or of nothing."""
    if unknown:
        sys.stderr.write("".join(f"{sentence}\n" for sentence in unknown))
        raise typer.Exit(4)


@app.command()
def diff(
    run_a: Annotated[str, typer.Argument(help="A published run.")],
    run_b: Annotated[str, typer.Argument(help="Another one; usually the later.")],
    limit: Annotated[int, typer.Option(min=0, help="How many changes to list; all are counted.")] = 100,
    as_json: AsJson = False,
) -> None:
    """Compare the published labels as they stood after two runs."""
    from jobs.audit import run_diff
    from jobs.audit.render import print_run_diff

    found = run_diff(Settings(), run_a, run_b, limit=limit)
    emit(as_json, found, lambda: print_run_diff(found))


@app.command()
def replay(
    run: Annotated[str | None, typer.Option(help="Labels that this published run added or revised.")] = None,
    member: Annotated[str | None, typer.Option(help="Of this member alone.")] = None,
    qualification: Annotated[str | None, typer.Option(help="With --member: this pair alone.")] = None,
    sample: Annotated[int, typer.Option(min=1, help="How many labels to draw.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Of the draw.")] = 0,
    engine: Annotated[str | None, typer.Option(help="As SEMLABEL_ENGINE; the reference when left out.")] = None,
    tolerance: Annotated[
        float | None, typer.Option(min=0.0, help="Of a margin; by the artifact's tie_eps when left out.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Score labels again from their texts by the pinned labeler; exit code 1 when one does not come out the same."""
    from jobs.audit.render import print_replay
    from jobs.replay.replay_labels import replay_labels

    if qualification is not None and member is None:
        raise typer.BadParameter("a pair needs --member too", param_hint="--qualification")
    result = replay_labels(
        Settings(),
        run_id=run,
        member_id=member,
        qualification_id=qualification,
        n_sample=sample,
        seed=seed,
        engine=engine,
        tolerance=tolerance,
    )
    emit(as_json, result, lambda: print_replay(result))
    if result["n_mismatches"]:
        raise typer.Exit(1)


@app.command()
def forget(
    member_id: Member,
    work: Annotated[
        list[Path] | None,
        typer.Option(exists=True, file_okay=False, help="A labeler's work folder to clean too; repeat."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Erase a member from all that is kept; hashes and decisions stay, and no run labels the member again."""
    from jobs.audit.render import print_forgotten
    from jobs.erasure.forget_member import forget_member

    if not yes:
        confirm(f"Erase member {member_id!r} for good?")
    done = forget_member(Settings(), member_id, work=work or ())
    emit(as_json, done, lambda: print_forgotten(done))
