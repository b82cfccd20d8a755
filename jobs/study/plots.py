"""The study's two plots, after the paper's figures 4 and 5: agreement and inconsistency against training pairs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from jobs.study.cells import BUNDLED, GENERATION, SCORING, SMALL, SMOLLM2_135M

FLOOR = 1e-5  # where a share of 0 is drawn on the logarithmic axis, as an open mark
LINES = (
    (SMOLLM2_135M, SCORING, "semantic scoring, SmolLM2-135M", "tab:blue", "o-"),
    (SMOLLM2_135M, GENERATION, "packed generation (g = 20), SmolLM2-135M", "tab:orange", "s-"),
    (SMALL, SCORING, "semantic scoring, small from random weights", "tab:cyan", "o:"),
    (SMALL, GENERATION, "packed generation, small from random weights", "tab:olive", "s:"),
)
Figure = Callable[[dict[str, Any]], float]


def plot_agreement(results: list[dict[str, Any]], path: Path) -> None:
    """Draw balanced agreement, and F1 on retrieved candidates beside it."""
    figure, axes = _figure(2)
    _draw(axes[0], results, lambda r: float(r["evaluation"]["slices"]["test_balanced"]["default"]["agreement"]))
    _draw(axes[1], results, _f1)
    axes[0].set(title="Balanced pairs", ylabel="agreement with the reference", ylim=(0.45, 1.0))
    axes[1].set(title="Retrieved candidates (7% supported)", ylabel="F1", ylim=(-0.02, 1.0))
    axes[0].axhline(0.5, color="grey", linewidth=0.8)
    axes[1].legend(fontsize=7, loc="upper left")
    _save(figure, path)


def plot_inconsistency(results: list[dict[str, Any]], path: Path) -> None:
    """Draw the share of labels that change when items are reordered and regrouped, bfloat16, no tie rule."""
    figure, axes = _figure(2)
    for axis, name, title in ((axes[0], "test_balanced", "Balanced pairs"), (axes[1], "test", "Retrieved candidates")):

        def changed(result: dict[str, Any], name: str = name) -> float:
            return float(result["evaluation"]["slices"][name]["order"]["inconsistency"])

        _draw(axis, results, changed, floor=FLOOR)
        axis.axhline(1e-4, color="grey", linewidth=0.8, linestyle="--")
        axis.set(title=title, yscale="log", ylim=(FLOOR / 2, 1.0))
    axes[0].set(ylabel="labels that change with the order")
    axes[1].legend(fontsize=7, loc="upper left")
    _save(figure, path)


def _f1(result: dict[str, Any]) -> float:
    figures = result["evaluation"]["slices"]["test"]
    return float(figures.get("tuned", figures["default"])["f1"])


def _figure(n_panels: int) -> tuple[Any, Any]:
    import matplotlib

    matplotlib.use("Agg")
    # the same results give the same file, and text stays text
    matplotlib.rcParams.update({"svg.hashsalt": "semlabel", "svg.fonttype": "none"})
    from matplotlib import pyplot

    return pyplot.subplots(1, n_panels, figsize=(10, 4), layout="constrained")


def _draw(axis: Any, results: list[dict[str, Any]], value: Figure, *, floor: float = 0.0) -> None:
    for model, method, label, colour, style in LINES:
        points = sorted(
            (result["cell"]["n_pairs"], value(result))
            for result in results
            if (result["cell"]["model"], result["cell"]["method"]) == (model, method) and _is_main(result["cell"])
        )
        if not points:
            continue
        sizes, values = zip(*points, strict=True)
        drawn = [max(v, floor) for v in values]
        axis.plot(sizes, drawn, style, color=colour, label=label, markersize=5)
        zeros = [(s, floor) for s, v in zip(sizes, values, strict=True) if v < floor]
        axis.plot(*zip(*zeros, strict=True), "o", color="white", markeredgecolor=colour) if zeros else None
    for result in results:
        if result["cell"]["model"] == BUNDLED and not floor:
            axis.axhline(value(result), color="tab:green", linewidth=0.8, label="labelers/esco-small, as bundled")
    axis.set(xscale="log", xlabel="training pairs")
    axis.grid(visible=True, which="major", alpha=0.3)


def _is_main(cell: dict[str, Any]) -> bool:
    """Whether a cell belongs to the lines: the base's own layout, all weights tuned, the first seed."""
    own = "chat" if cell["model"] == SMOLLM2_135M else "compact"
    return bool(cell["layout"] == own and cell["tuned"] == "full" and cell["seed"] == 0)


def _save(figure: Any, path: Path) -> None:
    from matplotlib import pyplot

    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
