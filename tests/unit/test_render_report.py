"""The summary at the end of a refresh: what a person can use, in words, and commands that run as they stand."""

from pathlib import Path
from typing import Any

from jobs.render_report import example_label, next_commands, shown_counts, shown_seconds
from tests.published_history import History
from tests.world import settings_under

REPORT: dict[str, Any] = {
    "run_id": "weekly_full-2",
    "previous_run_id": "weekly_full-1",
    "changes": {"added": 3},
    "pins": {"kind": "weekly_full", "candidates_per_member": 200},
}


def test_counts_are_in_words_and_only_what_a_run_always_has_is_shown_at_zero() -> None:
    found = shown_counts({"members": 5, "scored": 0, "pairs_reused": 70, "labels": 9, "tie_checked": 0, "rounds": 2})
    assert found == {"members looked at": 5, "pairs scored": 0, "pairs reused": 70, "labels published, in all": 9}
    assert shown_seconds({"a": 0.01, "b": 1.0, "c": 2.0}) == {"c": "2.0", "b": "1.0"}


def test_what_to_try_next_names_this_runs_own_ids() -> None:
    assert list(next_commands(REPORT, ("ann", "q-nursing"))) == [
        "semlabel runs weekly_full-2",
        "semlabel audit ann q-nursing",
        "semlabel audit ann",
        "semlabel diff weekly_full-1 weekly_full-2",
        "semlabel refresh weekly_full --candidates 250",
    ]
    first = REPORT | {"previous_run_id": None, "pins": {"kind": "catalog_backfill", "candidates_per_member": 200}}
    assert list(next_commands(first, None)) == ["semlabel runs weekly_full-2"]


def test_the_example_is_a_label_of_the_run_or_else_of_another(tmp_path: Path) -> None:
    history = History(settings_under(tmp_path))
    assert example_label(history.settings, "run-1") is None
    history.put_catalog({"q-nursing": "nursing", "q-welding": "welding"})
    history.put_profiles({"ann": "nursing"})
    history.run()
    assert example_label(history.settings, "run-1") == ("ann", "q-nursing") == example_label(history.settings, "other")
