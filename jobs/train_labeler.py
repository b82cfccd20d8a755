"""Train the sample's labeler on a machine with a GPU (or, tiny, on a CPU).

    python -m jobs.train_labeler --data .carry/labeler --out OUT --minutes 9

Needs what `jobs.prepare_training` and `jobs.prepare_evaluation` wrote. Writes `OUT/model` (config, weights, tokenizer)
every minute, and with `--state DIR` a state from which the same command goes on after a stop.
"""

import argparse
import multiprocessing
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from jobs.evaluate_labeler import to_example
from jobs.sample.training_batches import BatchStream, StreamSettings, tokenizer_texts
from mis_scoring.core.prompt import COMPACT
from mis_scoring.core.tokenizer import PromptTokenizer
from mis_scoring.evaluation.judgement import Cuts, judge, scored_pairs
from mis_scoring.evaluation.members import EvaluationMember, read_members
from mis_scoring.training.batches import Batch
from mis_scoring.training.checkpoints import Position, load_state, load_weights, save_model, save_state
from mis_scoring.training.model import DecoderShape, make_decoder
from mis_scoring.training.pair_scoring import margins_of
from mis_scoring.training.schedule import Schedule
from mis_scoring.training.tokenizer import ANSWERS, PAD, train_tokenizer
from mis_scoring.training.trainer import Hyperparameters, make_optimizer, train

SAVE_EVERY_S = 60.0


class _Stream(IterableDataset[Batch]):
    """`BatchStream` as a data set: each worker process gives its own members."""

    def __init__(self, settings: StreamSettings, short: Any) -> None:
        self._settings, self._short = settings, short

    def __iter__(self) -> Iterator[Batch]:
        info = get_worker_info()
        stream = BatchStream(self._settings, is_short=lambda: bool(self._short.value))
        return stream.batches(info.id if info else 0)


@dataclass(frozen=True, kw_only=True)
class _Validation:
    """Members on whom a model is judged while it trains."""

    members: list[EvaluationMember]
    tokenizer: PromptTokenizer
    yes_id: int
    no_id: int
    pad_id: int

    def f1(self, decoder: Any) -> str:
        """Return precision, recall and F1 at the best cut on these very members (an optimistic figure)."""
        examples = [to_example(self.tokenizer, member) for member in self.members]
        margins = margins_of(decoder, examples, yes_id=self.yes_id, no_id=self.no_id, pad_id=self.pad_id)
        pairs = scored_pairs(self.members, margins)
        cuts = Cuts.choose(pairs)
        figures: Any = judge(pairs, cuts)
        f1 = {name: part["f1"] for name, part in figures["by_category"].items()}
        return f"validation {figures['labeler']} by category {f1} cut {cuts.margin:.2f}"


def train_labeler(args: argparse.Namespace) -> None:
    """Train, save and validate."""
    began = time.monotonic()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cuda.matmul.allow_tf32 = True
    model_dir: Path = args.out / "model"
    model_dir.mkdir(parents=True, exist_ok=True)
    tokenizer_json = _tokenizer(args, model_dir)
    tokenizer = PromptTokenizer(tokenizer_json, COMPACT)
    labels = tokenizer.label_tokens(*ANSWERS)
    pad_id = int(tokenizer._template.token_to_id(PAD))
    shape = DecoderShape(
        hidden_size=args.hidden, intermediate_size=args.intermediate, n_layers=args.layers, vocab_size=args.vocab
    )
    decoder = make_decoder(shape, seed=args.seed).to(device)
    if args.start_from:
        load_weights(decoder, args.start_from)
    schedule = Schedule(
        max_steps=args.steps,
        max_seconds=args.minutes * 60,
        peak_learning_rate=args.lr,
        lm_until=args.lm_until,
        short_until=args.short_until,
    )
    settings = Hyperparameters(yes_id=labels.yes, no_id=labels.no, schedule=schedule)
    optimizer = make_optimizer(decoder, settings)
    start = load_state(args.state, decoder, optimizer) if args.state else Position()
    print(f"{sum(p.numel() for p in decoder.parameters())} parameters on {device}, start {start}", flush=True)
    validation = _Validation(
        members=read_members(args.data / "validation.jsonl.gz")[: args.validation_members],
        tokenizer=tokenizer,
        yes_id=labels.yes,
        no_id=labels.no,
        pad_id=pad_id,
    )
    short = multiprocessing.Value("b", 1, lock=False)
    loader = DataLoader(
        _Stream(_stream_settings(args, tokenizer_json, pad_id, start), short),
        batch_size=None,
        num_workers=args.workers,
        prefetch_factor=4 if args.workers else None,
    )
    saver = _Saver(args=args, decoder=decoder, optimizer=optimizer, validation=validation, folder=model_dir)
    end = train(
        decoder,
        optimizer,
        loader,
        settings,
        start=start,
        on_progress=lambda progress: setattr(short, "value", int(schedule.is_short(progress))),
        on_step=saver.on_step,
        log=lambda line: print(line, flush=True),
    )
    saver.save(end)
    load_weights(decoder, model_dir)  # what is judged is what was written: bfloat16
    print(f"end {end} after {time.monotonic() - began:.0f} s in all; {validation.f1(decoder)}", flush=True)


