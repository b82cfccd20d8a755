"""What a refresh in the foreground asks for before it starts anything."""

from pathlib import Path

import pytest

from jobs.errors import MissingRequirementError
from jobs.refresh import run_refresh
from jobs.settings import Settings
from jobs.table_admin import create_missing
from mis_scoring.core.errors import DataError
from schemas.catalog import CATALOG
from schemas.profiles import PROFILES


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path, _env_file=None)  # type: ignore[call-arg]


def test_a_kind_without_a_dag_is_named_with_those_there_are(settings: Settings) -> None:
    with pytest.raises(DataError, match=r"'monthly' is no kind of refresh; there are catalog_backfill, .*weekly_full"):
        run_refresh(settings, "monthly")


def test_tables_that_are_not_there_are_named(settings: Settings) -> None:
    create_missing(settings.tables, PROFILES)
    with pytest.raises(MissingRequirementError, match="No table catalog under"):
        run_refresh(settings, "weekly_full")


def test_a_labeler_is_asked_for_before_spark_starts(settings: Settings) -> None:
    create_missing(settings.tables, PROFILES, CATALOG)
    with pytest.raises(MissingRequirementError, match="semlabel labeler register FOLDER --alias champion"):
        run_refresh(settings, "weekly_full")
