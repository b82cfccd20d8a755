"""A plot as SVG to stand inside a page: its colours follow the page, and it says in words what it shows.

Text stays text, and axes take the page's own colour, so that a plot is readable on light and dark.
"""

import io
import re
from typing import Any

INK = "#010203"  # stands for the page's text colour; replaced in the SVG
BLUE, ORANGE, VIOLET = "#2f7fd1", "#d9822b", "#8a63c9"  # over 3:1 against white and near-black alike


def new_axes(x_name: str, y_name: str, *, height: float = 3.8) -> Any:
    """Return empty axes, 6 inches wide; `height` in inches."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"text.color": INK, "axes.edgecolor": INK, "xtick.color": INK, "ytick.color": INK}):
        axes = Figure(figsize=(6.0, height), layout="constrained").subplots()
    axes.set_xlabel(x_name, color=INK)
    axes.set_ylabel(y_name, color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.patch.set_alpha(0.0)
    axes.grid(alpha=0.2, color=INK)
    return axes


def to_svg(axes: Any, prefix: str, told: str) -> str:
    """Return the figure as an inline SVG with a text alternative, `told`; ids are made unique by `prefix`."""
    from matplotlib import rc_context

    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, labelcolor=INK, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=4)
    page = io.StringIO()
    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": prefix, "font.family": "sans-serif"}
    with rc_context(settings):
        axes.figure.savefig(page, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = page.getvalue()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL).replace(
        INK, "currentColor"
    )
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{prefix}-", svg)
    title = told.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    return svg.replace("<svg ", f'<svg role="img" aria-label="{title}" ', 1)
