"""A tokenizer with the special tokens of a chat model, small enough to train in a test."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

CHAT_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<empty_output>")
_WORDS = ("Yes", "No", "yes", "system", "user", "assistant", "Profile", "Qualification", "nurse", "tax law", "years")
# Qwen's way of cutting words: a sign takes the line breaks behind it along.
QWEN_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def smollm_words() -> Any:
    """Cut as SmolLM2 does: digits one by one."""
    from tokenizers import pre_tokenizers

    return pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )


def qwen_words() -> Any:
    """Cut as Qwen does."""
    from tokenizers import Regex, pre_tokenizers

    return pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(QWEN_PATTERN), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )


def write_chat_tokenizer(
    path: Path,
    *,
    words: Any = None,
    special_tokens: Sequence[str] = CHAT_TOKENS,
    unspecial: Sequence[str] = (),
    has_normalizer: bool = True,
) -> Path:
    """Train and write a tokenizer.json.

    Args:
        words: the pre-tokenizer; SmolLM2's by default.
        unspecial: added tokens that are not special.
        has_normalizer: whether signs are composed first, as in Qwen's.
    """
    from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    if has_normalizer:
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = words or smollm_words()
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=500,
        special_tokens=list(special_tokens),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    blanks = ["\n\n", "  ", "\n\n\n", "\n  ", ":\n", ": ", "   nurse"]
    tokenizer.train_from_iterator([*_WORDS, *(f"x {word}" for word in _WORDS), *blanks] * 50, trainer)
    tokenizer.add_tokens([AddedToken(token, special=False, normalized=False) for token in unspecial])
    tokenizer.save(str(path))
    return path
