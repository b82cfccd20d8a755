"""Turn the study's results into one JSON file, a table and two plots.

    python -m jobs.study.report --results results.jsonl --out docs/study --page docs/study.md

The table goes between the two marks of the page, when one is given; words around it are written by hand.
"""

import argparse
import json
import logging
from pathlib import Path
from typing import Any

from jobs.study.cells import BUNDLED, GENERATION, SCORING, SMALL, SMOLLM2_135M
from jobs.study.plots import plot_agreement, plot_inconsistency
from jobs.study.run import read_results

LOG = logging.getLogger(__name__)
TABLE_START, TABLE_END = "<!-- table: jobs.study.report -->", "<!-- end of table -->"
METHOD_NAMES = {SCORING: "scoring", GENERATION: "generation"}
HEADER = (
    "base",
    "method",
    "pairs",
    "passes",
    "agreement, balanced",
    "F1, retrieved",
    "precision",
    "recall",
    "unseen: agreement",
    "unseen: F1",
    "labels changed, balanced",
    "labels changed, retrieved",
    "same in float32",
    "same with tie rule",
    "malformed lists",
    "GFLOP a label",
)


def sorted_results(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return results by model, layout, what was tuned, size and method; no cell twice."""
    models = {SMOLLM2_135M: 0, SMALL: 1, BUNDLED: 2}
    by_cell = {json.dumps(r["cell"], sort_keys=True): r for r in results}

    def place(result: dict[str, Any]) -> tuple[Any, ...]:
        cell = result["cell"]
        return models[cell["model"]], cell["layout"], cell["tuned"], cell["seed"], cell["n_pairs"], cell["method"]

    return sorted(by_cell.values(), key=place)


def table(results: list[dict[str, Any]]) -> str:
    """Return the results as a Markdown table, a row a cell."""
    rows = [HEADER, ["---"] * len(HEADER), *(row_of(result) for result in results)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def row_of(result: dict[str, Any]) -> list[str]:
    """Return a result's cells as text."""
    cell, evaluation = result["cell"], result["evaluation"]
    slices = evaluation["slices"]
    retrieved, balanced = slices["test"], slices["test_balanced"]
    unseen, unseen_balanced = slices["unseen_concepts"], slices["unseen_concepts_balanced"]
    chosen = _chosen(retrieved)
    return [
        cell["model"] + ("" if cell["tuned"] == "full" else ", LoRA") + (", compact" if _is_variant(cell) else ""),
        METHOD_NAMES[cell["method"]],
        f"{cell['n_pairs']:,}" if cell["n_pairs"] else "as it is",
        _passes(result),
        f"{balanced['default']['agreement']:.4f}",
        f"{chosen['f1']:.4f}",
        _ratio(chosen["precision"]),
        f"{chosen['recall']:.4f}",
        f"{unseen_balanced['default']['agreement']:.4f}",
        f"{_chosen(unseen)['f1']:.4f}",
        _share(balanced["order"]["inconsistency"]),
        _share(retrieved["order"]["inconsistency"]),
        _changed(retrieved, balanced, "order_float32"),
        _changed(retrieved, balanced, "order_with_tie_rule"),
        _malformed(slices) if cell["method"] == GENERATION else "",
        f"{evaluation['flops_per_label'] / 1e9:.2f}",
    ]


def _chosen(figures: dict[str, Any]) -> dict[str, float]:
    """Return the figures at the chosen cut; packed generation has none to choose."""
    found: dict[str, float] = figures.get("tuned", figures["default"])
    return found


def _is_variant(cell: dict[str, Any]) -> bool:
    return bool(cell["model"] == SMOLLM2_135M and cell["layout"] == "compact")


def _passes(result: dict[str, Any]) -> str:
    cell = result["cell"]
    return f"{result['training']['pairs'] / cell['n_pairs']:.1f}" if cell["n_pairs"] else ""


def _ratio(value: float) -> str:
    return "none" if value != value else f"{value:.4f}"


def _share(value: float) -> str:
    return "0" if value == 0 else f"{value:.3%}"


def _changed(retrieved: dict[str, Any], balanced: dict[str, Any], name: str) -> str:
    if name not in retrieved:
        return ""
    return _share(max(retrieved[name]["inconsistency"], balanced[name]["inconsistency"]))


def _malformed(slices: dict[str, Any]) -> str:
    n_malformed = sum(sum(part["malformed"].values()) for part in slices.values())
    return f"{n_malformed:,} of {sum(part['n_lists'] for part in slices.values()):,}"


def write_table(page: Path, text: str) -> None:
    """Replace what stands between the marks of a page.

    Raises:
        ValueError: the page has no marks.
    """
    old = page.read_text(encoding="utf-8")
    if TABLE_START not in old or TABLE_END not in old:
        raise ValueError(f"{page} has no lines {TABLE_START!r} and {TABLE_END!r} to put the table between")
    before, _, rest = old.partition(TABLE_START)
    after = rest.partition(TABLE_END)[2]
    page.write_text(f"{before}{TABLE_START}\n{text}\n{TABLE_END}{after}", encoding="utf-8")


def main() -> None:
    """Parse the command line."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, required=True, help="what jobs.study.run appended")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--page", type=Path, help="Markdown page whose table is replaced")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    results = sorted_results(read_results(args.results))
    document = json.dumps(_without_nan(results), indent=1, sort_keys=True, allow_nan=False)
    (args.out / "results.json").write_text(document + "\n", encoding="utf-8")
    plot_agreement(results, args.out / "agreement.svg")
    plot_inconsistency(results, args.out / "inconsistency.svg")
    if args.page:
        write_table(args.page, table(results))
    LOG.info(table(results))


def _without_nan(value: Any) -> Any:
    """A ratio of nothing is null in JSON."""
    if isinstance(value, dict):
        return {key: _without_nan(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_without_nan(part) for part in value]
    return None if isinstance(value, float) and value != value else value


if __name__ == "__main__":
    main()
