"""Propose the top K qualifications of each member in scope, exactly, by the best section of the profile.

A member who keeps the candidates of an earlier run (`scope`) is not retrieved: they are copied, those that have been
retired since among them.

Texts that have a vector keep it (`embeddings`); those that have none are embedded and committed in parts, so that an
attempt that is killed leaves the next one less to do. A Python worker holds the whole catalog's vectors (3 KB an entry)
and one batch of members; everything else streams. What is moved and ranked grows with the members in scope and the
catalog; what is read, also with all profiles and all texts that were ever embedded.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.inputs import (
    faulty_catalog,
    faulty_profiles,
    nameless_profiles,
    usable_catalog,
    usable_profiles,
    with_profile_hash,
)
from jobs.item_length import too_long_entries
from jobs.pins import Pins
from jobs.progress import logged_progress, tally, tally_into
from jobs.quarantine import set_aside
from jobs.rendering import text_hash
from jobs.retrieval.embedder import MiniLmEmbedder, pack_vector, unpack_vectors
from jobs.retrieval.sections import split_sections
from jobs.retrieval.topk import CatalogIndex, top_candidates
from jobs.scope import members_in_scope, n_in_scope, n_to_retrieve
from jobs.settings import Settings
from jobs.table_admin import current_version
from jobs.table_reader import literal, pins_of, query
from jobs.tables import append, read, replace
from mis_scoring.core.errors import DataError
from schemas.candidates import CANDIDATES
from schemas.catalog import CATALOG
from schemas.embeddings import EMBEDDINGS
from schemas.profiles import PROFILES
from schemas.quarantine import QUARANTINE
from schemas.scope import SCOPE

STEP = "retrieve_candidates"
INDEX = "index"
TEXTS_A_COMMIT = 50_000  # an attempt that dies loses fewer


@dataclass(frozen=True, kw_only=True)
class Params:
    """Which run to retrieve for."""

    run_id: str


def run(spark: SparkSession, settings: Settings, params: Params) -> dict[str, Any]:
    """Embed what is new, write `candidates` of the run, set faulty inputs aside."""
    root = settings.tables
    pins = pins_of(root, params.run_id)
    if n_in_scope(root, pins.run_id) == 0:
        return {"members": 0, "candidates": 0, "quarantined": 0, "texts_embedded": 0}
    every_profile = with_profile_hash(read(spark, root, PROFILES, version=pins.profiles_delta_version))
    scope = members_in_scope(spark, root, pins.run_id)
    looked_at = every_profile.join(scope.where("NOT keeps_candidates"), "member_id", "left_semi")
    all_entries = read(spark, root, CATALOG, version=pins.catalog_delta_version)
    profiles, usable_entries = usable_profiles(looked_at), usable_catalog(all_entries)
    too_long = too_long_entries(usable_entries, pins)
    entries = usable_entries.join(too_long, usable_entries["qualification_id"] == too_long["key"], "left_anti")
    sections = _stage(to_sections(profiles), settings, pins, "sections")
    texts = sections.select("text").union(entries.select("text")).distinct().withColumn("text_hash", _hash("text"))
    n_embedded = _embed_new(spark, settings, pins, texts)

    vectors = read(spark, root, EMBEDDINGS, retriever_id=pins.retriever_id).select("text_hash", "vector")
    vectors = vectors.where(F.length("vector") > 0)  # a text that embeds to nothing has no direction
    # two runs at once may have embedded a text both, and an entry stands in the index once
    unique = with_vectors(entries, "text", vectors).dropDuplicates(["qualification_id"])
    indexed = _stage(unique, settings, pins, INDEX)
    _require_entries(indexed, pins)
    index_folder = str(_folder(settings, pins, INDEX))
    tallied_in = _tally_folder(settings, pins, "ranked")
    with_sections = with_vectors(sections, "text", vectors)
    ranked = to_candidates(with_sections, index_folder, pins.candidates_per_member, tallied_in=str(tallied_in))
    kept = kept_candidates(read(spark, root, CANDIDATES), scope, _runs_to_keep_from(root, pins))
    found = _with_pins(ranked, profiles, pins).unionByName(kept.withColumn("run_id", F.lit(pins.run_id)))
    with _progress(tallied_in, n_to_retrieve(root, pins.run_id), "members ranked"):
        replace(found, root, CANDIDATES, run_id=pins.run_id)

    written = read(spark, root, CANDIDATES, run_id=pins.run_id)
    wordless = profiles.join(written, "member_id", "left_anti")
    unembedded = entries.join(indexed, "qualification_id", "left_anti")
    faults = _faults(
        looked_at.unionByName(nameless_profiles(every_profile)), all_entries, wordless, unembedded, too_long
    )
    set_aside(faults, root, run_id=pins.run_id, step=STEP)
    return _counts(settings, pins) | {"texts_embedded": n_embedded}


def _counts(settings: Settings, pins: Pins) -> dict[str, int]:
    of_run = f"WHERE run_id = {literal(pins.run_id)}"
    sql = f"SELECT count(DISTINCT member_id) AS members, count(*) AS candidates FROM candidates {of_run}"
    aside = f"SELECT count(*) AS quarantined FROM quarantine {of_run} AND step = '{STEP}'"
    return query(settings.tables, sql, CANDIDATES)[0] | query(settings.tables, aside, QUARANTINE)[0]


def to_sections(profiles: DataFrame) -> DataFrame:
    """Return one row (member_id, text) a distinct section of a profile."""
    return profiles.select("member_id", "profile_text").mapInPandas(_split, "member_id string, text string")


def with_vectors(rows: DataFrame, text: str, vectors: DataFrame) -> DataFrame:
    """Add `vector` to the rows whose text has one."""
    return rows.withColumn("text_hash", _hash(text)).join(vectors, "text_hash")


def to_candidates(sections: DataFrame, index_folder: str, k: int, *, tallied_in: str) -> DataFrame:
    """Return (member_id, rank, qualification_id, similarity), the K best of each member.

    Args:
        tallied_in: folder that the members who are done are tallied in; see `jobs.progress`.
    """
    members = sections.groupBy("member_id").agg(F.collect_list("vector").alias("vectors"))

    def rank(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        index, add = _load_index(index_folder), tally_into(tallied_in)
        for frame in frames:
            yield from (_rank_one(index, row.member_id, row.vectors, k) for row in frame.itertuples())
            add(len(frame))

    return members.mapInPandas(rank, "member_id string, rank int, qualification_id string, similarity double")


def kept_candidates(candidates: DataFrame, scope: DataFrame, run_ids: Sequence[str]) -> DataFrame:
    """Return the candidates of earlier runs, which are named, that members keep; without run_id."""
    keeping = scope.where("keeps_candidates").select("member_id", F.col("stands_run_id").alias("run_id"))
    of_runs = candidates.where(F.col("run_id").isin(*run_ids) if run_ids else F.lit(False))  # whole partitions
    return of_runs.join(keeping, ["run_id", "member_id"], "left_semi").drop("run_id")


def _runs_to_keep_from(root: Path, pins: Pins) -> list[str]:
    of_run = f"run_id = {literal(pins.run_id)} AND keeps_candidates"
    rows = query(root, f"SELECT DISTINCT stands_run_id FROM scope WHERE {of_run}", SCOPE)
    return [row["stands_run_id"] for row in rows]


def _hash(column: str) -> Any:
    return text_hash(F.col(column))


def _split(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for frame in frames:
        sections = [(row.member_id, text) for row in frame.itertuples() for text in split_sections(row.profile_text)]
        yield pd.DataFrame(sections, columns=["member_id", "text"], dtype=str)


def _rank_one(index: CatalogIndex, member_id: str, vectors: Any, k: int) -> pd.DataFrame:
    ids, similarity = top_candidates(index, unpack_vectors(vectors), k=k)
    return pd.DataFrame(
        {
            "member_id": member_id,
            "rank": np.arange(len(ids), dtype=np.int32),
            "qualification_id": ids.astype(object),
            "similarity": similarity,
        }
    )


def _embed_new(spark: SparkSession, settings: Settings, pins: Pins, texts: DataFrame) -> int:
    root = settings.tables
    version = current_version(root, EMBEDDINGS)
    known = read(spark, root, EMBEDDINGS, version=version, retriever_id=pins.retriever_id).select("text_hash")
    missing = texts.join(known.join(texts, "text_hash", "left_semi"), "text_hash", "left_anti")
    n_missing, folder = missing.count(), _tally_folder(settings, pins, "embedded")
    if n_missing == 0:
        return 0
    n_parts = -(-n_missing // TEXTS_A_COMMIT)
    if n_parts > 1:
        missing = _stage(missing, settings, pins, "missing")
    model_dir, retriever_id, tallied_in = str(settings.minilm_dir), pins.retriever_id, str(folder)

    def embed(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        embedder, add = _load_embedder(model_dir), tally_into(tallied_in)
        for frame in frames:
            vectors = [pack_vector(vector) for vector in embedder.embed(frame["text"].tolist())]
            add(len(frame))
            yield pd.DataFrame({"retriever_id": retriever_id, "text_hash": frame["text_hash"], "vector": vectors})

    with _progress(folder, n_missing, "texts embedded"):
        for part in range(n_parts):
            of_part = missing.where(F.pmod(F.xxhash64("text_hash"), F.lit(n_parts)) == part)
            spread = of_part.repartition(settings.spark_partitions, "text_hash")
            rows = spread.mapInPandas(embed, "retriever_id string, text_hash string, vector binary")
            # the version tells attempts apart: what is missing, and so each part, differs once one has committed
            append(rows, root, EMBEDDINGS, transaction=f"{pins.run_id}:{STEP}:{version}:{part}")
    return n_missing


def _tally_folder(settings: Settings, pins: Pins, name: str) -> Path:
    """Return an empty folder: an earlier attempt counted its own. One that still runs must find its folder."""
    folder = _folder(settings, pins, name)
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.iterdir():
        file.unlink(missing_ok=True)
    return folder


def _progress(folder: Path, n: int, what: str) -> AbstractContextManager[None]:
    return logged_progress(lambda: f"{STEP}: {tally(folder, at_most=n)} of {n} {what}")


def _folder(settings: Settings, pins: Pins, name: str) -> Path:
    return settings.staging / "retrieval" / pins.run_id / name


def _stage(rows: DataFrame, settings: Settings, pins: Pins, name: str) -> DataFrame:
    """Keep rows that are read several times as files of the run; a cache could be taken for that of other versions."""
    folder = str(_folder(settings, pins, name))
    rows.write.mode("overwrite").parquet(folder)
    return rows.sparkSession.read.parquet(folder)


def _require_entries(indexed: DataFrame, pins: Pins) -> None:
    if indexed.isEmpty():
        raise DataError(
            f"catalog version {pins.catalog_delta_version} holds no usable entry: load a catalog with active entries "
            "that have a text."
        )


@lru_cache(maxsize=1)
def _load_embedder(model_dir: str) -> MiniLmEmbedder:
    return MiniLmEmbedder(Path(model_dir))


@lru_cache(maxsize=1)
def _load_index(folder: str) -> CatalogIndex:
    entries = pd.read_parquet(folder, columns=["qualification_id", "vector"])
    return CatalogIndex.build(entries["qualification_id"].tolist(), unpack_vectors(entries["vector"].tolist()))


def _with_pins(ranked: DataFrame, profiles: DataFrame, pins: Pins) -> DataFrame:
    pinned = profiles.select(
        "member_id", F.coalesce("profile_version", F.lit(0)).alias("profile_version"), "profile_hash"
    )
    return ranked.join(pinned, "member_id").withColumns(
        {
            "run_id": F.lit(pins.run_id),
            "catalog_version": F.lit(pins.catalog_version),
            "retriever_id": F.lit(pins.retriever_id),
        }
    )


def _faults(
    profiles: DataFrame, entries: DataFrame, wordless: DataFrame, unembedded: DataFrame, too_long: DataFrame
) -> DataFrame:
    nothing = F.lit("embeds to nothing").alias("reason")
    parts = {
        "profiles": faulty_profiles(profiles).union(
            wordless.select(F.col("member_id").alias("key"), nothing, _hash("profile_text").alias("value_hash"))
        ),
        "catalog": faulty_catalog(entries)
        .union(unembedded.select(F.col("qualification_id").alias("key"), nothing, _hash("text").alias("value_hash")))
        .union(too_long),
    }
    tagged = [rows.withColumn("table", F.lit(table)) for table, rows in parts.items()]
    return tagged[0].union(tagged[1]).dropDuplicates(["table", "key"])
