"""The proof for a GPU machine, run on a CPU: it holds for the Hopper kernel's algorithm, and sees one bit."""

import json
from pathlib import Path

import numpy as np
import pytest

from mis_scoring.engines.prefill import check
from mis_scoring.engines.prefill.engine import PrefillEngine
from tests.unit.prefill.conftest import ON_CPU

SIZES = ["--members", "4", "--items", "9", "--pairs", "150", "--singles", "5"]


@pytest.fixture(autouse=True)
def few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "GROUPS_AT_ONCE", 16)


def arguments(folder: Path) -> list[str]:
    return [str(folder), *SIZES, "--options", json.dumps({**ON_CPU, "attention": "tiled", "verify": False})]


def test_the_proof_holds_across_groups_and_processes(qwen3: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check.main(arguments(qwen3)) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["regrouped"]["n_pairs"] >= 150 and report["regrouped"]["n_moved"] == 0
    assert report["single"] == {"n_pairs": 5, "n_moved": 0, "n_flips": 0, "largest": 0.0}
    assert report["other_process"] == report["digest"] and report["margin_spread"] > 0.1


def test_one_bit_in_one_company_fails_it(
    qwen3: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = PrefillEngine.label_logits

    def nudged(self, query, items, labels):  # type: ignore[no-untyped-def]
        logits = plain(self, query, items, labels)
        if len(items) == 7:
            logits[3, 0] = np.nextafter(logits[3, 0], np.float32(9))
        return logits

    monkeypatch.setattr(PrefillEngine, "label_logits", nudged)
    monkeypatch.setattr(check, "_digest_of_another", lambda _: "the same")
    monkeypatch.setattr(check, "digest_of", lambda _: "the same")
    assert check.main(arguments(qwen3)) == 1
    assert json.loads(capsys.readouterr().out)["regrouped"]["n_moved"] > 0
