"""A setting that cannot be used is named as the variable that a person has set."""

import pytest
from pydantic import ValidationError

from jobs.settings import Settings, faults_of


def test_every_fault_names_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMLABEL_CANDIDATES_PER_MEMBER", "many")
    monkeypatch.setenv("SEMLABEL_TABLE_ROOT", "s3://bucket")
    with pytest.raises(ValidationError) as raised:
        Settings(_env_file=None)  # type: ignore[call-arg]
    found = sorted(faults_of(raised.value))
    assert [fault.split(":")[0] for fault in found] == ["SEMLABEL_CANDIDATES_PER_MEMBER", "SEMLABEL_TABLE_ROOT"]
    assert "valid integer" in found[0] and "give a local or shared folder" in found[1]
