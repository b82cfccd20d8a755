"""Fine-tune a base model on the pairs of a work folder, on a machine with a GPU or on a CPU.

    python -m jobs.finetune_labeler --work WORK --base BASE --contract CONTRACT.json --epochs 3 --lora

Needs `WORK/splits` (jobs.split_pairs). Writes `WORK/model` (config, weights, tokenizer), `WORK/contract.json`,
`WORK/training.json` and, with `--lora`, `WORK/adapter`. With `--state DIR` the same command goes on after a stop, and
ends with the weights of a run that was never stopped.

Runs where torch, transformers and, for `--lora`, peft are; needs nothing of the platform.
"""

import argparse
import gzip
import json
import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jobs.errors import FaultsError, MissingRequirementError
from jobs.finetune_figures import training_document, validation_figures
from jobs.finetune_options import DTYPES, FinetuneOptions
from jobs.pair_examples import PairExamples, pair_examples
from mis_scoring.core.contract import PromptContract
from mis_scoring.core.identity import digest, file_digest, text_hash
from mis_scoring.core.tokenizer import PromptTokenizer
from mis_scoring.engines.architecture import architecture_faults
from mis_scoring.evaluation.members import read_members
from mis_scoring.training.adapter import add_lora, merge, save_adapter
from mis_scoring.training.base import BaseModelError, load_base, max_tokens_of, read_base_config
from mis_scoring.training.checkpoints import save_model
from mis_scoring.training.finetune import FinetuneSettings, finetune
from mis_scoring.training.plan import StepPlan

LOG = logging.getLogger(__name__)
MAX_TOO_LONG_SHARE = 0.05  # of a split's members; more of them is a wrong base, not a few odd profiles
_SHOWN = 20


def finetune_labeler(
    work_dir: Path,
    base_dir: Path,
    contract: PromptContract,
    *,
    state_dir: Path | None = None,
    device: str | None = None,
    log: Callable[[str], None] = LOG.info,
    **choices: Any,
) -> dict[str, Any]:
    """Train, write the model, and return the content of `training.json`.

    Args:
        state_dir: where a run is saved once a minute, and gone on from.
        device: "cuda" or "cpu"; by default the GPU if there is one.
        choices: attributes of `FinetuneOptions`: lora, packed, epochs, seed, learning_rate and others.
    Raises:
        FaultsError: choices that make no sense, or too many members with pairs longer than the base takes.
        BaseModelError: the base cannot be trained and served.
        PromptError: the base's tokenizer does not keep the contract.
        MissingRequirementError: the work folder has no splits.
        OtherRunError: the state is of a run with other pairs, base or options.
    """
    import torch

    options = FinetuneOptions(**choices)
    if faults := options.faults():
        raise FaultsError("fine-tuning", faults)
    require_base(base_dir)
    contract.require(base_dir / "tokenizer.json")
    torch.backends.cuda.matmul.allow_tf32 = True
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    decoder = load_base(base_dir, device=device)
    tokenizer = PromptTokenizer(base_dir / "tokenizer.json", contract.layout)
    labels = tokenizer.label_tokens(*contract.answers)
    max_tokens = min(max_tokens_of(decoder), options.tokens_per_batch)
    train = _examples(work_dir, "train", tokenizer, max_tokens=max_tokens, log=log)
    validation = _examples(
        work_dir, "validation", tokenizer, max_tokens=max_tokens, log=log, n_members=options.validation_members
    )

    def validate(trained: Any) -> dict[str, float]:
        return validation_figures(trained, validation, labels, tokens_per_batch=options.tokens_per_batch)

    plan = _plan(train, options)
    adapted = add_lora(decoder, options.lora_shape, seed=options.seed) if options.lora_shape else None
    base = {"name": base_dir.resolve().name, "digests": _digests(base_dir)}
    record = finetune(
        decoder,
        plan,
        FinetuneSettings(
            yes_id=labels.yes,
            no_id=labels.no,
            n_steps=options.steps or options.epochs * plan.steps_per_epoch,
            learning_rate=options.peak_learning_rate,
            weight_decay=options.weight_decay,
            is_bfloat16=options.bfloat16,
        ),
        validate=validate,
        state_dir=state_dir,
        identity=_identity(work_dir, contract, options, base),
        log=log,
    )
    _write_model(work_dir, base_dir, decoder, adapted, dtype=options.dtype)
    contract.save(work_dir / "contract.json")
    document = training_document(
        options=options,
        record=record,
        train=train,
        base=base,
        device_name=torch.cuda.get_device_name() if device == "cuda" else None,
        written=validate(load_base(work_dir / "model", device=device)),  # what is judged is what was written
    )
    (work_dir / "training.json").write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return document


def require_base(base_dir: Path) -> None:
    """Refuse a base that can't be trained, or whose labeler no engine could serve.

    Raises:
        BaseModelError: lists all faults.
    """
    from tokenizers import Tokenizer

    config = read_base_config(base_dir)
    # which shapes are trained was decided there; attention and rotation must be as the engines compute them
    faults = architecture_faults(config | {"model_type": "llama"})
    n_tokens = Tokenizer.from_file(str(base_dir / "tokenizer.json")).get_vocab_size()
    if n_tokens > config.get("vocab_size", 0):
        faults.append(
            f"tokenizer.json has {n_tokens} tokens and the checkpoint {config.get('vocab_size', 0)}: it is the "
            "tokenizer of another model"
        )
    if faults:
        raise BaseModelError(base_dir, faults)


