"""Labels per second of the score stage, parquet to parquet by Ray Data: `python -m mis_scoring.bench.ray_stage`.

The engines are warm, as they are from a run's second round on; the clock starts with the stage's driver and ends with
its last file. `steady` leaves out the first and the last batch of every engine.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mis_scoring.bench.shapes import SHAPES, draw_query_lengths, write_random_model
from mis_scoring.core.identity import text_hash
from mis_scoring.core.labels import LabelTokens
from mis_scoring.core.prompt import PromptLayout
from mis_scoring.core.tokenizer_file import TokenizerFile
from mis_scoring.engines.score_spec import ScoreSpec
from mis_scoring.ray_data.placement import Placement

TOKENIZER = Path("labelers/esco-small/tokenizer.json")
ANSWERS = ("YES", "NO")
# items end in words that differ: with random weights a common last token would make all scores alike
PLAIN = PromptLayout(name="plain", query_prefix="", query_suffix="", item_prefix="", item_suffix="")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print one JSON document."""
    options = _parser().parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        folder = write_random_model(work / "model", options.shape, tokenizer_json=options.tokenizer)
        rows = work / "rows.parquet"
        n_pairs = write_rows(rows, options)
        result = measure(folder, rows, work / "scores", options)
    result |= {"shape": options.shape, "n_members": options.members, "n_pairs": n_pairs}
    result["labels_per_s"] = n_pairs / result["seconds"]
    sys.stdout.write(json.dumps(result, indent=2) + "\n")
    return 0


def write_rows(file: Path, options: argparse.Namespace) -> int:
    """Write rows of texts of the paper's lengths, in words that are one token each; returns the pairs."""
    words = np.array(one_token_words(options.tokenizer))
    draw = np.random.default_rng(0)
    rows = []
    for number, length in enumerate(draw_query_lengths(options.members, seed=1)):
        query = " ".join(draw.choice(words, length))
        drawn = draw.choice(words, (options.items, options.item_tokens))
        items = [" " + " ".join(item) for item in drawn.tolist()]
        row: dict[str, Any] = {"member_id": f"m{number}", "query_text": query, "query_hash": text_hash(query)}
        ids = [str(place) for place in range(options.items)]
        rows.append(row | {"item_texts": items, "item_ids": ids, "item_hashes": ids})
    pq.write_table(pa.Table.from_pylist(rows), file)
    return int(options.members * options.items)


def one_token_words(tokenizer_json: Path) -> list[str]:
    """Return words that a tokenizer writes as one token after a blank."""
    tokenizer = TokenizerFile(tokenizer_json)
    pieces = (tokenizer.decode([number]) for number in range(1_000, 9_000))
    words = [piece.strip() for piece in pieces if piece.startswith(" ") and piece.strip().isalpha()]
    return [word for word in words if len(tokenizer.text_ids(f" {word}")) == 1]


def measure(folder: Path, rows: Path, out: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Return the seconds of the stage and of its parts."""
    from mis_scoring.ray_data.named_engines import end_engines, named_engines
    from mis_scoring.ray_data.pipeline import read_rows, score_dataset, write_staged
    from mis_scoring.ray_data.session import ray_session
    from mis_scoring.ray_data.summary import prepare_folder, summarise

    engine_options = {"memory_share": 0.8 / options.engines} | ({"mps": options.mps} if options.mps else {})
    if options.quantisation != "none":
        folder = _calibrated(folder, options)
        engine_options["quantisation"] = options.quantisation
    spec = ScoreSpec.of_model(
        folder,
        prompt=PLAIN,
        answers=ANSWERS,
        engine=options.engine,
        engine_options=engine_options | json.loads(options.options),
        tie_eps=options.tie_eps,
    )
    placement = Placement(
        n_engines=options.engines,
        gpus_per_engine=1 / options.engines,
        rows_per_block=options.rows_per_block,
        batches_per_engine=options.batches_per_engine,
        n_io_tasks=None,
    )
    prepare_folder(out)
    started = time.perf_counter()
    with ray_session(num_cpus=options.cpus), named_engines("bench", spec, placement) as warm:
        ready = time.perf_counter()
        write_staged(score_dataset(read_rows([str(rows)], warm), spec, warm), out, warm)
        ended = time.perf_counter()
        end_engines("bench")
    files = sorted(file.stat().st_mtime for file in (out / "data").rglob("*.parquet"))[1:]  # the first is empty
    inner = files[options.engines : -options.engines]
    steady = (
        options.rows_per_block * options.items * (len(inner) - 1) / (inner[-1] - inner[0]) if len(inner) > 2 else None
    )
    return {
        "engine": options.engine,
        "engines": options.engines,
        "mps": options.mps,
        "quantisation": options.quantisation,
        "start_s": round(ready - started, 2),
        "seconds": round(ended - ready, 2),
        "steady_labels_per_s": steady,
        "rows_per_block": options.rows_per_block,
        "summary": summarise(out),
    }


def _calibrated(folder: Path, options: argparse.Namespace) -> Path:
    from mis_scoring.engines.prefill.calibrate import calibrated_copy
    from mis_scoring.engines.prefill.known_requests import draw_requests

    requests = draw_requests(4, n_items=options.items, max_prompt=8_192, vocab_size=9_000)
    return calibrated_copy(folder, requests, LabelTokens(yes=1, no=2), quantisation=options.quantisation)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m mis_scoring.bench.ray_stage", description=__doc__.splitlines()[0])
    parser.add_argument("--shape", choices=SHAPES, default="1.5B")
    parser.add_argument("--members", type=int, default=1_500)
    parser.add_argument("--items", type=int, default=200)
    parser.add_argument("--item-tokens", type=int, default=24)
    parser.add_argument("--engine", choices=["sglang", "prefill"], default="sglang")
    parser.add_argument("--engines", type=int, default=1)
    parser.add_argument("--mps", action="store_true")
    parser.add_argument("--quantisation", choices=["none", "fp8-mlp", "fp8-all"], default="none", help="of prefill")
    parser.add_argument("--options", default="{}", help="of the engines, as JSON")
    parser.add_argument("--tie-eps", type=float, default=0.0)
    parser.add_argument("--rows-per-block", type=int, default=64)
    parser.add_argument("--batches-per-engine", type=int, default=2)
    parser.add_argument("--cpus", type=int, default=16)
    parser.add_argument("--tokenizer", type=Path, default=TOKENIZER)
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
