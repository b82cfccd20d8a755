"""The commands `semlabel labeler ...`: from pairs to a champion. Each parses, calls one function and prints.

train WORK  ->  evaluate WORK  ->  register WORK/labeler  ->  gate VERSION  ->  promote VERSION
"""

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

from jobs.command_output import AsJson, emit
from jobs.settings import Settings

app = typer.Typer(help="The labeler: train, evaluate, register, gate, promote, compare.", no_args_is_help=True)

Work = Annotated[Path, typer.Argument(help="The work folder of a labeler in the making.")]
ExistingWork = Annotated[Path, typer.Argument(exists=True, file_okay=False, help="The work folder.")]
Version = Annotated[str, typer.Argument(help="A version's number, or an alias.")]


@app.command("base")
def make_base_folder(
    out: Annotated[Path, typer.Argument(help="Folder to write the base model to.")],
    name: Annotated[str, typer.Option(help="Which of the known base models.")] = "smollm2",
) -> None:
    """Convert an instruction model that a package brings to a folder that `train` takes."""
    from jobs.labeler.make_base import make_base

    emit(True, make_base(Settings().data_dir, out, name=name))


@app.command("sample-pairs")
def write_sample_pairs(
    out: Annotated[Path, typer.Argument(help="A .csv or .parquet file.")],
    members: Annotated[int, typer.Option(min=1, help="How many members.")] = 400,
    pairs_per_member: Annotated[int, typer.Option(min=1, help="How many pairs of each.")] = 40,
    supported_share: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Of a member's pairs, at the least; 0 keeps retrieval's own.")
    ] = 0.0,
    seed: Annotated[int, typer.Option(min=0, help="Other members for another seed.")] = 0,
) -> None:
    """Write judged pairs of made-up members, from the sample's generator, to try the recipe on."""
    from jobs.labeler.sample_pairs import sample_pairs

    counts = sample_pairs(
        Settings().data_dir,
        out,
        n_members=members,
        pairs_per_member=pairs_per_member,
        supported_share=supported_share,
        seed=seed,
    )
    emit(True, {"file": str(out), "members": members, **counts})


@app.command("split")
def split_own_pairs(
    work: Work,
    pairs: Annotated[Path, typer.Option(exists=True, help="Judged pairs: CSV, Parquet or JSON lines.")],
    seed: Annotated[int, typer.Option(min=0, help="Of the split.")] = 0,
) -> None:
    """Split own pairs by member into WORK/splits: train, validation, test; `train --pairs` does it too."""
    from jobs.labeler.split_pairs import split_pairs

    emit(True, split_pairs(pairs, work, seed=seed))


@app.command("train")
def train_labeler(
    work: Work,
    base: Annotated[Path, typer.Option(exists=True, file_okay=False, help="A Llama- or Qwen-shaped model folder.")],
    pairs: Annotated[
        Path | None, typer.Option(exists=True, help="Own pairs, split by member first. Without: WORK/splits as it is.")
    ] = None,
    contract: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="A prompt contract; else WORK/contract.json.")
    ] = None,
    readout: Annotated[
        str | None, typer.Option(help="Compact layout, read out at this special token; without any: chat layout.")
    ] = None,
    yes: Annotated[str, typer.Option(help="The answer YES, one token of the base.")] = "Yes",
    no: Annotated[str, typer.Option(help="The answer NO, one token of the base.")] = "No",
    lora: Annotated[bool, typer.Option("--lora", help="Train an adapter instead of all weights.")] = False,
    packed: Annotated[
        bool, typer.Option("--packed/--single", help="Many items of a profile under the MIS mask, or one.")
    ] = True,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the pairs.")] = 3,
    seed: Annotated[int, typer.Option(min=0, help="Of the split and of the training.")] = 0,
) -> None:
    """Split own pairs by member and fine-tune a base model on them; run again, it goes on where it was stopped.

    The prompt is that of --contract or of WORK/contract.json; without either, --readout, --yes and --no make one.
    """
    from jobs.labeler.finetune import finetune_labeler
    from jobs.labeler.split_pairs import split_pairs

    if pairs is not None:
        split_pairs(pairs, work, seed=seed)
    prompt = _contract(contract or work / "contract.json", readout=readout, yes=yes, no=no)
    choices: dict[str, Any] = {"lora": lora, "packed": packed, "epochs": epochs, "seed": seed}
    emit(True, finetune_labeler(work, base, prompt, state_dir=work / "state", **choices))