def _examples(
    work_dir: Path,
    split: str,
    tokenizer: PromptTokenizer,
    *,
    max_tokens: int,
    log: Callable[[str], None],
    n_members: int | None = None,
) -> PairExamples:
    """Read and tokenize a split; a few members with too long pairs are named and left out."""
    path = work_dir / "splits" / f"{split}.jsonl.gz"
    if not path.exists():
        raise MissingRequirementError(f"{path} is missing: split your pairs first (jobs.split_pairs)")
    members = read_members(path)[:n_members]
    found = pair_examples(members, tokenizer, max_tokens=max_tokens)
    named = [f"member {m!r} has a pair of {n} tokens, {max_tokens} are possible" for m, n in found.too_long.items()]
    if not found.examples or len(named) > MAX_TOO_LONG_SHARE * len(members):
        remedy = f"{len(named)} of {len(members)} members in all: shorten profiles, or take a base of a longer context"
        raise FaultsError(str(path), [*named[:_SHOWN], remedy] if named else ["it holds no decided pair"])
    for line in named:
        log(f"left out of {split}: {line}")
    return found


def _plan(train: PairExamples, options: FinetuneOptions) -> StepPlan:
    return StepPlan(
        examples=train.examples,
        is_packed=options.packed,
        items_per_example=options.items_per_example,
        pairs_per_step=options.pairs_per_step,
        tokens_per_batch=options.tokens_per_batch,
        seed=options.seed,
    )


def _identity(work_dir: Path, contract: PromptContract, options: FinetuneOptions, base: dict[str, Any]) -> str:
    """Return the digest of all that decides the weights of the run."""
    with gzip.open(work_dir / "splits" / "train.jsonl.gz", "rt", encoding="utf-8") as file:
        pairs = text_hash(file.read())
    prompt = {"layout": vars(contract.layout), "answers": list(contract.answers)}
    return digest({"pairs": pairs, "prompt": prompt, "options": options.as_dict(), "base": base["digests"]})


def _digests(base_dir: Path) -> dict[str, str]:
    names = [*sorted(path.name for path in base_dir.glob("*.safetensors")), "config.json", "tokenizer.json"]
    return {name: file_digest(base_dir / name) for name in names}


def _write_model(work_dir: Path, base_dir: Path, decoder: Any, adapted: Any, *, dtype: str) -> None:
    shutil.rmtree(work_dir / "adapter", ignore_errors=True)  # of an earlier run
    if adapted is not None:
        save_adapter(adapted, work_dir / "adapter", dtype=dtype)
        decoder = merge(adapted)
    save_model(decoder, base_dir / "tokenizer.json", work_dir / "model", dtype=dtype)


def _parser() -> argparse.ArgumentParser:
    default = FinetuneOptions()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="with splits/; results go there too")
    parser.add_argument("--base", type=Path, required=True, help="a Llama-, Qwen2- or Qwen3-shaped model folder")
    parser.add_argument("--contract", type=Path, required=True, help="contract.json: prompt layout and answers")
    parser.add_argument("--state", type=Path, help="folder of the state to go on from, and to save to")
    parser.add_argument("--device", choices=("cuda", "cpu"))
    parser.add_argument("--lora", action="store_true", help="train an adapter instead of all weights")
    parser.add_argument("--lora-rank", type=int, default=default.lora_rank)
    parser.add_argument("--lora-alpha", type=int, default=default.lora_alpha)
    parser.add_argument("--single", dest="packed", action="store_false", help="a prompt an item; slower, the same")
    parser.add_argument("--epochs", type=int, default=default.epochs)
    parser.add_argument("--steps", type=int, help="optimizer steps, instead of epochs")
    parser.add_argument("--seed", type=int, default=default.seed)
    parser.add_argument("--learning-rate", type=float, help="at its peak; by default 2e-4, with LoRA 1e-3")
    parser.add_argument("--weight-decay", type=float, default=default.weight_decay)
    parser.add_argument("--items-per-example", type=int, default=default.items_per_example)
    parser.add_argument("--pairs-per-step", type=int, default=default.pairs_per_step)
    parser.add_argument("--tokens-per-batch", type=int, default=default.tokens_per_batch, help="bounds the memory")
    parser.add_argument("--dtype", choices=DTYPES, default=default.dtype, help="of the written weights")
    parser.add_argument("--bfloat16", action=argparse.BooleanOptionalAction, help="autocast; default: on a GPU")
    parser.add_argument("--validation-members", type=int, default=default.validation_members)
    return parser


def main() -> None:
    """Parse the command line."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    given = vars(_parser().parse_args())
    work_dir, base_dir, contract = given.pop("work"), given.pop("base"), PromptContract.load(given.pop("contract"))
    document = finetune_labeler(
        work_dir, base_dir, contract, state_dir=given.pop("state"), device=given.pop("device"), **given
    )
    LOG.info(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
