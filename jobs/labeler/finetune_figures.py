"""How a fine-tuned model does on validation members, and the record that its run leaves: `training.json`."""

from typing import Any

import numpy as np

from jobs.labeler.finetune_options import FinetuneOptions
from jobs.labeler.pair_examples import PairExamples
from mis_scoring.core.labels import LabelTokens
from mis_scoring.evaluation.metrics import Agreement
from mis_scoring.evaluation.thresholds import best_margin
from mis_scoring.training.finetune import FinetuneRecord
from mis_scoring.training.flops import peak_flops, throughput
from mis_scoring.training.pair_scoring import margins_of


def validation_figures(
    decoder: Any, validation: PairExamples, labels: LabelTokens, *, tokens_per_batch: int
) -> dict[str, float]:
    """Return loss, precision, recall and F1 on validation pairs.

    The cut is chosen on the same pairs, so F1 is a little optimistic. The loss is that of the two answers alone; the
    training loss, over the whole vocabulary, is never smaller.
    """
    found = margins_of(
        decoder,
        validation.examples,
        yes_id=labels.yes,
        no_id=labels.no,
        pad_id=0,
        tokens_per_batch=tokens_per_batch,
    )
    margins = np.concatenate(found).astype(np.float64)
    answers = np.concatenate([np.asarray(example.answers, np.bool_) for example in validation.examples])
    cut = best_margin(margins, answers)
    agreement = Agreement.of(margins >= cut, answers)
    loss = float(np.logaddexp(0.0, np.where(answers, -margins, margins)).mean())
    figures = {"precision": agreement.precision, "recall": agreement.recall, "f1": agreement.f1, "cut": cut}
    return {name: round(value, 6) for name, value in {"loss": loss, **figures}.items()}


def training_document(
    *,
    options: FinetuneOptions,
    record: FinetuneRecord,
    train: PairExamples,
    base: dict[str, Any],
    device_name: str | None,
    written: dict[str, float],
) -> dict[str, Any]:
    """Return the content of `training.json`.

    Args:
        base: the base's name and digests.
        device_name: of the GPU, None on a CPU.
        written: validation figures of the model as it was written.
    """
    # the table's peaks are those of bfloat16
    peak = None if options.bfloat16 is False else peak_flops(device_name)
    flops = throughput(flops=record.flops, n_pairs=record.n_pairs, seconds=record.seconds, peak=peak)
    return {
        "kind": options.kind,
        "is_packed": options.packed,
        "seed": options.seed,
        "base": base,
        "members": len(train.members),
        "pairs": sum(len(example.items) for example in train.examples),
        "left_out_too_long": train.too_long,
        "steps": record.n_steps,
        "pairs_trained": record.n_pairs,
        "seconds": round(record.seconds, 2),
        "pairs_per_s": round(flops.pop("pairs_per_s") or 0.0, 2),
        "flops": flops | {"device": device_name or "cpu"},
        "validation_by_epoch": record.epochs,
        "validation": written,
        "options": options.as_dict(),
    }
