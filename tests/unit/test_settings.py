"""A setting that cannot be used is named as the variable that a person has set."""

import pytest
from pydantic import ValidationError

from jobs.settings import Settings, faults_of
from mis_scoring.engines.registry import engine_names


def test_every_fault_names_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMLABEL_CANDIDATES_PER_MEMBER", "many")
    monkeypatch.setenv("SEMLABEL_TABLE_ROOT", "s3://bucket")
    with pytest.raises(ValidationError) as raised:
        Settings(_env_file=None)  # type: ignore[call-arg]
    found = sorted(faults_of(raised.value))
    assert [fault.split(":")[0] for fault in found] == ["SEMLABEL_CANDIDATES_PER_MEMBER", "SEMLABEL_TABLE_ROOT"]
    assert "valid integer" in found[0] and "give a local or shared folder" in found[1]


@pytest.mark.parametrize("engine", ["foo", "", "Cascade", "module:", ":function", "a-module:function"])
def test_an_engine_that_nobody_knows_is_refused_before_any_job_with_the_names_that_there_are(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEMLABEL_ENGINE", engine)
    with pytest.raises(ValidationError) as raised:
        Settings(_env_file=None)  # type: ignore[call-arg]
    (fault,) = faults_of(raised.value)
    assert fault.startswith("SEMLABEL_ENGINE: ") and repr(engine) in fault
    assert "cascade, dense, prefill, sglang, single" in fault and "`module:function`" in fault


def test_every_engine_of_the_registry_and_an_own_one_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    for engine in (*engine_names(), "my_package.engines:fast"):
        monkeypatch.setenv("SEMLABEL_ENGINE", engine)
        assert Settings(_env_file=None).engine == engine  # type: ignore[call-arg]


def test_the_default_engine_is_one_of_the_registry() -> None:
    assert Settings.model_fields["engine"].default in engine_names(), "a default is not validated"
