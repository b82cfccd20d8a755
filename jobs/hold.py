"""Hold a publication that is past a limit until a person has approved it. (A *hold* on inputs: `jobs.input_hold`.)

Looks at the run's own rows, and once at the entries of all published labels (one column); needs no Spark.
"""

from dataclasses import asdict
from typing import Any

from jobs.errors import CheckFailedError, HeldError
from jobs.ledger import APPROVED, HELD, append_event
from jobs.pins import Pins
from jobs.published_event import count_by
from jobs.rules.guards import GuardLimits, PublicationFigures, reasons_to_hold
from jobs.run_ledger import read_run
from jobs.settings import Settings
from jobs.table_reader import literal, pins_of, query
from schemas.catalog import CATALOG
from schemas.coverage import COVERAGE
from schemas.label_changes import LABEL_CHANGES
from schemas.labels import LABELS
from schemas.profiles import PROFILES


def hold_past_limits(settings: Settings, pins: Pins) -> None:
    """Let a publication through, or append `held` with its figures.

    Raises:
        HeldError: it is past a limit, and by more than somebody has approved.
    """
    run = read_run(settings.tables, pins.run_id)
    approved = run.of(APPROVED).get("figures")
    figures = figures_of(settings, pins)
    reasons = reasons_to_hold(figures, limits_of(settings), PublicationFigures(**approved) if approved else None)
    if reasons:
        held = {"reasons": reasons, "figures": asdict(figures)}
        if run.state != "held" or run.of(HELD) != held:
            append_event(settings.tables, pins.run_id, HELD, held, attempt=run.n_times.get(HELD, 0) + 1)
        raise HeldError(pins.run_id, reasons)


def approve(settings: Settings, run_id: str) -> dict[str, Any]:
    """Let a held run go on with the figures that it was last held with: append `approved`, once for each hold.

    Raises:
        MissingRequirementError: there is no such run.
        CheckFailedError: it is not held; says what it is.
    """
    pins_of(settings.tables, run_id)
    run = read_run(settings.tables, run_id)
    held = run.of(HELD)
    if not held or run.state == "published":
        state = "is published already" if held else "was never held"
        raise CheckFailedError(f"Run {run_id} {state}: there is nothing to approve. `semlabel runs` lists the runs.")
    append_event(settings.tables, run_id, APPROVED, held, attempt=run.n_times[HELD])
    return {
        "run_id": run_id,
        "approved": held["reasons"],
        "next": f"clear publish_labels of the run in Airflow, or `semlabel job publish_labels --set run_id={run_id}`",
    }


def limits_of(settings: Settings) -> GuardLimits:
    """Return the limits that the settings give."""
    return GuardLimits(
        quarantined=settings.hold_quarantined,
        incomplete=settings.hold_incomplete,
        removed=settings.hold_removed,
        category_change=settings.hold_category_change,
        ignored_below=settings.hold_ignores_below,
    )


def figures_of(settings: Settings, pins: Pins) -> PublicationFigures:
    """Count what the run's written coverage and changes would do to the labels that stand."""
    root = settings.tables
    left_out = count_by(root, COVERAGE, "incomplete_reason", pins.run_id)
    moved = query(root, _MOVED.format(run=literal(pins.run_id)), LABEL_CHANGES, CATALOG, versions=_pinned(pins))
    published = query(root, _PUBLISHED, LABELS, CATALOG, versions=_pinned(pins))
    of_profiles = query(root, "SELECT count(*) AS n FROM profiles", PROFILES, versions=_pinned(pins))
    return PublicationFigures(
        members=of_profiles[0]["n"],
        quarantined=left_out.get("quarantined", 0),
        incomplete=left_out.get("incomplete", 0),
        labels=sum(row["n"] for row in published),
        removed_in_all=count_by(root, LABEL_CHANGES, "change", pins.run_id).get("removed", 0),
        by_category={row["category"]: row["n"] for row in published},
        added={row["category"]: row["n"] for row in moved if row["change"] == "added"},
        removed={row["category"]: row["n"] for row in moved if row["change"] == "removed"},
    )


def _pinned(pins: Pins) -> dict[str, int]:
    return {CATALOG.name: pins.catalog_delta_version, PROFILES.name: pins.profiles_delta_version}


_CATEGORIES = """
LEFT JOIN (SELECT qualification_id, min(category) AS category FROM catalog GROUP BY qualification_id) c
ON l.qualification_id = c.qualification_id"""
_CATEGORY = "coalesce(c.category, 'without an entry') AS category"

_PUBLISHED = f"SELECT {_CATEGORY}, count(*) AS n FROM labels l {_CATEGORIES} GROUP BY 1"

_MOVED = f"""
SELECT {_CATEGORY}, l.change, count(*) AS n FROM label_changes l {_CATEGORIES}
WHERE l.run_id = {{run}} AND l.reason NOT IN ('first_time', 'member_removed') GROUP BY 1, 2"""
