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
from mis_scoring.training.base import load_base
from mis_scoring.training.model import DecoderShape, make_decoder


@dataclass(frozen=True, kw_only=True)
class Base:
    """A model to tune, with what both methods need to speak to it.

    Attributes:
        folder: checkpoint and tokenizer; only the tokenizer is read when `shape` is given.
        layout: the name of scoring's layout among the prompts'.
        shape: of a decoder with random weights; None loads the checkpoint.
    """

    folder: Path
    prompts: StudyPrompts
    layout: str
    shape: DecoderShape | None

    def make(self, *, seed: int, device: str) -> Any:
        """Return the decoder in float32 on a device."""
        if self.shape is not None:
            return make_decoder(self.shape, seed=seed).to(device)
        return load_base(self.folder, device=device)

    @cached_property
    def scoring_tokenizer(self) -> PromptTokenizer:
        """The tokenizer of the single-item layout."""
        return PromptTokenizer(self.folder / "tokenizer.json", self.prompts.layouts[self.layout])

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

        pad_id = Tokenizer.from_file(str(self.folder / "tokenizer.json")).token_to_id(self.prompts.pad_token)
        assert pad_id is not None
        return int(pad_id)


def base_of(model: str, folder: Path, *, layout: str, shape: DecoderShape | None = None) -> Base:
    """Return the base of a model's name; `shape` only concerns the small one."""
    if model == SMOLLM2_135M:
        return Base(folder=folder, prompts=SMOLLM2, layout=layout, shape=None)
    return Base(folder=folder, prompts=SMALL, layout=layout, shape=shape)
