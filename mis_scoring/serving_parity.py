"""Do batch and server decide alike? The same pairs through both: `python -m mis_scoring.serving_parity FOLDER PAIRS`.

PAIRS is a file of evaluation members (`evaluation.members`). The batch side is the score stage's own actor, a member a
row; the server's gets the same rounds from several callers at once, so that they are joined with others, and once more
as streams, so that every query is prefilled before its items. Exit code 1 where one decision differs.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.core.readout import FloatArray, decisions
from mis_scoring.engines.score_spec import ScoreSpec
from mis_scoring.evaluation.members import read_members
from mis_scoring.ray_data.score import ScoreRows
from mis_scoring.ray_data.tokenize import TokenizeRows
from mis_scoring.serving.client import ScoringClient

N_CALLERS = 4
_ROWS_PER_BATCH = 32
_TIMEOUT_S = 300.0


@dataclass(frozen=True, kw_only=True)
class Round:
    """One query and its items, rendered."""

    query: str
    items: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What one path gave: margins of all pairs, in the order of the rounds, and which the reference decided."""

    margins: FloatArray
    is_reference: Any


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, print one JSON document, and return 0 where no decision differs."""
    options = _parser().parse_args(arguments)
    artifact = LabelerArtifact.load(options.folder)
    spec = ScoreSpec.of(
        artifact,
        options.folder,
        engine=options.engine,
        engine_threads=options.threads,
        engine_options=json.loads(options.options),
    )
    rounds = rounds_of(artifact, options.pairs)
    batch = batch_judged(spec, rounds)
    with (
        _server(options) as address,
        ScoringClient(address, artifact_id=artifact.artifact_id, timeout_s=_TIMEOUT_S) as client,
    ):
        found = {
            "one-part": compare(artifact.threshold, batch, server_judged(client, rounds)),
            "two-part": compare(artifact.threshold, batch, server_judged(client, rounds, two_part=True)),
        }
        engine = json.loads(client.describe().engine)
    report = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "artifact_id": artifact.artifact_id,
        "engine": engine,
        "rounds": len(rounds),
        "pairs": len(batch.margins),
        "tie_checked": int(batch.is_reference.sum()),
        "against_batch": found,
    }
    sys.stdout.write(json.dumps(report, indent=2) + "\n")
    return int(any(one["flips"] for one in found.values()))


def rounds_of(artifact: LabelerArtifact, pairs: Path) -> list[Round]:
    """Return the rounds of a file of evaluation members, as a refresh would make them."""
    layout, size = artifact.prompt, artifact.round_rule.candidates_per_round
    return [
        Round(
            query=layout.render_query(member.profile_text),
            items=[layout.render_item(one.text) for one in member.candidates[start : start + size]],
        )
        for member in read_members(pairs)
        for start in range(0, len(member.candidates), size)
    ]


def batch_judged(spec: ScoreSpec, rounds: Sequence[Round]) -> Judged:
    """Judge rounds by the score stage's own actor, in this process and without Ray.

    Raises:
        AssertionError: a row of the stage failed.
    """
    tokenize, score = TokenizeRows(spec), ScoreRows(spec, _TIMEOUT_S)
    batches = [rounds[start : start + _ROWS_PER_BATCH] for start in range(0, len(rounds), _ROWS_PER_BATCH)]
    rows = pa.concat_tables([score(tokenize(_table(batch))) for batch in batches])
    assert rows["error"].null_count == len(rows), "the batch path refused a row"
    return Judged(
        margins=np.concatenate([np.asarray(one, np.float32) for one in rows["margins"].to_pylist()]),
        is_reference=np.concatenate([np.asarray(one, np.bool_) for one in rows["is_reference"].to_pylist()]),
    )


def server_judged(client: ScoringClient, rounds: Sequence[Round], *, two_part: bool = False) -> Judged:
    """Judge rounds by a server, several at once.

    Raises:
        RefusedError, NotAnsweredError: a round has no scores.
    """

    def ask(one: Round) -> Any:
        if not two_part:
            return client.score(one.query, one.items)
        with client.open_query(one.query) as stream:
            return stream.score(one.items)

    with ThreadPoolExecutor(N_CALLERS) as callers:
        answers = list(callers.map(ask, rounds))
    return Judged(
        margins=np.concatenate([answer.margins for answer in answers]),
        is_reference=np.concatenate([answer.is_reference for answer in answers]),
    )


def compare(threshold: float, batch: Judged, server: Judged) -> dict[str, Any]:
    """Return how many decisions differ, and by how much margins do."""
    flips = decisions(batch.margins, threshold) != decisions(server.margins, threshold)
    return {
        "flips": int(flips.sum()),
        "largest_margin_difference": float(np.abs(batch.margins - server.margins).max()),
        "margins_equal_in_bits": float(np.mean(batch.margins == server.margins)),
        "tie_checked": int(server.is_reference.sum()),
    }


def _table(rounds: Sequence[Round]) -> pa.Table:
    names = [[str(place) for place in range(len(one.items))] for one in rounds]
    return pa.table(
        {
            "member_id": [str(number) for number in range(len(rounds))],
            "query_hash": ["" for _ in rounds],
            "query_text": [one.query for one in rounds],
            "item_ids": names,
            "item_hashes": names,
            "item_texts": [list(one.items) for one in rounds],
        }
    )


@contextmanager
def _server(options: argparse.Namespace) -> Iterator[str]:
    """Start a server of the same artifact on the same engine; yield its address."""
    command = [sys.executable, "-m", "mis_scoring.serving", str(options.folder), "--engine", options.engine]
    command += ["--options", options.options, "--threads", str(options.threads)]
    command += ["--port", "0", "--metrics-port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["address"]
        finally:
            process.terminate()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m mis_scoring.serving_parity", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="an artifact")
    parser.add_argument("pairs", type=Path, help="evaluation members, .jsonl.gz")
    parser.add_argument("--engine", default="cascade", help="default %(default)s")
    parser.add_argument("--options", default="{}", help="of the engine, as JSON")
    parser.add_argument("--threads", type=int, default=1, help="of each engine; default %(default)s")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
