"""The two layouts: what stands where, and that a tokenizer can cut them."""

from mis_scoring.core.layouts import DEFAULT_INSTRUCTIONS, chat_layout, compact_layout, instructions_for
from mis_scoring.core.prompt import COMPACT


def test_the_compact_layout_without_instructions_is_the_bundled_labelers() -> None:
    assert compact_layout("<|readout|>") == COMPACT


def test_a_compact_layout_holds_its_instructions_in_the_query() -> None:
    layout = compact_layout("<empty_output>", "Decide.")
    assert layout.render_query("nurse") == "Decide.\n\nProfile:\nnurse\nQualification:"
    assert layout.render_item("tax law") == " tax law<empty_output>"


def test_the_chat_layout_is_chatml_and_ends_where_the_assistant_answers() -> None:
    layout = chat_layout("Decide.")
    whole = layout.render_query("nurse") + layout.render_item("tax law")
    assert whole == (
        "<|im_start|>system\nDecide.<|im_end|>\n"
        "<|im_start|>user\nProfile:\nnurse\nQualification: tax law<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def test_what_depends_on_the_candidate_is_in_the_item_alone() -> None:
    layout = chat_layout()
    assert DEFAULT_INSTRUCTIONS in layout.render_query("nurse")
    assert layout.render_item("tax law").removeprefix(" tax law") == layout.item_suffix


def test_the_instructions_name_the_answers_that_are_read() -> None:
    assert "Answer Yes or No." in DEFAULT_INSTRUCTIONS
    assert "Answer wahr or falsch." in instructions_for("wahr", " falsch")