@app.command("show-prompt")
def show_labeler_prompt(
    folder: Annotated[Path, typer.Argument(exists=True, file_okay=False, help="A work or an artifact folder.")],
    profile: Annotated[str, typer.Option(help="A profile's text.")] = "Ward nurse, 4 years.",
    qualification: Annotated[
        list[str] | None, typer.Option(help="A qualification's text; repeat for more items.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a rendered prompt, token by token, with the faults of its contract."""
    from jobs.labeler.render_prompt import print_prompt
    from jobs.labeler.show_prompt import find_contract, prompt_document

    texts = qualification or ["3+ years as a registered nurse"]
    document = prompt_document(*find_contract(folder), profile, *texts)
    emit(as_json, document, lambda: print_prompt(document))


@app.command("evaluate")
def evaluate_labeler(
    work: ExistingWork,
    artifact: Annotated[
        Path | None, typer.Option(exists=True, file_okay=False, help="An artifact folder to judge, not WORK/model.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="The artifact's name; the folder's when left out.")] = None,
    target: Annotated[
        str, typer.Option(help="What the threshold is chosen for: best_f1, or precision>=0.98.")
    ] = "best_f1",
    catalog: Annotated[str, typer.Option(help="The domain that the members stand for.")] = "own data",
    description: Annotated[
        str, typer.Option(help="The domain in words.")
    ] = "members and candidates of the work folder",
    candidates_per_round: Annotated[int, typer.Option(min=1, help="N.")] = 50,
    stop_below: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="A round that accepts a smaller share is a member's last.")
    ] = 0.02,
    engine: Annotated[str | None, typer.Option(help="As SEMLABEL_ENGINE, which is taken when left out.")] = None,
    processes: Annotated[
        int, typer.Option(min=1, help="That score side by side and share SEMLABEL_ENGINE_THREADS.")
    ] = 1,
    tie_pairs: Annotated[int, typer.Option(min=1, help="Test pairs to score by the reference as well.")] = 100_000,
    derived_members: Annotated[
        int, typer.Option(min=1, help="Test members of the injection, non-English and order checks.")
    ] = 200,
    champion: Annotated[
        Path | None, typer.Option(exists=True, file_okay=False, help="An artifact folder to compare with.")
    ] = None,
    notes: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="Markdown for the card: data, making, limits.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Judge WORK/model on held-out members, choose its threshold, write the report and the artifact WORK/labeler.

    With --artifact, an artifact is judged on WORK/splits instead: what it is worth on other members.
    """
    from jobs.labeler.evaluate_work import evaluate_work
    from jobs.labeler.render import print_evaluation
    from mis_scoring.core.rounds import RoundRule

    settings = Settings()
    figures = evaluate_work(
        work,
        domain={"catalog": catalog, "description": description},
        name=name,
        target=target,
        engine=engine or settings.engine,
        engine_options=settings.engine_options,
        threads=max(1, settings.engine_threads // processes),
        processes=processes,
        tie_pairs=tie_pairs,
        derived_members=derived_members,
        round_rule=RoundRule(candidates_per_round=candidates_per_round, stop_below=stop_below),
        artifact_folder=artifact,
        champion_folder=champion,
        notes=notes.read_text(encoding="utf-8") if notes else "",
    )
    emit(as_json, figures, lambda: print_evaluation(figures, str(work)))


@app.command("register")
def register_labeler(
    folder: Annotated[
        Path, typer.Argument(exists=True, file_okay=False, help="An artifact folder, as labelers/esco-small is.")
    ],
    alias: Annotated[str | None, typer.Option(help="Alias that moves to this version.")] = None,
) -> None:
    """Register an artifact folder in MLflow as a new version; all its faults are listed at once."""
    from jobs.labeler.promote import require_gate_for_alias
    from jobs.labeler.registry import register

    require_gate_for_alias(Settings(), alias)
    version, artifact = register(Settings(), folder, alias=alias)
    emit(True, {"version": version, "artifact_id": artifact.artifact_id, "scorer_id": artifact.scorer_id})


@app.command("gate")
def gate_version(
    version: Version,
    limit: Annotated[
        list[str] | None, typer.Option("--limit", help="Another limit, such as f1_floor=0.85; repeat.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Put a version through the five checks between a challenger and the champion; exit code 1 when one fails."""
    from jobs.labeler.gate import gate_labeler
    from jobs.labeler.gate_result import GateLimits
    from jobs.labeler.render import print_gate

    result = gate_labeler(Settings(), version, limits=GateLimits(**_limits(limit or [])))
    document = result.as_dict()
    emit(as_json, document, lambda: print_gate(document))
    if not result.holds:
        raise typer.Exit(1)


@app.command("promote")
def promote_version(
    version: Version,
    force: Annotated[str | None, typer.Option("--force", help="Go past the gate; the reason is kept.")] = None,
    as_json: AsJson = False,
) -> None:
    """Make a version the champion that the next runs pin; refused without a passing gate of exactly this artifact."""
    from jobs.labeler.promote import promote_labeler
    from jobs.labeler.render import print_promotion

    report = promote_labeler(Settings(), version, force_reason=force)
    emit(as_json, report, lambda: print_promotion(report))


@app.command("list")
def list_labelers(as_json: AsJson = False) -> None:
    """List the versions, newest first."""
    from jobs.labeler.render import print_versions
    from jobs.labeler.versions import list_versions

    found = list_versions(Settings())
    emit(as_json, found, lambda: print_versions(found))


@app.command("diff")
def diff_labelers(one: Version, other: Version, as_json: AsJson = False) -> None:
    """Say which fields of two versions differ, and whether judgments are reused between them."""
    from jobs.labeler.render import print_diff
    from jobs.labeler.versions import diff_versions

    found = diff_versions(Settings(), one, other)
    emit(as_json, found, lambda: print_diff(found))


def _contract(path: Path, *, readout: str | None, yes: str, no: str) -> Any:
    """Read the contract, or make one where there is no file."""
    from mis_scoring.core.contract import PromptContract
    from mis_scoring.core.layouts import chat_layout, compact_layout, instructions_for

    if path.is_file():
        return PromptContract.load(path)
    layout = chat_layout(instructions_for(yes, no)) if readout is None else compact_layout(readout)
    return PromptContract(layout=layout, answers=(yes, no))


def _limits(pairs: list[str]) -> dict[str, float]:
    from jobs.labeler.gate_result import GateLimits

    known = [field.name for field in fields(GateLimits)]
    found = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        try:
            found[name] = float(value)
        except ValueError:
            raise typer.BadParameter(f"{pair!r} is no name=number", param_hint="--limit") from None
        if name not in known:
            raise typer.BadParameter(f"no limit {name!r}; there are {', '.join(known)}", param_hint="--limit")
    return found
