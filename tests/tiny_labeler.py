"""A labeler with random weights, small enough to make in a test: it decides nothing sensible, and always the same."""

from pathlib import Path

from jobs.write_sample import DEFAULT_DOMAIN
from mis_scoring.core.artifact import LabelerArtifact, digests_of
from mis_scoring.core.prompt import COMPACT
from mis_scoring.core.rounds import RoundRule

SPECIAL_TOKENS = ("<|pad|>", "<|readout|>")
_WORDS = ("Profile", "Qualification", "YES", "NO", "nurse", "tax", "accountant", "degree", "years", "licence", "of")


def write_tokenizer(folder: Path) -> int:
    """Write a small byte-level BPE tokenizer.json and return its vocabulary size."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([" ".join([word, *_WORDS]) for word in _WORDS] * 20 + ["YES", "NO"] * 50, trainer)
    tokenizer.save(str(folder / "tokenizer.json"))
    return int(tokenizer.get_vocab_size())


def write_tiny_labeler(
    folder: Path, *, seed: int = 0, threshold: float = 0.5, candidates_per_round: int = 10, stop_below: float = 0.1
) -> LabelerArtifact:
    """Write an artifact folder: a Qwen3-shaped model of two layers with random weights."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    folder.mkdir(parents=True, exist_ok=True)
    vocab_size = write_tokenizer(folder)
    torch.manual_seed(seed)
    config = Qwen3Config(
        vocab_size=vocab_size,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=1024,
        tie_word_embeddings=True,
        initializer_range=0.2,
    )
    Qwen3ForCausalLM(config).save_pretrained(folder, safe_serialization=True)
    (folder / "generation_config.json").unlink(missing_ok=True)
    artifact = LabelerArtifact(
        name="tiny-random",
        prompt=COMPACT,
        label_tokens={"yes": "YES", "no": "NO"},
        numeric_profile={"dtype": "float32", "quantisation": "none", "readout": "float32"},
        threshold=threshold,
        round_rule=RoundRule(candidates_per_round=candidates_per_round, stop_below=stop_below),
        tie_eps=1e-4,
        domain={"catalog": DEFAULT_DOMAIN, "description": "random weights, for tests"},
        evaluation={},
        digests=digests_of(folder),
    )
    artifact.save(folder)
    return artifact
