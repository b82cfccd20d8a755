"""A publication without a label: a commit of its own number; of those that saw the same labels one alone makes it."""

from pathlib import Path

import pytest
from deltalake import write_deltalake

from jobs.labels_commit import LabelsBase, LostRaceError, mark_publication
from jobs.published_event import committed_runs
from jobs.table_admin import create_missing
from jobs.table_path import table_path
from schemas.labels import LABELS


def test_of_two_that_saw_the_same_labels_one_marks_and_the_other_looks_again(tmp_path: Path) -> None:
    create_missing(tmp_path, LABELS)
    base = LabelsBase.of(tmp_path)
    assert mark_publication(tmp_path, "one", base) == 1
    with pytest.raises(LostRaceError, match="labels moved past version 0 while other was published"):
        mark_publication(tmp_path, "other", base)
    seen = LabelsBase.of(tmp_path)
    write_deltalake(table_path(tmp_path, LABELS), LABELS.columns.empty_table(), mode="append")  # as maintenance does
    with pytest.raises(LostRaceError):  # else the commit would not have the version that is returned
        mark_publication(tmp_path, "other", seen)
    assert LabelsBase.of(tmp_path) == LabelsBase(version=2, n_publications=1)
    assert mark_publication(tmp_path, "other", LabelsBase.of(tmp_path)) == 3
    assert committed_runs(tmp_path) == {"one": 1, "other": 3}
