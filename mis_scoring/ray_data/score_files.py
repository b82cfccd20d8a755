"""Score parquet files of rows, without the tables they come from: `python -m mis_scoring.ray_data.score_files LABELER`.

    python -m mis_scoring.ray_data.score_files LABELER --rows member_rounds/... --out FOLDER --engine prefill

Rows are `pipeline.INPUT_COLUMNS`, as a round's partition of `member_rounds` has them; FOLDER is then the staged round
(`staging.scores_folder`). So a machine that sees no table scores a round: send the files there, bring FOLDER back, and
the round finds its members done. Killed and run again, it goes on. Prints the summary.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from mis_scoring.core.artifact import LabelerArtifact
from mis_scoring.engines.score_spec import ScoreSpec
from mis_scoring.ray_data.placement import Placement


def main(arguments: Sequence[str] | None = None) -> int:
    """Score, print, and return 0."""
    options = _parser().parse_args(arguments)
    folder = options.labeler.resolve()
    spec = ScoreSpec.of(
        LabelerArtifact.load(folder),
        folder,
        engine=options.engine,
        engine_threads=options.threads,
        engine_options=json.loads(options.options),
    )
    from mis_scoring.ray_data.pipeline import read_rows, score_dataset, write_staged
    from mis_scoring.ray_data.session import ray_session
    from mis_scoring.ray_data.summary import prepare_folder, summarise, write_summary

    where = Placement(
        n_engines=options.engines,
        gpus_per_engine=options.gpus_per_engine,
        rows_per_block=options.rows_per_block,
        batches_per_engine=options.batches_per_engine,
        max_restarts=options.max_restarts,
        n_io_tasks=options.io_tasks,
    )
    prepare_folder(options.out)
    with ray_session(address=options.ray_address, num_cpus=options.cpus):
        write_staged(score_dataset(read_rows(files_of(options.rows), where), spec, where), options.out.resolve(), where)
    summary = summarise(options.out)
    write_summary(options.out, summary)
    sys.stdout.write(json.dumps(summary, indent=2) + "\n")
    return 0


def files_of(rows: Sequence[Path]) -> list[str]:
    """Return the parquet files that are named, or that lie below a folder that is."""
    found = (sorted(path.rglob("*.parquet")) if path.is_dir() else [path] for path in rows)
    return [str(file.resolve()) for files in found for file in files]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m mis_scoring.ray_data.score_files", description=__doc__.splitlines()[0]
    )
    parser.add_argument("labeler", type=Path, help="folder of an artifact")
    parser.add_argument("--rows", type=Path, nargs="+", required=True, help="parquet files, or folders of them")
    parser.add_argument("--out", type=Path, required=True, help="of this labeler and these rows alone")
    parser.add_argument("--engine", default="cascade", help="a name, or module:function; default %(default)s")
    parser.add_argument("--options", default="{}", help="of the engine, as JSON")
    parser.add_argument("--engines", type=int, default=1)
    parser.add_argument("--gpus-per-engine", type=float, default=0.0)
    parser.add_argument("--threads", type=int, default=2, help="of an engine on the CPU")
    parser.add_argument("--rows-per-block", type=int, default=32, help="members a batch")
    parser.add_argument("--batches-per-engine", type=int, default=1, help="at once; 2 on a GPU leave it no gap")
    parser.add_argument("--io-tasks", type=int, default=2, help="readers and writers at a time")
    parser.add_argument("--max-restarts", type=int, default=2, help="of an engine that dies")
    parser.add_argument("--cpus", type=int, default=2, help="of a private Ray")
    parser.add_argument("--ray-address", default="", help="of a cluster; left out: a private Ray")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
