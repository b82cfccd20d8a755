"""Somebody's own pairs: read as they are, refused with every fault at once, split by member."""

import csv
import gzip
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.errors import FaultsError, MissingRequirementError
from jobs.labeler.labelled_pairs import LabelledPairs, read_labelled_pairs
from jobs.labeler.split_pairs import split_pairs
from jobs.settings import Settings
from mis_scoring.core.errors import DataError
from mis_scoring.evaluation.members import read_members
from mis_scoring.training.splits import SPLITS, Shares, split_of

Row = Mapping[str, Any]


def row(member: int, qualification: int, answer: str, **changes: Any) -> dict[str, Any]:
    return {
        "member_id": f"m{member}",
        "profile_text": f'Profile of {member},\nwith a line break and a "quote"',
        "qualification_id": f"q{qualification}",
        "qualification_text": f"qualification {qualification}",
        "answer": answer,
        "similarity": round(0.9 - qualification / 10, 1),
    } | changes


GOOD = [row(m, q, "yes" if (m + q) % 2 else "no") for m in range(3) for q in range(2)]


def write(path: Path, rows: Sequence[Row]) -> Path:
    name = path.name.removesuffix(".gz")
    if name.endswith(".parquet"):
        pq.write_table(pa.Table.from_pylist([dict(r) for r in rows]), path)
        return path
    text = io.StringIO(newline="")
    if name.endswith(".csv"):
        writer = csv.DictWriter(text, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    else:
        text.writelines(json.dumps(r) + "\n" for r in rows)
    content = text.getvalue().encode()
    path.write_bytes(gzip.compress(content) if path.name.endswith(".gz") else content)
    return path


def read(folder: Path, rows: Sequence[Row]) -> LabelledPairs:
    return read_labelled_pairs(write(folder / "pairs.jsonl", rows), minilm_dir=folder / "none")


def faults(folder: Path, rows: Sequence[Row]) -> list[str]:
    with pytest.raises(FaultsError) as refused:
        read(folder, rows)
    return refused.value.faults


@pytest.mark.parametrize("name", ["p.csv", "p.csv.gz", "p.parquet", "p.jsonl", "p.jsonl.gz"])
def test_the_forms_of_a_file_say_the_same(tmp_path: Path, name: str) -> None:
    pairs = read_labelled_pairs(write(tmp_path / name, GOOD), minilm_dir=tmp_path)
    assert pairs == read(tmp_path, GOOD)
    assert [m.member_id for m in pairs.members] == ["m0", "m1", "m2"]
    assert pairs.members[1].profile_text == GOOD[2]["profile_text"]
    assert pairs.members[1].supported == ["q0"]
    assert (pairs.n_pairs, pairs.n_duplicates, pairs.n_unknown) == (6, 0, 0)


@pytest.mark.parametrize(
    ("word", "meant"),
    [("YES", "supported"), (" no ", "unsupported"), ("Unknown", "unknown"), ("Supported", "supported")],
)
def test_answers_are_words_in_any_case(tmp_path: Path, word: str, meant: str) -> None:
    pairs = read(tmp_path, [*GOOD, row(2, 5, word, category="degree")])
    candidate = pairs.members[2].candidates[-1]
    assert (candidate.answer, candidate.category) == (meant, "degree")
    assert pairs.members[0].candidates[0].category == "qualification"


def test_candidates_stand_in_rank_order_and_doubles_are_counted_once(tmp_path: Path) -> None:
    rows = [row(0, q, "no") for q in (5, 1, 3, 1)]
    pairs = read(tmp_path, [*rows, *GOOD[2:], row(0, 3, "NO")])
    assert [c.qualification_id for c in pairs.members[0].candidates] == ["q1", "q3", "q5"]
    assert pairs.n_duplicates == 2


def test_whole_numbers_are_good_ids(tmp_path: Path) -> None:
    pairs = read(tmp_path, [*GOOD, row(7, 0, "no", member_id=7, qualification_id=11, qualification_text="x")])
    assert (pairs.members[-1].member_id, pairs.members[-1].candidates[0].qualification_id) == ("7", "11")


def test_every_fault_of_a_file_is_listed_at_once(tmp_path: Path) -> None:
    found = faults(
        tmp_path,
        [
            *GOOD,
            row(0, 0, "maybe"),
            row(1, 0, "maybe"),
            row(0, 8, "no", member_id=" "),
            row(0, 8, "no", qualification_id=None),
            row(0, 8, "no", profile_text=""),
            row(0, 8, "no", qualification_text=["x"]),
            row(0, 9, "no", similarity="near"),
            row(0, 9, "no", qualification_text="\ud800"),
            row(0, 1, "no"),
            row(1, 9, "no", profile_text="another"),
            row(2, 1, "no", qualification_text="another text"),
            row(2, 0, "no", category="degree"),
        ],
    )
    expected = [
        "answer is 'maybe': want one of yes, no, unknown, supported, unsupported (row 7, 8)",
        "member_id is empty: fill it in, or leave the row out (row 9)",
        "qualification_id is empty: fill it in, or leave the row out (row 10)",
        "profile_text is empty: fill it in, or leave the row out (row 11)",
        "qualification_text is of type list: want text (row 12)",
        "similarity is no cosine: want a number from -1 to 1, or nothing to have it computed (row 13)",
        "qualification_text holds half a character (a lone surrogate): mend the text (row 14)",
        "the pair of member 'm0' and qualification 'q1' has two answers: keep the right one, or answer unknown"
        " (row 2, 15)",
        "the pair of member 'm2' and qualification 'q1' has two answers: keep the right one, or answer unknown"
        " (row 6, 17)",
        "member 'm1' has two profile texts: a member has one profile (row 3, 16)",
        "qualification 'q1' has two texts: give each text an id of its own (row 2, 17)",
        "qualification 'q0' has two categories: a qualification has one (row 1, 18)",
    ]
    assert sorted(found) == sorted(expected)


def test_a_set_that_cannot_teach_is_refused(tmp_path: Path) -> None:
    found = faults(tmp_path, [row(0, 0, "yes"), row(1, 0, "yes")])
    assert [fault.split(":")[0] for fault in found] == ["2 member(s)", "no pair is unsupported"]
    assert faults(tmp_path, [{k: v for k, v in r.items() if k not in ("answer", "member_id")} for r in GOOD]) == [
        f"column {name} is missing; a pairs file needs member_id, profile_text, qualification_id, qualification_text, "
        "answer"
        for name in ("member_id", "answer")
    ]
    assert faults(tmp_path, []) == ["it holds no row"]


def test_no_fault_quotes_a_profile(tmp_path: Path) -> None:
    secret = "a private life " * 20
    rows = [row(0, 0, secret, profile_text=secret), row(0, 1, "no", profile_text="other"), *GOOD]
    assert secret not in "".join(faults(tmp_path, rows))


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("p.txt", b"", "ends with none of"),
        ("p.csv", b"member_id,answer\na,b,c\nd,e\nf\n", "row 1 has more or fewer fields"),
        ("p.csv", b"member_id\n\xff\n", "not UTF-8"),
        ("p.jsonl", b'{"a": 1}\n{"a":\n[1]\n', "row 2 is no JSON object"),
        ("p.jsonl.gz", b"plain", "cannot be read"),
        ("p.parquet", b"plain", "no Parquet"),
    ],
)
def test_a_file_of_another_form_is_refused(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FaultsError, match=says):
        read_labelled_pairs(tmp_path / name, minilm_dir=tmp_path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FaultsError, match="no such file"):
        read_labelled_pairs(tmp_path / "p.csv", minilm_dir=tmp_path)