@dataclass(kw_only=True)
class _Saver:
    """Saves once a minute and says how the model does."""

    args: argparse.Namespace
    decoder: Any
    optimizer: Any
    validation: _Validation
    folder: Path
    saved_at: float = 0.0

    def on_step(self, position: Position) -> None:
        if position.elapsed_s - self.saved_at >= SAVE_EVERY_S:
            self.saved_at = position.elapsed_s
            self.save(position)
            print(f"saved at step {position.step}; {self.validation.f1(self.decoder)}", flush=True)

    def save(self, position: Position) -> None:
        save_model(self.decoder, self.folder / "tokenizer.json", self.folder)
        if self.args.state:
            save_state(self.args.state, self.decoder, self.optimizer, position)


def _tokenizer(args: argparse.Namespace, model_dir: Path) -> Path:
    path = model_dir / "tokenizer.json"
    given = args.start_from / "tokenizer.json" if args.start_from else args.tokenizer
    if given:
        path.write_bytes(given.read_bytes())
    elif not (args.state and path.exists()):
        train_tokenizer(tokenizer_texts(args.data, n_members=args.tokenizer_members), vocab_size=args.vocab, path=path)
    return path


def _stream_settings(args: argparse.Namespace, tokenizer_json: Path, pad_id: int, start: Position) -> StreamSettings:
    return StreamSettings(
        data_dir=args.data,
        tokenizer_json=tokenizer_json,
        pad_id=pad_id,
        profiles_per_batch=args.profiles_per_batch,
        n_items=args.items,
        items_per_example=args.items_per_example or args.items,
        n_starts=start.n_starts + args.first_start,
    )


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--state", type=Path, help="folder of the state to go on from, and to save to")
    parser.add_argument("--start-from", type=Path, help="a model folder whose weights and tokenizer to begin with")
    parser.add_argument("--tokenizer", type=Path, help="a tokenizer.json to use instead of training one")
    parser.add_argument(
        "--minutes", type=float, default=9.0, help="of training; set-up and the last saving come on top"
    )
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0, help="of the first weights")
    parser.add_argument("--first-start", type=int, default=0, help="moves the training members on, for a second run")
    parser.add_argument("--hidden", type=int, default=192)
    parser.add_argument("--intermediate", type=int, default=704)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--vocab", type=int, default=10_240)
    parser.add_argument("--lr", type=float, default=1.5e-3)
    parser.add_argument("--lm-until", type=float, default=0.35)
    parser.add_argument("--short-until", type=float, default=0.12)
    parser.add_argument("--items", type=int, default=64, help="candidates drawn a member")
    parser.add_argument("--items-per-example", type=int, default=0, help="packed with a profile; 0 is all, 1 is single")
    parser.add_argument("--profiles-per-batch", type=int, default=64)
    parser.add_argument("--workers", type=int, default=15)
    parser.add_argument("--tokenizer-members", type=int, default=20_000)
    parser.add_argument("--validation-members", type=int, default=100)
    args = parser.parse_args()
    train_labeler(args)


if __name__ == "__main__":
    main()
