"""Train the decoder's own tokenizer: byte-level BPE, digits one by one, the answers single tokens.

Digits stand alone so that "12" and "2012" are read as numbers. Special tokens exist for the template only; text that
spells one is plain text to the tokenizer's users (`encode_special_tokens`).
"""

from collections.abc import Iterable
from pathlib import Path

READOUT = "<|readout|>"
PAD = "<|pad|>"
ANSWERS = ("YES", "NO")
SPECIAL_TOKENS = (PAD, READOUT, "<|unused1|>", "<|unused2|>")
ANSWER_REPEATS = 20_000  # enough for both answers to be merged first


def train_tokenizer(texts: Iterable[str], *, vocab_size: int, path: Path) -> None:
    """Train on texts and write `tokenizer.json`.

    Raises:
        ValueError: the texts gave too few merges, or an answer is not one token.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_with_answers(texts), trainer)
    _check(tokenizer.get_vocab_size(), vocab_size, [len(tokenizer.encode(a).ids) for a in ANSWERS])
    tokenizer.save(str(path))


def pad_id_of(tokenizer_json: Path) -> int:
    """Return the id of the padding token.

    Raises:
        ValueError: the tokenizer has none.
    """
    from tokenizers import Tokenizer

    pad_id = Tokenizer.from_file(str(tokenizer_json)).token_to_id(PAD)
    if pad_id is None:
        raise ValueError(f"{tokenizer_json} has no token {PAD!r}")
    return int(pad_id)


def _with_answers(texts: Iterable[str]) -> Iterable[str]:
    yield from texts
    for _ in range(ANSWER_REPEATS):
        yield from ANSWERS


def _check(n_tokens: int, wanted: int, answer_lengths: list[int]) -> None:
    if n_tokens != wanted:
        raise ValueError(f"the texts gave {n_tokens} tokens, want {wanted}: give more text")
    if set(answer_lengths) != {1}:
        raise ValueError(f"the answers {ANSWERS} take {answer_lengths} tokens, want 1 each")
