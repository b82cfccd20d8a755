"""What is known of the pairs of a run before it scores any: a row a member, its rounds as aligned arrays.

Joins every candidate of the run with the scorer's judgments and the published labels: grows with the pairs in scope, as
the rounds together do. Hashes and scores of all judgments and labels are read, and only those in scope are moved.
"""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.build_round import to_queries
from jobs.inputs import usable_catalog
from jobs.judgments import usable_judgments
from jobs.pins import Pins
from jobs.rendering import item_text, text_hash
from jobs.round_rule import is_accepted
from jobs.scope import n_in_scope
from jobs.tables import read
from mis_scoring.core.prompt import PromptLayout
from mis_scoring.core.tokenizer import PromptTokenizer
from schemas.candidates import CANDIDATES
from schemas.catalog import CATALOG
from schemas.labels import LABELS
from schemas.profiles import PROFILES
from schemas.quarantine import QUARANTINE
from schemas.scope import SCOPE

FACTS = (
    "pairs",
    "known",
    "accepted",
    "item_tokens",
    "changes",
    "changes_if_reached",
    "changes_if_not",
    "may_change",
)  # the fields of `rules.forecast.RoundFacts`
_CAUSES = ("query_hash", "item_hash", "score", "threshold", "artifact_id")  # what makes a label another one


def planned_rounds(spark: SparkSession, root: Path, pins: Pins, layout: PromptLayout) -> DataFrame:
    """Return (member_id, query_text, *FACTS) of the members with candidates; each fact an array by round."""
    candidates = read(spark, root, CANDIDATES, run_id=pins.run_id)
    queries = to_queries(read(spark, root, PROFILES, version=pins.profiles_delta_version), candidates, layout)
    entries = usable_catalog(read(spark, root, CATALOG, version=pins.catalog_delta_version))
    known = usable_judgments(spark, root, pins, queries, n_queries=n_in_scope(root, pins.run_id))
    labels = read(spark, root, LABELS).join(candidates.select("member_id"), "member_id", "left_semi")
    aside = read(spark, root, QUARANTINE, run_id=pins.run_id).where("table = 'catalog'")
    pairs = to_pairs(candidates, queries, with_tokens(entries, pins, layout), known, labels, aside)
    facts = to_facts(pairs, pins)
    return facts.join(queries.select("member_id", "query_text"), "member_id")


def to_pairs(
    candidates: DataFrame,
    queries: DataFrame,
    items: DataFrame,
    judgments: DataFrame,
    labels: DataFrame,
    aside: DataFrame,
) -> DataFrame:
    """Return one row a candidate or published label of a member with candidates.

    Args:
        items: (qualification_id, item_hash, n_tokens) of the usable entries.
        labels: published, of those members.
        aside: catalog rows of `quarantine`: their labels stay.
    """
    ranked = candidates.select("member_id", "qualification_id", "rank")
    asked = ranked.join(queries.select("member_id", "query_hash"), "member_id").join(items, "qualification_id", "left")
    facts = judgments.select("query_hash", "item_hash", "margin", "score")
    judged = asked.join(facts, ["query_hash", "item_hash"], "left")
    published = labels.select("member_id", "qualification_id", F.struct(*_CAUSES).alias("label"))
    kept = aside.select(F.col("key").alias("qualification_id"), F.lit(True).alias("is_aside")).distinct()
    return judged.join(published, ["member_id", "qualification_id"], "full").join(kept, "qualification_id", "left")


def to_facts(pairs: DataFrame, pins: Pins) -> DataFrame:
    """Return (member_id, *FACTS), each an array in the order of the rounds.

    A label whose entry is no candidate counts in the first round: it goes, however far the member gets.
    """
    round_ = F.coalesce(F.floor(F.col("rank") / pins.candidates_per_round), F.lit(0)).cast("int")
    counted = pairs.groupBy("member_id", round_.alias("round")).agg(
        *(_count(name, is_counted).alias(name) for name, is_counted in _counted(pins).items())
    )
    rows = counted.groupBy("member_id").agg(F.sort_array(F.collect_list(F.struct("round", *FACTS))).alias("rounds"))
    return rows.select("member_id", *(F.col(f"rounds.{name}").alias(name) for name in FACTS))


def _count(name: str, is_counted: Column) -> Column:
    if name == "item_tokens":
        return F.coalesce(F.sum(F.when(is_counted, F.col("n_tokens"))), F.lit(0)).cast("bigint")
    return F.count_if(F.coalesce(is_counted, F.lit(False)))


def _counted(pins: Pins) -> dict[str, Column]:
    """Which pairs each fact counts; see `rules.forecast.RoundFacts`."""
    is_pair, is_known = F.col("item_hash").isNotNull(), F.col("margin").isNotNull()
    is_accepted_ = F.coalesce(is_accepted(F.col("margin"), pins.threshold), F.lit(False))
    is_published = F.col("label").isNotNull()
    has_its_texts = (F.col("label.query_hash") == F.col("query_hash")) & (
        F.col("label.item_hash") == F.col("item_hash")
    )
    is_of_artifact = (F.col("label.threshold") == pins.threshold) & (F.col("label.artifact_id") == pins.artifact_id)
    may_stand = is_published & has_its_texts & is_of_artifact
    is_confirmed = may_stand & is_accepted_ & (F.col("label.score") == F.col("score"))
    is_open = is_pair & ~is_known & (~is_published | may_stand)
    stays = is_confirmed | is_open | F.coalesce("is_aside", F.lit(False))
    return {
        "pairs": is_pair,
        "known": is_known,
        "accepted": is_accepted_,
        "item_tokens": is_pair & ~is_known,
        "changes": is_published & ~F.coalesce(stays, F.lit(False)),
        "changes_if_reached": ~is_published & is_accepted_,
        "changes_if_not": is_published & (is_confirmed | is_open),
        "may_change": is_open,
    }


def with_tokens(entries: DataFrame, pins: Pins, layout: PromptLayout) -> DataFrame:
    """Return (qualification_id, item_hash, n_tokens) of usable entries."""
    tokenizer_file = Path(pins.artifact_folder) / "tokenizer.json"

    def count(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        tokenizer = PromptTokenizer(tokenizer_file, layout)
        for frame in frames:
            yield frame.assign(n_tokens=[len(tokenizer.encode_item(text)) for text in frame.pop("item_text")])

    items = entries.select("qualification_id", item_text(F.col("text"), layout).alias("item_text"))
    hashed = items.withColumn("item_hash", text_hash(F.col("item_text")))
    return hashed.mapInPandas(count, "qualification_id string, item_hash string, n_tokens int")


def removed_labels(spark: SparkSession, root: Path, pins: Pins) -> DataFrame:
    """Return (member_id, n_labels) of the members who are gone."""
    gone = read(spark, root, SCOPE, run_id=pins.run_id).where("reason = 'member_removed'")
    labels = read(spark, root, LABELS).join(gone, "member_id", "left_semi")
    return labels.groupBy("member_id").agg(F.count(F.lit(1)).cast("int").alias("n_labels"))
