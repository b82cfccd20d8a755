"""The sample's catalog, brought to a later version of ESCO."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from jobs.domain import domain_of, set_domain
from jobs.errors import CheckFailedError, MissingRequirementError
from jobs.sample.esco import Concept
from jobs.sample.esco_update import later_label, new_label
from jobs.settings import Settings
from jobs.table_admin import create_missing
from jobs.table_path import table_path
from jobs.table_reader import query
from jobs.update_sample import UPDATED_DOMAIN, update_sample_catalog
from jobs.write_sample import DEFAULT_DOMAIN
from schemas.catalog import CATALOG
from schemas.reference import REFERENCE
from tests.world import settings_under

CONCEPT = Concept(
    concept_id="c",
    preferred_label="store wine properly",
    alternative_labels=("store wine carefully", "stow wine"),
    groups=("S1",),
)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("store wine properly store wine carefully Keep wine.", "store wine properly"),
        ("stow wine store wine properly Keep wine.", "stow wine"),
        ("keep wine cool store wine carefully Keep wine.", "keep wine cool"),
        ("keep wine cool stow wine store wine carefully Keep wine.", "keep wine cool"),
        ("keep store wine carefully Keep wine.", None),
        ("keep wine and keep beer store wine carefully Keep wine.", None),
        ("keep wine cool Keep wine.", None),
    ],
    ids=["as it was", "an alternative", "another", "the first of two", "one word", "two labels", "no end"],
)
def test_a_later_label_ends_where_a_known_one_begins(text: str, label: str | None) -> None:
    assert later_label(CONCEPT, text) == label


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("smart grids systems smart grids Smart grids are", "smart grids systems"),
        ("data ethics principles of data ethics The subfield", None),
        ("agroforestry agro-silvopastoral systems The application", None),
        ("knowledge base IT knowledge base A base", None),
    ],
)
def test_a_new_label_ends_where_its_first_word_comes_again(text: str, label: str | None) -> None:
    assert new_label(text) == label


ESCO = """id,description,hierarchy_levels,type
a,store wine properly,"[['S', 'S1']]",preferredLabel
a,store wine carefully,"[]",altLabels
b,read maps,"[['S', 'S1']]",preferredLabel
c,sew bags,"[['S', 'S1']]",preferredLabel
"""
LATER = """id,description
http://x/a,keep wine cool store wine carefully Keep wine.
http://x/b,read maps Read a map.
http://x/d,smart grids systems smart grids Smart grids are
"""


@pytest.fixture
def sample(tmp_path: Path) -> Settings:
    """Two skills of three and a licence; ann is known to hold the one that will go."""
    made = settings_under(tmp_path, data_dir=tmp_path)
    (tmp_path / "esco_v_1_1_1_data_formatted.csv").write_text(ESCO, encoding="utf-8")
    (tmp_path / "esco_later_skills.csv").write_text(LATER, encoding="utf-8")
    create_missing(made.tables, CATALOG, REFERENCE)
    texts = {"skill:a": "store wine properly", "skill:b": "read maps", "skill:c": "sew bags", "licence:x": "Licence"}
    rows = [
        {"qualification_id": key, "category": key.split(":")[0], "text": text, "status": "active"}
        for key, text in texts.items()
    ]
    put(made, CATALOG, rows)
    put(made, REFERENCE, [{"member_id": "ann", "qualification_id": "skill:c", "answer": "supported"}])
    put(made, REFERENCE, [{"member_id": "ann", "qualification_id": "skill:a", "answer": "supported"}])
    set_domain(made.tables, CATALOG, DEFAULT_DOMAIN)
    return made


def put(made: Settings, table: Any, rows: list[dict[str, Any]]) -> None:
    write_deltalake(table_path(made.tables, table), pa.Table.from_pylist(rows, table.columns), mode="append")


def test_an_update_changes_adds_and_retires_in_one_go_and_only_once(sample: Settings) -> None:
    done = update_sample_catalog(sample)
    assert (done["added"], done["text_changed"], done["retired"], done["unread"]) == (1, 1, 1, 0)
    rows = query(sample.tables, "SELECT qualification_id, text, status FROM catalog ORDER BY 1", CATALOG)
    assert [tuple(row.values()) for row in rows] == [
        ("licence:x", "Licence", "active"),
        ("skill:a", "keep wine cool", "active"),
        ("skill:b", "read maps", "active"),
        ("skill:c", "sew bags", "retired"),
        ("skill:d", "smart grids systems", "active"),
    ]
    answers = query(sample.tables, "SELECT qualification_id, answer FROM reference ORDER BY 1", REFERENCE)
    assert [tuple(row.values()) for row in answers] == [("skill:a", "supported"), ("skill:d", "unknown")]
    assert domain_of(sample.tables, CATALOG) == UPDATED_DOMAIN
    again = update_sample_catalog(sample)
    assert again == done | {"added": 0, "text_changed": 0, "retired": 0}


def test_own_data_and_missing_files_are_refused(sample: Settings, tmp_path: Path) -> None:
    (tmp_path / "esco_later_skills.csv").unlink()
    with pytest.raises(MissingRequirementError, match=r"esco_later_skills\.csv missing: run `make setup`"):
        update_sample_catalog(sample)
    set_domain(sample.tables, CATALOG, "own data")
    with pytest.raises(CheckFailedError, match="is no sample: load its update with `semlabel load`"):
        update_sample_catalog(sample)
