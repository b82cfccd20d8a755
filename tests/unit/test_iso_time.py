"""A time that a person types, wherever one is taken, is UTC where it names no zone."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from jobs.command_output import time_option
from jobs.iso_time import time_of


@given(st.datetimes(), st.integers(-12, 12))
def test_a_time_without_a_zone_is_utc_and_another_zone_stays_the_same_moment(at: datetime, hours: int) -> None:
    assert time_of(at.isoformat()) == at.replace(tzinfo=UTC)
    zoned = at.replace(tzinfo=timezone(timedelta(hours=hours)))
    assert time_of(zoned.isoformat()).utcoffset() == timedelta(hours=hours)


def test_what_is_no_time_is_wrong_usage_of_its_option() -> None:
    assert time_option(None, "--since") is None
    with pytest.raises(typer.BadParameter, match="'yesterday' is no time"):
        time_option("yesterday", "--since")
