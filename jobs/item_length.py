"""Catalog entries whose item is too long for the labeler: set aside, since each would fail its members' whole rows."""

import json
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.artifact_folder import load_artifact
from jobs.pins import Pins
from jobs.rendering import item_text, text_hash
from mis_scoring.core.limits import max_item_tokens
from mis_scoring.core.prompt import PromptLayout
from mis_scoring.core.tokenizer import PromptTokenizer

_FAULT = "key string, reason string, value_hash string"


def too_long_entries(entries: DataFrame, pins: Pins) -> DataFrame:
    """Return (key, reason, value_hash) of the entries with more tokens than an item may have.

    Only texts with more bytes than that are tokenized: a token is a byte at least.
    """
    layout, folder = load_artifact(pins).prompt, Path(pins.artifact_folder)
    limit = max_item_tokens(json.loads((folder / "config.json").read_text())["max_position_embeddings"])
    items = entries.withColumn("item_text", item_text(F.col("text"), layout))
    suspects = items.where(F.octet_length("item_text") > limit)
    if suspects.isEmpty():
        return entries.sparkSession.createDataFrame([], _FAULT)
    counted = _with_tokens(suspects.select("qualification_id", "text", "item_text"), folder, layout)
    reason = F.concat(F.col("n_tokens").cast("string"), F.lit(f" tokens; the labeler takes {limit} an item"))
    return counted.where(F.col("n_tokens") > limit).select(
        F.col("qualification_id").alias("key"), reason.alias("reason"), text_hash(F.col("text")).alias("value_hash")
    )


def _with_tokens(items: DataFrame, folder: Path, layout: PromptLayout) -> DataFrame:
    def count(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        tokenizer = PromptTokenizer(folder / "tokenizer.json", layout)
        for frame in frames:
            yield frame.assign(n_tokens=[len(tokenizer.encode_item(text)) for text in frame.pop("item_text")])

    return items.mapInPandas(count, "qualification_id string, text string, n_tokens int")
