"""Build the rows of one round: each eligible member's query, the items still to be scored, and the reused pairs.

A member is eligible for round r when round r-1 said `goes_on`; everyone with candidates is for round 0. A sampled
member who has stopped has its further rounds too, marked `is_past_stop`. A pair whose judgment exists for this scorer
is reused, whatever run it came from: its score depends on the pair alone. A run that recomputes reuses none that is
older than its own generation. A candidate that has been retired since it was retrieved keeps its slot: it is not in the
round, and nothing moves up.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.artifact_folder import load_artifact
from jobs.inputs import usable_catalog
from jobs.judgments import usable_judgments
from jobs.pins import Pins
from jobs.rendering import item_text, query_text, text_hash
from jobs.scope import n_in_scope
from jobs.settings import Settings
from jobs.table_reader import literal, pins_of, query
from jobs.tables import append, read, replace
from mis_scoring.core.prompt import PromptLayout
from schemas.candidates import CANDIDATES
from schemas.catalog import CATALOG
from schemas.member_rounds import MEMBER_ROUNDS
from schemas.profiles import PROFILES
from schemas.round_outcomes import ROUND_OUTCOMES
from schemas.texts import TEXTS

_COUNTS = ("members", "pairs_to_score", "pairs_reused", "past_stop_members", "past_stop_pairs_to_score")


@dataclass(frozen=True, kw_only=True)
class Params:
    """Which round of which run to build."""

    run_id: str
    round: int


def run(spark: SparkSession, settings: Settings, params: Params) -> dict[str, Any]:
    """Write `member_rounds` of the round and the texts that are scored for the first time.

    Returns:
        members, pairs_to_score, pairs_reused; of the sample past its stop: past_stop_members, past_stop_pairs_to_score.
    """
    root = settings.tables
    pins = pins_of(root, params.run_id)
    if params.round >= pins.n_rounds:
        return dict.fromkeys(_COUNTS, 0)
    layout = load_artifact(pins).prompt
    candidates = _candidates_of_round(spark, root, pins, params.round)
    queries = to_queries(read(spark, root, PROFILES, version=pins.profiles_delta_version), candidates, layout)
    entries = usable_catalog(read(spark, root, CATALOG, version=pins.catalog_delta_version))
    known = usable_judgments(spark, root, pins, queries, n_queries=n_in_scope(root, pins.run_id))
    rows = to_round_rows(rendered(candidates, queries, entries, layout), known).withColumns(
        {"run_id": F.lit(pins.run_id), "round": F.lit(params.round)}
    )
    replace(rows, root, MEMBER_ROUNDS, run_id=pins.run_id, round=params.round)
    counts = _counts(settings, params)
    if counts["pairs_to_score"] + counts["past_stop_pairs_to_score"]:
        written = read(spark, root, MEMBER_ROUNDS, run_id=pins.run_id, round=params.round)
        _keep_texts(spark, settings, written, transaction=f"{pins.run_id}:texts:{params.round}")
    return counts


def _counts(settings: Settings, params: Params) -> dict[str, Any]:
    sql = f"""
        WITH rows AS (
            SELECT coalesce(is_past_stop, false) AS is_past_stop, coalesce(array_length(item_ids), 0) AS to_score,
                   coalesce(array_length(reused_ids), 0) AS reused
            FROM member_rounds WHERE run_id = {literal(params.run_id)} AND round = {params.round}
        )
        SELECT count(*) FILTER (WHERE NOT is_past_stop) AS members,
               coalesce(sum(to_score) FILTER (WHERE NOT is_past_stop), 0) AS pairs_to_score,
               coalesce(sum(reused) FILTER (WHERE NOT is_past_stop), 0) AS pairs_reused,
               count(*) FILTER (WHERE is_past_stop) AS past_stop_members,
               coalesce(sum(to_score) FILTER (WHERE is_past_stop), 0) AS past_stop_pairs_to_score
        FROM rows"""
    return {name: int(count) for name, count in query(settings.tables, sql, MEMBER_ROUNDS)[0].items()}


def _candidates_of_round(spark: SparkSession, root: Path, pins: Pins, round: int) -> DataFrame:
    """Return the candidates of the members that have this round, with `is_past_stop`."""
    candidates = in_round(read(spark, root, CANDIDATES, run_id=pins.run_id), round, pins)
    if round == 0:
        return candidates.withColumn("is_past_stop", F.lit(False))
    before = read(spark, root, ROUND_OUTCOMES, run_id=pins.run_id, round=round - 1)
    eligible = before.where("goes_on OR goes_past_stop")
    return candidates.join(eligible.select("member_id", (~F.col("goes_on")).alias("is_past_stop")), "member_id")


def in_round(candidates: DataFrame, round: int, pins: Pins) -> DataFrame:
    """Keep the candidates whose 0-based rank falls into the 0-based round."""
    first, after = round * pins.candidates_per_round, pins.last_rank(round)
    return candidates.where((F.col("rank") >= first) & (F.col("rank") < after))


def to_queries(profiles: DataFrame, candidates: DataFrame, layout: PromptLayout) -> DataFrame:
    """Return (member_id, query_text, query_hash) of the members with candidates; retrieval left faulty rows out."""
    members = candidates.select("member_id").distinct()
    text = query_text(F.col("profile_text"), layout)
    queries = profiles.join(members, "member_id", "left_semi").select("member_id", text.alias("query_text"))
    return queries.withColumn("query_hash", text_hash(F.col("query_text")))


def rendered(candidates: DataFrame, queries: DataFrame, entries: DataFrame, layout: PromptLayout) -> DataFrame:
    """Return (member_id, is_past_stop, rank, qualification_id, query_text, query_hash, item_text, item_hash).

    The item of an empty slot is null, so that a member all of whose candidates in the round were retired has a row.
    """
    items = entries.select("qualification_id", item_text(F.col("text"), layout).alias("item_text"))
    pairs = candidates.select("member_id", "is_past_stop", "rank", "qualification_id").join(queries, "member_id")
    return pairs.join(items, "qualification_id", "left").withColumn("item_hash", text_hash(F.col("item_text")))


def to_round_rows(pairs: DataFrame, judgments: DataFrame) -> DataFrame:
    """Return one row a member; item lists in rank order, pairs with a judgment apart."""
    known = judgments.select("query_hash", "item_hash", F.lit(True).alias("is_judged"))
    marked = pairs.join(known, ["query_hash", "item_hash"], "left")
    packed = marked.groupBy("member_id", "is_past_stop", "query_hash", "query_text").agg(
        _in_rank_order(F.col("is_judged").isNull() & F.col("item_hash").isNotNull()).alias("to_score"),
        _in_rank_order(F.col("is_judged").isNotNull()).alias("reused"),
    )
    return packed.select(
        "member_id",
        "is_past_stop",
        "query_hash",
        "query_text",
        F.col("to_score.qualification_id").alias("item_ids"),
        F.col("to_score.item_hash").alias("item_hashes"),
        F.col("to_score.item_text").alias("item_texts"),
        F.col("reused.qualification_id").alias("reused_ids"),
        F.col("reused.item_hash").alias("reused_hashes"),
    )


def _in_rank_order(condition: Column) -> Column:
    item = F.struct("rank", "qualification_id", "item_hash", "item_text")
    return F.sort_array(F.collect_list(F.when(condition, item)))


def _keep_texts(spark: SparkSession, settings: Settings, rows: DataFrame, *, transaction: str) -> None:
    scored = rows.where(F.size("item_ids") > 0)
    queries = scored.select(F.col("query_hash").alias("text_hash"), F.lit("query").alias("kind"), "query_text")
    pairs = scored.select(F.explode(F.arrays_zip("item_hashes", "item_texts")).alias("item"))
    items = pairs.select(
        F.col("item.item_hashes").alias("text_hash"), F.lit("item").alias("kind"), F.col("item.item_texts")
    )
    texts = queries.union(items).toDF("text_hash", "kind", "text").dropDuplicates(["text_hash"])
    known = read(spark, settings.tables, TEXTS).select("text_hash").join(texts, "text_hash", "left_semi")
    append(texts.join(known, "text_hash", "left_anti"), settings.tables, TEXTS, transaction=transaction)
