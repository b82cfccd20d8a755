"""The stage as a library, with engines of its own: what its README shows runs."""

import re
from pathlib import Path

import pytest

from jobs.settings import CHECKOUT
from mis_scoring.ray_data import staging

README = Path(staging.__file__).with_name("README.md")


@pytest.mark.usefixtures("local_ray")
def test_the_example_of_the_readme_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(CHECKOUT)
    example = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)[0]
    exec(example.replace("cascade", "tests.ray.fake_engines:plain"), {})
    assert capsys.readouterr().out.startswith("None {'provide nursing care': ")
