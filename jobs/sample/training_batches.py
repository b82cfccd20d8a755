"""The training stream of one worker process: members are drawn, tokenized and packed as fast as a GPU eats them."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from jobs.sample.catalog import sample_catalog
from jobs.sample.draw import Pool
from jobs.sample.esco import ESCO_FILE, read_esco
from jobs.sample.members import sample_member
from jobs.sample.neighbours import load_neighbours, profile_phrases
from jobs.sample.seeds import TRAINING_SEED_FROM
from jobs.sample.training_pairs import PairSource
from jobs.sample.unseen import seen_wordings, unseen_concepts, wide_catalog
from mis_scoring.core.prompt import COMPACT
from mis_scoring.core.tokenizer import PromptTokenizer
from mis_scoring.training.batches import Batch, collate
from mis_scoring.training.examples import TrainingExample, split_items

WIDE_SHARE = 0.5  # of the examples: from the wide catalog, so that unseen concepts are matched by their words too
BATCHES_PER_DRAW = 4  # drawn together and sorted by length, so that rows of a batch need little padding
SEEDS_PER_START = 1_000


@dataclass(frozen=True, kw_only=True)
class StreamSettings:
    """What decides the stream.

    Attributes:
        items_per_example: candidates packed with one profile; 1 trains on single-item prompts.
        n_items: candidates drawn a member.
        n_starts: how often the run was started; each start draws other members.
    """

    data_dir: Path
    tokenizer_json: Path
    pad_id: int
    profiles_per_batch: int
    n_items: int
    items_per_example: int
    n_starts: int = 0


class BatchStream:
    """Endless batches; worker w of start s draws the members of seed `TRAINING_SEED_FROM + 1000 s + w`."""

    def __init__(self, settings: StreamSettings, *, is_short: Callable[[], bool]) -> None:
        self._settings = settings
        self._is_short = is_short

    def batches(self, worker: int) -> Iterator[Batch]:
        """Yield this worker's batches."""
        settings, seed = self._settings, TRAINING_SEED_FROM + SEEDS_PER_START * self._settings.n_starts + worker
        examples = self._examples(seed)
        rng = random.Random(seed)
        while True:
            drawn = [next(examples) for _ in range(settings.profiles_per_batch * BATCHES_PER_DRAW)]
            drawn.sort(key=lambda example: example.n_tokens)
            starts = list(range(0, len(drawn), settings.profiles_per_batch))
            rng.shuffle(starts)
            for start in starts:
                yield collate(drawn[start : start + settings.profiles_per_batch], pad_id=settings.pad_id)

    def _examples(self, seed: int) -> Iterator[TrainingExample]:
        tokenizer = PromptTokenizer(self._settings.tokenizer_json, COMPACT)
        sources = self._sources()
        items = [[_item(tokenizer, entry.text) for entry in source.catalog] for source in sources]
        rng = random.Random(seed)
        index = 0
        while True:
            which = int(rng.random() < WIDE_SHARE)
            pairs = sources[which].draw(seed=seed, index=index, is_short=self._is_short())
            index += 1
            example = TrainingExample(
                query=tokenizer.encode_query(COMPACT.render_query(pairs.member.profile_text)),
                items=[items[which][place] for place in pairs.places],
                answers=pairs.answers,
            )
            yield from split_items(example, items_per_example=self._settings.items_per_example)

    def _sources(self) -> list[PairSource]:
        data_dir = self._settings.data_dir
        esco = read_esco(data_dir / ESCO_FILE)
        phrases, kept_out, told = profile_phrases(esco), unseen_concepts(esco), seen_wordings(esco)
        return [
            PairSource(
                esco,
                catalog,
                Pool.of(told, catalog, without=kept_out),
                load_neighbours(data_dir / "neighbours.npz", phrases, name),
                n_items=self._settings.n_items,
            )
            for name, catalog in (("default", sample_catalog(esco)), ("wide", wide_catalog(esco)))
        ]


def _item(tokenizer: PromptTokenizer, text: str) -> list[int]:
    return tokenizer.encode_item(COMPACT.render_item(text))


def tokenizer_texts(data_dir: Path, *, n_members: int) -> Iterator[str]:
    """Yield what the tokenizer is trained on: seen labels of seen concepts, catalog texts, training profiles."""
    esco = seen_wordings(read_esco(data_dir / ESCO_FILE))
    kept_out, catalog = unseen_concepts(esco), sample_catalog(esco)
    for concept in esco.concepts.values():
        if concept.concept_id not in kept_out:
            yield from (f" {label}" for label in (concept.preferred_label, *concept.alternative_labels))
    yield from (f" {entry.text}" for entry in catalog for _ in range(4))
    pool = Pool.of(esco, catalog, without=kept_out)
    for index in range(n_members):
        profile = sample_member(pool, seed=TRAINING_SEED_FROM + SEEDS_PER_START - 1, index=index).profile_text
        yield COMPACT.render_query(profile)
