"""Serve an artifact's folder: `python -m mis_scoring.serving FOLDER`. `semlabel serve` serves the champion instead."""

import argparse
import json
import logging
import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.core.errors import SemlabelError
from mis_scoring.engines.score_spec import ScoreSpec
from mis_scoring.serving.server import serve
from mis_scoring.serving.settings import ServerSettings


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until SIGTERM."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S", stream=sys.stderr)
    options = vars(_parser().parse_args(arguments))
    folder, engine, threads, settings = (options.pop(name) for name in ("folder", "engine", "threads", "options"))
    try:
        artifact = LabelerArtifact.load(folder)
        spec = ScoreSpec.of(
            artifact, folder, engine=engine, engine_threads=threads, engine_options=json.loads(settings)
        )
        serve(artifact, spec, ServerSettings(**options))
    except SemlabelError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m mis_scoring.serving", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="an artifact: checkpoint, tokenizer, labeler.json")
    parser.add_argument("--engine", default="cascade", help="default %(default)s")
    parser.add_argument("--threads", type=int, default=2, help="of the engine; default %(default)s")
    parser.add_argument("--options", default="{}", help="of the engine, as JSON")
    for field in fields(ServerSettings):
        name = f"--{field.name.replace('_', '-')}"
        if isinstance(field.default, bool):
            parser.add_argument(name, action=argparse.BooleanOptionalAction, default=field.default)
        else:
            kind = Path if field.default is None else type(field.default)
            parser.add_argument(name, type=kind, default=field.default, help="default %(default)s")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
