"""The tokenizer inside a GGUF file, as tokenizer.json: byte-level BPE with digits one by one ("smollm")."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_CONTROL = 3  # token types of the format: 1 plain text, 3 control
_KNOWN_TYPES = (1, _CONTROL)
_FIELDS = ("tokens", "merges", "token_type")


def tokenizer_faults(fields: Mapping[str, Any]) -> list[str]:
    """Return what in a file's tokenizer is not known here, one sentence a fault.

    A pre-tokenizer is named, not described: another name means other token ids for the same text.
    """
    own: dict[str, Any] = {name: fields.get(f"tokenizer.ggml.{name}") for name in (*_FIELDS, "model", "pre")}
    faults = [f"tokenizer.ggml.{name} is missing" for name in _FIELDS if own[name] is None]
    for name, known in (("model", "gpt2"), ("pre", "smollm")):
        if own[name] != known:
            faults.append(f"tokenizer.ggml.{name} is {own[name]!r}; known: {known!r}")
    if fields.get("tokenizer.ggml.add_bos_token"):
        faults.append("tokenizer.ggml.add_bos_token is set; prompts start with their layout alone")
    if not faults and len(own["tokens"]) != len(own["token_type"]):
        faults.append(f"{len(own['tokens'])} tokens have {len(own['token_type'])} types")
    unknown = sorted(set(own["token_type"] or ()) - set(_KNOWN_TYPES))
    return faults + [f"tokens of type {unknown} are not known; known: {list(_KNOWN_TYPES)}"] * bool(unknown)


def gguf_tokenizer(fields: Mapping[str, Any]) -> "Tokenizer":
    """Return the tokenizer of a file without `tokenizer_faults`."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    tokens, merges, types = (fields[f"tokenizer.ggml.{name}"] for name in _FIELDS)
    vocabulary = {token: i for i, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(vocabulary, [tuple(merge.split(" ")) for merge in merges]))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    control = [token for token, kind in zip(tokens, types, strict=True) if kind == _CONTROL]
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in control])
    return tokenizer
