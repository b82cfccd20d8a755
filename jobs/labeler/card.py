"""The artifact's README.md: what the labeler is, what it is good for, its figures and limits, and how it was made.

It is rendered from the evaluation's figures, which hold no text of a member; what only a person knows comes as notes.
"""

from pathlib import Path
from typing import Any

from jobs.labeler.evaluation_slices import TEST, VALIDATION
from jobs.page_templates import render_page


def write_card(folder: Path, figures: dict[str, Any], *, notes: str = "") -> None:
    """Write README.md beside the artifact; it is no part of the artifact's digest.

    Args:
        figures: what `evaluation.json` holds.
        notes: Markdown that follows the rendered part as it is.
    """
    slices = figures["slices"]
    ordered = {name: slices[name] for name in (TEST, *sorted(slices.keys() - {TEST, VALIDATION}), VALIDATION)}
    text = render_page("labeler_card.md.j2", f=figures, slices=ordered, test=slices[TEST], notes=notes.strip())
    (folder / "README.md").write_text(text.rstrip() + "\n", encoding="utf-8")