def without_similarity(rows: Sequence[Row]) -> list[dict[str, Any]]:
    return [{k: v for k, v in r.items() if k != "similarity"} for r in rows]


def test_a_missing_similarity_is_the_best_section_s_cosine(tmp_path: Path) -> None:
    profile = "Repairs clocks. Speaks Danish."
    rows = [
        row(9, 7, "yes", profile_text=profile, qualification_text="speaking Danish", similarity=None),
        row(9, 8, "no", profile_text=profile, qualification_text="milking cows", similarity=None),
        row(9, 6, "no", profile_text=profile, similarity=0.123),
    ]
    path = write(tmp_path / "pairs.jsonl", [*rows, *GOOD])
    member = read_labelled_pairs(path, minilm_dir=Settings().minilm_dir).members[0]
    similarity = {c.qualification_id: c.similarity for c in member.candidates}
    assert similarity["q7"] > 0.8 > 0.4 > similarity["q8"]
    assert similarity["q6"] == 0.123
    assert member.candidates[0].qualification_id == "q7"


def test_the_embedding_model_is_asked_for_only_where_it_is_needed(tmp_path: Path) -> None:
    read(tmp_path, GOOD)
    with pytest.raises(MissingRequirementError, match="give each pair a similarity"):
        read(tmp_path, without_similarity(GOOD))


ids = st.lists(st.text(min_size=1, max_size=8), unique=True, max_size=60)


@given(members=ids, more=ids, seed=st.integers(0, 5), data=st.data())
def test_a_member_s_split_is_its_own_business(members: list[str], more: list[str], seed: int, data: Any) -> None:
    def split(ids: Sequence[str]) -> dict[str, set[str]]:
        return {name: {m for m in ids if split_of(m, seed=seed) == name} for name in SPLITS}

    before = split(members)
    assert sum(map(len, before.values())) == len(members), "disjoint, and nobody is left out"
    after = split(data.draw(st.permutations([*members, *(m for m in more if m not in members)])))
    assert all(before[name] == after[name] & set(members) for name in SPLITS)


def test_shares_hold_on_average_and_another_seed_splits_otherwise() -> None:
    ids = [f"m{n}" for n in range(5_000)]
    splits = [split_of(m, seed=0) for m in ids]
    assert [round(splits.count(name) / len(ids), 1) for name in SPLITS] == [0.8, 0.1, 0.1]
    assert splits != [split_of(m, seed=1) for m in ids]
    with pytest.raises(DataError, match="add up to 1"):
        Shares(train=0.8, validation=0.2, test=0.1)


def test_split_pairs_writes_every_member_once(tmp_path: Path) -> None:
    rows = [row(m, q, "yes" if (m + q) % 2 else "no") for m in range(60) for q in range(2)]
    counts = split_pairs(write(tmp_path / "pairs.csv", rows), tmp_path / "work", seed=0)
    splits = {name: read_members(tmp_path / "work" / "splits" / f"{name}.jsonl.gz") for name in SPLITS}
    written = [m.member_id for members in splits.values() for m in members]
    assert sorted(written) == sorted(f"m{m}" for m in range(60))
    assert {name: c["members"] for name, c in counts["splits"].items()} == {n: len(m) for n, m in splits.items()}


def test_a_split_without_an_answer_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    path = write(tmp_path / "pairs.csv", GOOD)
    with pytest.raises(FaultsError, match=r"split validation has \d member\(s\) and no pair that is supported"):
        split_pairs(path, tmp_path / "work", seed=0)
    assert not (tmp_path / "work").exists()
