"""Packed generation, the baseline: g qualifications of one member in one prompt, answered as one list.

The pairs are those that semantic scoring uses, grouped otherwise: shuffled and cut into lists. Each answer depends on
the whole prompt and on the answers before it (arXiv 2610.36383, section 2.4 and equation 1), which is what the study
measures. Nothing here is served.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mis_scoring.evaluation.generation_parser import ParsedList, parse_answers
from mis_scoring.evaluation.generation_prompt import GenerationTokenizer

QUALIFICATIONS_PER_PROMPT = 20  # g, section 6.1


@dataclass(frozen=True, kw_only=True)
class GenerationExample:
    """Tokens of a prompt and of its answer list for a causal language-model loss.

    Attributes:
        token_ids: the prompt, then the answer list with its end.
        n_prompt: tokens of the prompt; the loss is on the tokens after them only.
    """

    token_ids: Sequence[int]
    n_prompt: int

    @property
    def loss_places(self) -> range:
        """Places whose next token the loss is on: the last of the prompt to the one before the end."""
        return range(self.n_prompt - 1, len(self.token_ids) - 1)

    @property
    def targets(self) -> Sequence[int]:
        """The answer list's tokens, one a loss place."""
        return self.token_ids[self.n_prompt :]


def generation_example(
    query_tokens: Sequence[int], qualifications: Sequence[str], answers: Sequence[bool], tokenizer: GenerationTokenizer
) -> GenerationExample:
    """Return the training text of one list.

    Args:
        query_tokens: instructions and profile, as `GenerationTokenizer.encode_query` gives them.
    """
    if len(qualifications) != len(answers) or not qualifications:
        raise ValueError(f"{len(qualifications)} qualifications, {len(answers)} answers: want as many, at least one")
    prompt = [*query_tokens, *tokenizer.encode_list(qualifications)]
    return GenerationExample(token_ids=[*prompt, *tokenizer.encode_answers(answers)], n_prompt=len(prompt))


def training_lists(
    n_pairs: int, rng: random.Random, *, n_per_list: int = QUALIFICATIONS_PER_PROMPT
) -> Iterator[list[int]]:
    """Yield the places of a member's pairs as shuffled lists of varying length, each place once.

    The first list's length is drawn, so that the model meets every count up to g (section 2.4: "shuffled lists of
    varying length").
    """
    places = list(range(n_pairs))
    rng.shuffle(places)
    first = rng.randint(1, n_per_list)
    yield places[:first]
    for start in range(first, n_pairs, n_per_list):
        yield places[start : start + n_per_list]


def consecutive_lists(order: Sequence[int], *, n_per_list: int = QUALIFICATIONS_PER_PROMPT) -> Iterator[list[int]]:
    """Yield an order cut into lists of g, as the baseline cuts a round."""
    for start in range(0, len(order), n_per_list):
        yield list(order[start : start + n_per_list])


def max_new_tokens(n: int, tokenizer: GenerationTokenizer) -> int:
    """Return how many tokens a list of n may take: the longer of all YES and all NO, and a few to see one too long."""
    return max(len(tokenizer.encode_answers([answer] * n)) for answer in (True, False)) + 6


def read_list(generated: Sequence[int], n: int, tokenizer: GenerationTokenizer) -> ParsedList:
    """Parse generated tokens, which end with the end token unless the limit was met."""
    is_ended = len(generated) > 0 and generated[-1] == tokenizer.end_id
    text = tokenizer.decode(generated[:-1] if is_ended else generated)
    prompt = tokenizer.prompt
    return parse_answers(text, n, answers=prompt.answers, separator=prompt.separator, is_ended=is_ended)
