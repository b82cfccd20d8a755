"""Reading the ESCO file."""

from pathlib import Path

from jobs.sample.esco import read_esco
from jobs.sample.unseen import seen_wordings, unseen_wordings

ROWS = """id,description,hierarchy_levels,type
a,manage  musical staff,"[['S', 'S4', 'S4.5', 'S4.5.0'], ['T', 'T4', 'T4.4', None]]",preferredLabel
a,Manage musical staff,"[]",altLabels
a,manage staff of music,"[]",altLabels
a,manage staff of music,"[]",altLabels
S4.5.0,leading others,,level_3
"""


def test_labels_are_cleaned_and_the_preferred_wording_is_never_an_alternative(tmp_path: Path) -> None:
    (tmp_path / "esco.csv").write_text(ROWS, encoding="utf-8")
    esco = read_esco(tmp_path / "esco.csv")
    concept = esco.concepts["a"]
    assert concept.preferred_label == "manage musical staff"
    assert concept.alternative_labels == ("manage staff of music",)
    assert concept.groups == ("S4.5.0", "T4.4")
    assert esco.members_of["T4.4"] == ("a",)
    assert esco.group_names == {"S4.5.0": "leading others"}


def test_seen_and_unseen_wordings_part_the_labels(tmp_path: Path) -> None:
    labels = "\n".join(f'b,wording number {i},"[]",altLabels' for i in range(200))
    preferred = "b,the concept,\"[['K', 'K01', 'K011', 'K0111']]\",preferredLabel"
    header = ROWS.splitlines()[0]
    (tmp_path / "esco.csv").write_text(f"{header}\n{preferred}\n{labels}\n", encoding="utf-8")
    esco = read_esco(tmp_path / "esco.csv")
    seen = seen_wordings(esco).concepts["b"].alternative_labels
    unseen = unseen_wordings(esco).concepts["b"].alternative_labels
    assert set(seen) | set(unseen) == set(esco.concepts["b"].alternative_labels)
    assert not set(seen) & set(unseen)
    assert 20 <= len(unseen) <= 60
