"""How old the published labels are, whatever any scheduler says of its runs."""

from datetime import UTC, datetime
from typing import Any

from jobs.metrics.ledger_figures import labels_age_s
from jobs.run_ledger import read_runs
from jobs.settings import Settings


def check_freshness(settings: Settings) -> dict[str, Any]:
    """Return is_fresh, age_hours, limit_hours, run_id.

    The age counts from when the newest published run pinned its inputs; None where nothing was published, which is not
    fresh.
    """
    age = labels_age_s(read_runs(settings.tables), datetime.now(UTC))
    hours = None if age is None else age[0] / 3600
    return {
        "is_fresh": hours is not None and hours <= settings.freshness_limit_hours,
        "age_hours": None if hours is None else round(hours, 3),
        "limit_hours": settings.freshness_limit_hours,
        "run_id": None if age is None else age[1],
    }
