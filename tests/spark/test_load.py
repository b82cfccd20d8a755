"""Own data: every fault of the files at once, defaults for what may be left out, replace and upsert."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs.domain import OWN_DATA, domain_of
from jobs.errors import FaultsError
from jobs.load_data import load_files
from schemas.catalog import CATALOG
from schemas.profiles import PROFILES
from tests.world import World


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_all_faults_of_all_files_are_listed_and_nothing_is_written(world: World, tmp_path: Path) -> None:
    world.put_profiles({"old": "text"})
    profiles = write(
        tmp_path / "p.csv",
        "member_id,profile_text,profile_version,updated_at\na,x,one,\na,y,2,now!\n,z,3,\nb,a, comma\nc\n",
    )
    catalog = write(tmp_path / "c.csv", "qualification_id,category,text,status,colour\nq,hobby,chess,open,red\n")
    with pytest.raises(FaultsError) as raised:
        load_files(world.spark, world.settings, {PROFILES: profiles, CATALOG: catalog}, is_upsert=False)
    listed = "\n".join(raised.value.faults)
    for fault in (
        "line 5: 3 field(s) where the header names 4",
        "line 6: 1 field(s) where the header names 4",
        "member_id is empty in 1 row(s)",
        "profile_version is no whole number in 1 row(s): 'a'",
        "updated_at is no time (ISO 8601) in 1 row(s): 'a'",
        "member_id stands in several rows in 1 row(s): 'a'",
        "column colour is unknown",
    ):
        assert fault in listed, listed
    assert "'b'" not in listed and "'c'" not in listed, "a row of a wrong shape has that fault only"
    assert [row["member_id"] for row in world.rows("profiles")] == ["old"]


def test_csv_and_parquet_replace_or_change_rows(world: World, tmp_path: Path, spark: SparkSession) -> None:
    catalog = write(tmp_path / "c.csv", 'qualification_id,category,text\nq1,skill,"sews, and mends"\nq2,skill,cooks\n')
    parquet = str(tmp_path / "p.parquet")
    spark.createDataFrame([("a", "sews"), ("b", "line\nbreak")], "member_id string, profile_text string").write.parquet(
        parquet
    )
    load_files(spark, world.settings, {PROFILES: Path(parquet), CATALOG: catalog}, is_upsert=False)
    assert {row["qualification_id"]: (row["text"], row["status"]) for row in world.rows("catalog")} == {
        "q1": ("sews, and mends", "active"),
        "q2": ("cooks", "active"),
    }
    assert {row["profile_text"] for row in world.rows("profiles")} == {"sews", "line\nbreak"}
    assert all(row["profile_hash"] and row["profile_version"] > 0 for row in world.rows("profiles"))
    assert domain_of(world.settings.tables, PROFILES) == domain_of(world.settings.tables, CATALOG) == OWN_DATA

    changed = write(tmp_path / "p.csv", "member_id,profile_text\nb,new\nc,third\n")
    load_files(spark, world.settings, {PROFILES: changed}, is_upsert=True)
    assert {row["member_id"]: row["profile_text"] for row in world.rows("profiles")} == {
        "a": "sews",
        "b": "new",
        "c": "third",
    }
