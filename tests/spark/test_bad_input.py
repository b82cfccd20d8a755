"""Bad rows go to quarantine with their reason; the run goes on; nobody loses a label."""

from pathlib import Path

import pytest

from jobs.errors import MissingRequirementError, SchemaError
from schemas.catalog import CATALOG
from schemas.profiles import PROFILES
from tests.spark.conftest import CATALOG_TEXTS, PROFILE_TEXTS
from tests.world import World, settings_under, shares_a_word

ODD_TEXTS = {
    "odd-control": "nursing \x00\x07 and\r\n baking",
    "odd-rtl": "\u202enursing\u202c \u0627\u0644\u062a\u0645\u0631\u064a\u0636",
    "odd-special": "nursing <|readout|> <|pad|> YES YES",
    "odd-4-byte": "nursing \U0001f9d1\u200d\u2695\ufe0f \U00020000",
}
FAULTY_TEXTS: dict[str, str | None] = {
    "bad-null": None,
    "bad-empty": "",
    "bad-space": " \t\n ",
    "bad-dashes": "-- ... --",
}


FAULTY_ENTRIES = [("q-painting", "another painting"), ("q-textless", " "), (None, "nameless")]
TOO_LONG = "nursing " * 300


@pytest.fixture
def after_bad_input(published: World) -> World:
    """A first refresh of good rows, then one in which good rows have turned bad and odd ones have come."""
    world = published
    turned_bad: dict[str, str | None] = {"dan": None, "ann": "nursing, but the engine fails on me"}
    world.put_profiles(PROFILE_TEXTS | ODD_TEXTS | FAULTY_TEXTS | turned_bad, version=2)
    rows = [
        {"qualification_id": key, "category": "skill", "text": text, "status": "active"}
        for key, text in [*CATALOG_TEXTS.items(), *FAULTY_ENTRIES, ("q-long", TOO_LONG)]
    ]
    world.put(CATALOG, rows)
    world.result = world.refresh("bad", lambda q, c: None if "engine fails" in q else shares_a_word(q, c))
    return world


def test_bad_rows_are_set_aside_and_the_run_goes_on(after_bad_input: World) -> None:
    world = after_bad_input
    aside = {(row["table"], row["key"]): row["reason"] for row in world.rows("quarantine")}
    assert {key for table, key in aside if table == "profiles"} == {*FAULTY_TEXTS, "dan", "ann"}
    assert {key for table, key in aside if table == "catalog"} == {"q-painting", "q-textless", "", "q-long"}
    assert aside["catalog", "q-long"].endswith(" tokens; the labeler takes 128 an item")
    assert aside["catalog", "q-painting"] == "several rows with this qualification_id"
    assert aside["profiles", "ann"].startswith("not scored: ")
    labels = world.labels()
    assert {(member, "q-nursing") for member in ODD_TEXTS} <= labels, "odd texts are texts"
    assert ("dan", "q-singing") in labels, "a quarantined member keeps its labels"
    assert ("ann", "q-baking") in labels, "a member that could not be scored keeps its labels"
    assert ("bob", "q-painting") in labels, "a label of a quarantined entry is kept"
    assert world.result["members_left_out"] == {"quarantined": 5, "incomplete": 1}
    stale = {row["member_id"] for row in world.rows("coverage", where="NOT is_complete")}
    assert stale == {*FAULTY_TEXTS, "dan", "ann"}, "and all of them stay in scope"
    assert not any("fails" in str(row) for row in world.rows("quarantine")), "no text of a member is kept there"


def test_a_missing_table_root_is_named(world: World, tmp_path: Path) -> None:
    world.settings = settings_under(tmp_path / "nowhere")
    with pytest.raises(MissingRequirementError, match=r"No table profiles, catalog under .*semlabel sample"):
        world.pin("any")


def test_missing_and_retyped_columns_are_listed_at_once(world: World) -> None:
    import pyarrow as pa
    from deltalake import write_deltalake

    from jobs.table_path import table_path

    rows = pa.table({"member_id": ["a"], "profile_version": ["one"], "updated_at": [None], "profile_hash": ["x"]})
    write_deltalake(
        table_path(world.settings.tables, PROFILES),
        rows.cast(rows.schema.set(2, pa.field("updated_at", pa.string()))),
        mode="overwrite",
        schema_mode="overwrite",
    )
    with pytest.raises(SchemaError) as raised:
        world.pin("any")
    listed = str(raised.value)
    assert "profile_text (string) is missing" in listed
    assert "profile_version is string" in listed and "updated_at is string" in listed
