"""A model server's memory over some minutes of requests: what leaks a little at each of them shows here."""

import json
from typing import Any

import pytest

from jobs.settings import CHECKOUT
from mis_scoring.serving.bench_memory import main

pytestmark = pytest.mark.soak


def test_memory_stays_flat_once_the_largest_forward_was_computed(capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(CHECKOUT / "labelers" / "esco-small")
    assert main([folder, "--threads=2", "--requests=1500", "--every=300", "--json"]) == 0
    _, warm, *_, last = json.loads(capsys.readouterr().out)["curve"]
    grown: dict[str, Any] = {name: last["rss_mb"][name] - at_first for name, at_first in warm["rss_mb"].items()}
    assert set(grown) >= {"mis_scoring.serving.engine_host", "mis_scoring.serving.tokenizer_host"}
    assert max(grown.values()) < 8, f"MB in 1,200 requests of one size: {grown}"
