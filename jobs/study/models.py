"""Bases of the study: a checkpoint folder, or the small decoder's shape with random weights."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from jobs.study.cells import SMOLLM2_135M
from jobs.study.prompts import SMALL, SMOLLM2, StudyPrompts
from mis_scoring.core.labels import LabelTokens
from mis_scoring.core.tokenizer import PromptTokenizer
from mis_scoring.evaluation.generation_prompt import GenerationTokenizer
from mis_scoring.training.model import DecoderShape, make_decoder


@dataclass(frozen=True, kw_only=True)
class Base:
    """A model to tune, with what both methods need to speak to it.

    Attributes:
        folder: checkpoint and tokenizer; only the tokenizer is read when `shape` is given.
        shape: of a decoder with random weights; None loads the checkpoint.
    """

    folder: Path
    prompts: StudyPrompts
    shape: DecoderShape | None

    def make(self, *, seed: int, device: str) -> Any:
        """Return the decoder in float32 on a device."""
        if self.shape is not None:
            return make_decoder(self.shape, seed=seed).to(device)
        return load_checkpoint(self.folder).to(device)

    @cached_property
    def scoring_tokenizer(self) -> PromptTokenizer:
        """The tokenizer of the single-item layout."""
        return PromptTokenizer(self.folder / "tokenizer.json", self.prompts.layout)

    @cached_property
    def generation_tokenizer(self) -> GenerationTokenizer:
        """The tokenizer of the packed-generation prompt."""
        return GenerationTokenizer(self.folder / "tokenizer.json", self.prompts.generation)

    @cached_property
    def label_tokens(self) -> LabelTokens:
        """The answers' ids."""
        return self.scoring_tokenizer.label_tokens(*self.prompts.answers)

    @cached_property
    def pad_id(self) -> int:
        """The id that fills rows."""
        from tokenizers import Tokenizer

        return int(Tokenizer.from_file(str(self.folder / "tokenizer.json")).token_to_id(self.prompts.pad_token))


def load_checkpoint(folder: Path) -> Any:
    """Return a checkpoint's decoder in float32, by torch's own attention."""
    import torch
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="sdpa", local_files_only=True, use_safetensors=True
    )


def base_of(model: str, folder: Path, *, shape: DecoderShape | None = None) -> Base:
    """Return the base of a model's name; `shape` only concerns the small one."""
    if model == SMOLLM2_135M:
        return Base(folder=folder, prompts=SMOLLM2, shape=None)
    return Base(folder=folder, prompts=SMALL, shape=shape)
