"""One layout renders and reads back; a text of another layout is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mis_scoring.core.errors import PromptError
from mis_scoring.core.prompt import COMPACT, PromptLayout

# a candidate's whole surroundings: quotes, markers, special tokens, right-to-left marks, 4-byte characters
AWKWARD = ["", " ", "\n", "Qualification:", "<|readout|>", "Profile:\n", "\u202eevil", "\x00\x07", "😀 👩‍⚕️", "Ω≈ç"]
texts = st.text(max_size=40) | st.sampled_from(AWKWARD)
layouts = st.builds(
    PromptLayout,
    name=st.just("drawn"),
    query_prefix=texts,
    query_suffix=texts,
    item_prefix=texts,
    item_suffix=texts,
)


@given(layout=layouts, text=texts)
def test_what_a_layout_renders_it_reads_back(layout: PromptLayout, text: str) -> None:
    assert layout.profile_of(layout.render_query(text)) == text
    assert layout.qualification_of(layout.render_item(text)) == text


@given(profile=texts, qualification=texts)
def test_the_compact_layout_keeps_the_candidate_out_of_the_query(profile: str, qualification: str) -> None:
    assert COMPACT.render_query(profile) == f"Profile:\n{profile}\nQualification:"
    assert COMPACT.render_item(qualification) == f" {qualification}<|readout|>"


@pytest.mark.parametrize("text", ["", "Profile:\nnurse", "nurse\nQualification:", "Profile:\nQualification:"])
def test_a_query_of_another_layout_is_refused(text: str) -> None:
    with pytest.raises(PromptError, match="'compact'"):
        COMPACT.profile_of(text)


@pytest.mark.parametrize("text", ["", "nurse<|readout|>", " nurse", " nurse<|readout|> "])
def test_an_item_of_another_layout_is_refused(text: str) -> None:
    with pytest.raises(PromptError, match="'compact'"):
        COMPACT.qualification_of(text)
