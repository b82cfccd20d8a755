"""Read the pinned profiles and catalog, and tell usable rows from faulty ones.

A faulty row goes to quarantine with its reason; the run goes on without it.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.rendering import text_hash


def with_profile_hash(profiles: DataFrame) -> DataFrame:
    """Return the profiles with `profile_hash` computed here: scope must not depend on an upstream's hash."""
    return profiles.withColumn("profile_hash", text_hash(F.col("profile_text")))


def current_profiles(profiles: DataFrame) -> DataFrame:
    """Return (member_id, profile_version, profile_hash), one row a member; no hash where the row can't be used.

    Texts are hashed where they are read: only hashes are moved. A row without a member_id is nobody's.
    """
    is_alone = F.count(F.lit(1)) == 1
    rows = profiles.where(~_is_blank("member_id")).select(
        "member_id",
        "profile_version",
        F.when(~_holds_no_text("profile_text"), text_hash(F.col("profile_text"))).alias("profile_hash"),
    )
    return rows.groupBy("member_id").agg(
        F.max("profile_version").alias("profile_version"),
        F.when(is_alone, F.max("profile_hash")).alias("profile_hash"),
    )


def nameless_profiles(profiles: DataFrame) -> DataFrame:
    """Keep the rows without a member_id: no member's scope takes them in."""
    return profiles.where(_is_blank("member_id"))


def usable_profiles(profiles: DataFrame) -> DataFrame:
    """Keep the profiles that can be labelled."""
    return _with_fault(profiles, "member_id", "profile_text").where("fault IS NULL").drop("fault")


def faulty_profiles(profiles: DataFrame) -> DataFrame:
    """Return (key, reason, value_hash) of the profiles that can't be labelled."""
    return _faults(profiles, "member_id", "profile_text")


def usable_catalog(catalog: DataFrame) -> DataFrame:
    """Keep the active entries that can be retrieved and scored."""
    return _with_fault(catalog, "qualification_id", "text").where("fault IS NULL AND status = 'active'").drop("fault")


def faulty_catalog(catalog: DataFrame) -> DataFrame:
    """Return (key, reason, value_hash) of the entries that can't be used."""
    return _faults(catalog, "qualification_id", "text")


def _with_fault(rows: DataFrame, key: str, text: str) -> DataFrame:
    same_key = Window.partitionBy(key)
    fault = (
        F.when(_is_blank(key), F.lit(f"no {key}"))
        .when(F.count(F.lit(1)).over(same_key) > 1, F.lit(f"several rows with this {key}"))
        .when(F.col(text).isNull(), F.lit(f"{text} is null"))
        .when(_holds_no_text(text), F.lit(f"{text} holds no text"))
    )
    return rows.withColumn("fault", fault)


def _is_blank(key: str) -> Column:
    return F.col(key).isNull() | (F.trim(key) == "")


def _holds_no_text(text: str) -> Column:
    return F.col(text).isNull() | ~F.col(text).rlike(r"[\p{L}\p{N}\p{S}]")


def _faults(rows: DataFrame, key: str, text: str) -> DataFrame:
    return (
        _with_fault(rows, key, text)
        .where("fault IS NOT NULL")
        .select(
            F.coalesce(F.col(key), F.lit("")).alias("key"),
            F.col("fault").alias("reason"),
            text_hash(F.col(text)).alias("value_hash"),
        )
    )
