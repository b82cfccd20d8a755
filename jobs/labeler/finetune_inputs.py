"""What a fine-tuning run reads, beside the base: the splits as tokenized examples."""

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jobs.errors import FaultsError, MissingRequirementError
from jobs.labeler.finetune_options import FinetuneOptions
from jobs.labeler.pair_examples import PairExamples, pair_examples
from mis_scoring.core.contract import PromptContract
from mis_scoring.core.identity import digest, file_digest, text_hash
from mis_scoring.core.labels import LabelTokens
from mis_scoring.core.tokenizer import PromptTokenizer
from mis_scoring.evaluation.members import SUPPORTED, UNSUPPORTED, read_members

MAX_TOO_LONG_SHARE = 0.05  # of a split's members; more of them is a wrong base, not a few odd profiles
_SHOWN = 20


@dataclass(frozen=True, kw_only=True)
class FinetuneInputs:
    """All that a run reads, beside the weights.

    Attributes:
        base: the base's name and the digests of its files.
        identity: digest of all that decides the weights of the run.
    """

    train: PairExamples
    validation: PairExamples
    labels: LabelTokens
    base: dict[str, Any]
    identity: str


def read_inputs(
    work_dir: Path,
    base_dir: Path,
    contract: PromptContract,
    options: FinetuneOptions,
    *,
    max_tokens: int,
    log: Callable[[str], None],
) -> FinetuneInputs:
    """Read and tokenize the splits.

    Args:
        max_tokens: the longest pair that the base takes.
    Raises:
        FaultsError: too many members have pairs that are longer, or an answer is missing from a split.
        MissingRequirementError: there are no splits.
    """
    tokenizer = PromptTokenizer(base_dir / "tokenizer.json", contract.layout)
    base = {"name": base_dir.resolve().name, "digests": _digests(base_dir)}
    bound = min(max_tokens, options.tokens_per_batch)
    validation_members = options.validation_members
    return FinetuneInputs(
        train=_examples(work_dir, "train", tokenizer, max_tokens=bound, log=log),
        validation=_examples(
            work_dir, "validation", tokenizer, max_tokens=bound, log=log, n_members=validation_members
        ),
        labels=tokenizer.label_tokens(*contract.answers),
        base=base,
        identity=_identity(work_dir, contract, options, base),
    )


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
        raise MissingRequirementError(f"{path} is missing: split your pairs first (jobs.labeler.split_pairs)")
    members = read_members(path)[:n_members]
    found = pair_examples(members, tokenizer, max_tokens=max_tokens)
    named = [f"member {m!r} has a pair of {n} tokens, {max_tokens} are possible" for m, n in found.too_long.items()]
    if len(named) > MAX_TOO_LONG_SHARE * len(members):
        remedy = f"{len(named)} of {len(members)} members in all: shorten profiles, or take a base of a longer context"
        raise FaultsError(str(path), [*named[:_SHOWN], remedy])
    answers = {answer for example in found.examples for answer in example.answers}
    absent = [word for word, answer in ((SUPPORTED, True), (UNSUPPORTED, False)) if answer not in answers]
    if absent:
        read = f"the {len(members)} members that are read"
        raise FaultsError(str(path), [f"no pair of {read} is {word}: read or split more of them" for word in absent])
    for line in named:
        log(f"left out of {split}: {line}")
    return found


def _identity(work_dir: Path, contract: PromptContract, options: FinetuneOptions, base: dict[str, Any]) -> str:
    """Return the digest of all that decides the weights of the run."""
    with gzip.open(work_dir / "splits" / "train.jsonl.gz", "rt", encoding="utf-8") as file:
        pairs = text_hash(file.read())
    prompt = {"layout": vars(contract.layout), "answers": list(contract.answers)}
    return digest({"pairs": pairs, "prompt": prompt, "options": options.as_dict(), "base": base["digests"]})


def _digests(base_dir: Path) -> dict[str, str]:
    names = [*sorted(path.name for path in base_dir.glob("*.safetensors")), "config.json", "tokenizer.json"]
    return {name: file_digest(base_dir / name) for name in names}
