"""Prompts: rendering and reading back are each other's inverse."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mis_scoring.core.errors import PromptError
from mis_scoring.core.prompt import COMPACT, PromptLayout

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
PARTS = st.text("ab\n:", max_size=3)
LAYOUTS = st.builds(
    PromptLayout, name=st.just("drawn"), query_prefix=PARTS, query_suffix=PARTS, item_prefix=PARTS, item_suffix=PARTS
)


@given(layout=LAYOUTS, text=TEXTS)
def test_a_rendered_text_reads_back(layout: PromptLayout, text: str) -> None:
    assert layout.profile_of(layout.render_query(text)) == text
    assert layout.qualification_of(layout.render_item(text)) == text


@given(text=st.sampled_from(["Profile:\nnurse", "\nQualification:", " <|readout|>", "", "<|readout|>"]))
def test_a_text_that_looks_like_the_template_reads_back(text: str) -> None:
    assert COMPACT.profile_of(COMPACT.render_query(text)) == text
    assert COMPACT.qualification_of(COMPACT.render_item(text)) == text


def test_the_profile_is_in_the_query_and_the_candidate_in_the_item() -> None:
    assert COMPACT.render_query("nurse") == "Profile:\nnurse\nQualification:"
    assert COMPACT.render_item("tax law") == " tax law<|readout|>"


@pytest.mark.parametrize(
    "text", ["", "nurse", "Profile:\nnurse", "nurse\nQualification:", " Profile:\n\nQualification:"]
)
def test_a_query_of_another_layout_is_refused(text: str) -> None:
    with pytest.raises(PromptError, match="compact"):
        COMPACT.profile_of(text)


@pytest.mark.parametrize("text", ["", "tax", " tax", "tax<|readout|>", "<|readout|> "])
def test_an_item_of_another_layout_is_refused(text: str) -> None:
    with pytest.raises(PromptError, match="compact"):
        COMPACT.qualification_of(text)


def test_prefix_and_suffix_may_not_overlap() -> None:
    layout = PromptLayout(name="overlap", query_prefix="ab", query_suffix="ba", item_prefix="", item_suffix="")
    with pytest.raises(PromptError):
        layout.profile_of("aba")
