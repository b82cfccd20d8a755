"""Requests to calibrate and to check with: a labeler's own rows, or random tokens of the paper's lengths."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mis_scoring.core.labels import TokenIds
from mis_scoring.core.tokenizer import PromptTokenizer

Request = tuple[TokenIds, Sequence[TokenIds]]
QUERY_MEDIAN, QUERY_SIGMA = 543, 0.794  # arXiv 2610.36383: log-normal, mean 744


def read_requests(rows: Path, tokenizer: PromptTokenizer, *, most: int | None = None) -> list[Request]:
    """Return the tokens of the members of a parquet file of the score stage (`query_text`, `item_texts`)."""
    import pyarrow.parquet as pq

    table = pq.read_table(rows, columns=["query_text", "item_texts"]).slice(0, most)
    return [
        (tokenizer.encode_query(row["query_text"]), [tokenizer.encode_item(text) for text in row["item_texts"]])
        for row in table.to_pylist()
    ]


def draw_requests(n_members: int, *, n_items: int, max_prompt: int, vocab_size: int, seed: int = 0) -> list[Request]:
    """Return members of random tokens: queries of the paper's lengths, items of 4 to 40 tokens."""
    draw = np.random.default_rng(seed)
    longest_item = min(40, max_prompt // 4)
    lengths = np.clip(draw.lognormal(np.log(QUERY_MEDIAN), QUERY_SIGMA, n_members), 2, max_prompt - longest_item)
    return [
        (
            draw.integers(0, vocab_size, length).tolist(),
            [draw.integers(0, vocab_size, n).tolist() for n in draw.integers(4, longest_item + 1, n_items)],
        )
        for length in lengths.astype(int)
    ]
