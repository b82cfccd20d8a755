"""Train the sample's labeler on a machine with a GPU (or, tiny, on a CPU).

    python -m jobs.sample.train_labeler --data var/esco-small --out var/esco-small --minutes 8.6

Needs what `jobs.sample.prepare_training` and `jobs.sample.prepare_evaluation` wrote. Writes `OUT/contract.json` and
every minute `OUT/model` (config, weights, tokenizer): what `semlabel labeler evaluate` needs beside the splits. With
`--state DIR` the same command goes on after a stop.
"""

import argparse
import logging
import multiprocessing
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from jobs.sample.training_batches import BatchStream, StreamSettings, tokenizer_texts
from jobs.sample.training_watch import TrainingWatch
from mis_scoring.core.contract import PromptContract
from mis_scoring.core.prompt import COMPACT
from mis_scoring.core.tokenizer import PromptTokenizer
from mis_scoring.evaluation.members import read_members
from mis_scoring.training.batches import Batch
from mis_scoring.training.checkpoints import Position, load_state, load_weights
from mis_scoring.training.model import DecoderShape, make_decoder
from mis_scoring.training.schedule import Schedule
from mis_scoring.training.tokenizer import ANSWERS, pad_id_of, train_tokenizer
from mis_scoring.training.trainer import Hyperparameters, make_optimizer, train

LOG = logging.getLogger(__name__)


class _Stream(IterableDataset[Batch]):
    """`BatchStream` as a data set: each worker process gives its own members."""

    def __init__(self, settings: StreamSettings, short: Any) -> None:
        self._settings, self._short = settings, short

    def __iter__(self) -> Iterator[Batch]:
        info = get_worker_info()
        stream = BatchStream(self._settings, is_short=lambda: bool(self._short.value))
        return stream.batches(info.id if info else 0)


def train_labeler(args: argparse.Namespace) -> None:
    """Train, save and validate."""
    began = time.monotonic()
    model_dir: Path = args.out / "model"
    model_dir.mkdir(parents=True, exist_ok=True)
    tokenizer_json = _tokenizer(args, model_dir)
    tokenizer = PromptTokenizer(tokenizer_json, COMPACT)
    labels = tokenizer.label_tokens(*ANSWERS)
    PromptContract(layout=COMPACT, answers=ANSWERS).save(args.out / "contract.json")
    decoder = _decoder(args)
    settings = Hyperparameters(yes_id=labels.yes, no_id=labels.no, schedule=_schedule(args))
    optimizer = make_optimizer(decoder, settings)
    start = load_state(args.state, decoder, optimizer) if args.state else Position()
    LOG.info("%s parameters, start %s", sum(p.numel() for p in decoder.parameters()), start)
    watch = TrainingWatch(
        decoder=decoder,
        optimizer=optimizer,
        tokenizer=tokenizer,
        labels=labels,
        pad_id=pad_id_of(tokenizer_json),
        members=read_members(args.data / "splits" / "validation.jsonl.gz")[: args.validation_members],
        model_dir=model_dir,
        state_dir=args.state,
    )
    short = multiprocessing.Value("b", 1, lock=False)
    end = train(
        decoder,
        optimizer,
        ([batch] for batch in _loader(args, tokenizer_json, start, short)),
        settings,
        start=start,
        on_progress=lambda progress: setattr(short, "value", int(settings.schedule.is_short(progress))),
        on_step=watch.on_step,
        log=LOG.info,
    )
    watch.save(end)
    load_weights(decoder, model_dir)  # what is judged is what was written: bfloat16
    LOG.info("end %s after %.0f s in all; %s", end, time.monotonic() - began, watch.figures())


def _tokenizer(args: argparse.Namespace, model_dir: Path) -> Path:
    path = model_dir / "tokenizer.json"
    given = args.start_from / "tokenizer.json" if args.start_from else args.tokenizer
    if given:
        path.write_bytes(given.read_bytes())
    elif not (args.state and path.exists()):
        train_tokenizer(tokenizer_texts(args.data, n_members=args.tokenizer_members), vocab_size=args.vocab, path=path)
    return path


def _decoder(args: argparse.Namespace) -> Any:
    shape = DecoderShape(
        hidden_size=args.hidden, intermediate_size=args.intermediate, n_layers=args.layers, vocab_size=args.vocab
    )
    torch.backends.cuda.matmul.allow_tf32 = True
    decoder = make_decoder(shape, seed=args.seed).to("cuda" if torch.cuda.is_available() else "cpu")
    if args.start_from:
        load_weights(decoder, args.start_from)
    return decoder


def _schedule(args: argparse.Namespace) -> Schedule:
    return Schedule(
        max_steps=args.steps,
        max_seconds=args.minutes * 60,
        peak_learning_rate=args.lr,
        lm_until=args.lm_until,
        short_until=args.short_until,
    )


def _loader(args: argparse.Namespace, tokenizer_json: Path, start: Position, short: Any) -> DataLoader[Batch]:
    settings = StreamSettings(
        data_dir=args.data,
        tokenizer_json=tokenizer_json,
        pad_id=pad_id_of(tokenizer_json),
        profiles_per_batch=args.profiles_per_batch,
        n_items=args.items,
        items_per_example=args.items_per_example or args.items,
        n_starts=start.n_starts + args.first_start,
    )
    prefetch = 4 if args.workers else None
    return DataLoader(_Stream(settings, short), batch_size=None, num_workers=args.workers, prefetch_factor=prefetch)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--state", type=Path, help="folder of the state to go on from, and to save to")
    parser.add_argument("--start-from", type=Path, help="a model folder whose weights and tokenizer to begin with")
    parser.add_argument("--tokenizer", type=Path, help="a tokenizer.json to use instead of training one")
    parser.add_argument("--minutes", type=float, default=8.6, help="of training; set-up and the end come on top")
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0, help="of the first weights")
    parser.add_argument("--first-start", type=int, default=0, help="moves the training members on, for a second run")
    parser.add_argument("--hidden", type=int, default=192)
    parser.add_argument("--intermediate", type=int, default=704)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--vocab", type=int, default=10_240)
    parser.add_argument("--lr", type=float, default=1.5e-3)
    parser.add_argument("--lm-until", type=float, default=0.35, help="progress at which the auxiliary loss is gone")
    parser.add_argument("--short-until", type=float, default=0.12, help="progress at which short profiles end")
    parser.add_argument("--items", type=int, default=64, help="candidates drawn a member")
    parser.add_argument("--items-per-example", type=int, default=0, help="packed with a profile; 0 is all, 1 is single")
    parser.add_argument("--profiles-per-batch", type=int, default=64)
    parser.add_argument("--workers", type=int, default=15)
    parser.add_argument("--tokenizer-members", type=int, default=20_000)
    parser.add_argument("--validation-members", type=int, default=100)
    return parser


def main() -> None:
    """Parse the command line."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    train_labeler(_parser().parse_args())


if __name__ == "__main__":
    main()
