"""A generated list is read by position; what was not read is missing, never NO."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mis_scoring.evaluation.generation_parser import OTHER_WORDS, TRUNCATED, WRONG_COUNT, parse_answers

answers = st.lists(st.booleans(), min_size=1, max_size=25)
likely = st.text(alphabet="YESNO, ", max_size=60)


def written(given_answers: list[bool]) -> str:
    return ", ".join("YES" if answer else "NO" for answer in given_answers)


@given(given_answers=answers)
def test_a_written_list_reads_back(given_answers: list[bool]) -> None:
    parsed = parse_answers(written(given_answers), len(given_answers))
    assert (list(parsed.answers), parsed.is_malformed, parsed.reason) == (given_answers, False, "")


@given(text=st.one_of(st.text(max_size=60), likely), n=st.integers(0, 25), is_ended=st.booleans())
def test_any_text_gives_n_positions_and_only_answers_that_stand_there(text: str, n: int, is_ended: bool) -> None:
    parsed = parse_answers(text, n, is_ended=is_ended)
    words = [word.strip() for word in text.split(",")]
    assert len(parsed.answers) == n
    for place, answer in enumerate(parsed.answers):
        if answer is not None:
            assert words[place] == ("YES" if answer else "NO")
    if parsed.n_missing:
        assert parsed.is_malformed
    assert parsed.is_malformed == bool(parsed.reason)


@given(given_answers=answers, n=st.integers(0, 30))
def test_a_wrong_count_is_malformed_and_missing_positions_stay_missing(given_answers: list[bool], n: int) -> None:
    parsed = parse_answers(written(given_answers), n)
    both = min(n, len(given_answers))
    assert list(parsed.answers) == given_answers[:both] + [None] * (n - both)
    assert parsed.reason == ("" if n == len(given_answers) else WRONG_COUNT)


@given(given_answers=answers, cut=st.integers(0, 200))
def test_a_list_cut_anywhere_gives_no_answer_that_the_whole_has_not(given_answers: list[bool], cut: int) -> None:
    parsed = parse_answers(written(given_answers)[:cut], len(given_answers), is_ended=False)
    assert parsed.reason == TRUNCATED
    assert all(a is None or a == b for a, b in zip(parsed.answers, given_answers, strict=True))


def test_half_a_word_at_the_limit_is_not_read_as_the_answer_that_it_spells() -> None:
    parsed = parse_answers("YES, NO", 3, is_ended=False)  # "NO" may have become "NOT"
    assert list(parsed.answers) == [True, None, None]


@pytest.mark.parametrize("text", ["YES, maybe, NO", "YES,, NO", "YES NO, NO, NO", "yes, NO, NO", "YES, NO,"])
def test_other_words_are_malformed_and_not_guessed(text: str) -> None:
    parsed = parse_answers(text, 3)
    assert parsed.reason == OTHER_WORDS
    assert parsed.n_missing == 1


def test_the_answers_of_another_model_are_read_as_it_spells_them() -> None:
    parsed = parse_answers("Yes, No", 2, answers=("Yes", "No"))
    assert list(parsed.answers) == [True, False]


def test_an_empty_text_answers_nothing() -> None:
    assert parse_answers("", 0).reason == ""
    assert list(parse_answers(" ", 2).answers) == [None, None]
