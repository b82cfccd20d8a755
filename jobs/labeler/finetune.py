"""Fine-tune a base model on the pairs of a work folder, on a machine with a GPU or on a CPU.

    python -m jobs.labeler.finetune --work WORK --base BASE --contract CONTRACT.json --epochs 3 --lora

Needs `WORK/splits` (jobs.labeler.split_pairs). Writes `WORK/model` (config, weights, tokenizer), `WORK/contract.json`,
`WORK/training.json` and, with `--lora`, `WORK/adapter`. With `--state DIR` the same command goes on after a stop, and
ends with the weights of a run that was never stopped.

Runs where torch, transformers and, for `--lora`, peft are; needs nothing of the platform.
"""

import argparse
import json
import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jobs.errors import FaultsError
from jobs.labeler.finetune_figures import training_document, validation_figures
from jobs.labeler.finetune_inputs import FinetuneInputs, read_inputs
from jobs.labeler.finetune_options import DTYPES, FinetuneOptions
from mis_scoring.core.contract import PromptContract
from mis_scoring.engines.checkpoint import require_checkpoint
from mis_scoring.training.adapter import add_lora, merge, save_adapter
from mis_scoring.training.base import load_base, max_tokens_of
from mis_scoring.training.checkpoints import save_model
from mis_scoring.training.finetune import FinetuneSettings, finetune
from mis_scoring.training.plan import StepPlan

LOG = logging.getLogger(__name__)


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
        ArchitectureError: the base could not be served.
        BaseModelError: its weights are not those of its config.
        PromptError: the base's tokenizer does not keep the contract.
        MissingRequirementError: the work folder has no splits.
        OtherRunError: the state is of a run with other pairs, base or options.
    """
    import torch

    options = FinetuneOptions(**choices)
    if faults := options.faults():
        raise FaultsError("fine-tuning", faults)
    require_checkpoint(base_dir)
    contract.require(base_dir / "tokenizer.json")
    torch.backends.cuda.matmul.allow_tf32 = True
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    decoder = load_base(base_dir, device=device)
    inputs = read_inputs(work_dir, base_dir, contract, options, max_tokens=max_tokens_of(decoder), log=log)

    def validate(trained: Any) -> dict[str, float]:
        return validation_figures(trained, inputs.validation, inputs.labels, tokens_per_batch=options.tokens_per_batch)

    adapted = add_lora(decoder, options.lora_shape, seed=options.seed) if options.lora_shape else None
    plan = _plan(inputs, options)
    record = finetune(
        decoder,
        plan,
        _settings(inputs, options, n_steps=options.steps or options.epochs * plan.steps_per_epoch),
        validate=validate,
        state_dir=state_dir,
        identity=inputs.identity,
        log=log,
    )
    _write_model(work_dir, base_dir, decoder, adapted, dtype=options.dtype)
    contract.save(work_dir / "contract.json")
    document = training_document(
        options=options,
        record=record,
        train=inputs.train,
        base=inputs.base,
        device_name=torch.cuda.get_device_name() if device == "cuda" else None,
        written=validate(load_base(work_dir / "model", device=device)),  # what is judged is what was written
    )
    (work_dir / "training.json").write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return document


def _plan(inputs: FinetuneInputs, options: FinetuneOptions) -> StepPlan:
    return StepPlan(
        examples=inputs.train.examples,
        is_packed=options.packed,
        items_per_example=options.items_per_example,
        pairs_per_step=options.pairs_per_step,
        tokens_per_batch=options.tokens_per_batch,
        seed=options.seed,
    )


def _settings(inputs: FinetuneInputs, options: FinetuneOptions, *, n_steps: int) -> FinetuneSettings:
    return FinetuneSettings(
        yes_id=inputs.labels.yes,
        no_id=inputs.labels.no,
        n_steps=n_steps,
        learning_rate=options.peak_learning_rate,
        weight_decay=options.weight_decay,
        is_bfloat16=options.bfloat16,
    )


def _write_model(work_dir: Path, base_dir: Path, decoder: Any, adapted: Any, *, dtype: str) -> None:
    # what an earlier run left must not stand beside this model
    (work_dir / "training.json").unlink(missing_ok=True)
    shutil.rmtree(work_dir / "adapter", ignore_errors=True)
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
