"""Every metric by name; alert rules and dashboards use these and no others (a test compares them).

A name ends in its unit. Counters are sums over the append-only ledger, so they never fall, whoever restarts.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Metric:
    """One metric.

    Attributes:
        name: as PromQL has it.
        labels: names of its labels.
    """

    name: str
    help: str
    labels: tuple[str, ...] = ()

    @property
    def is_counter(self) -> bool:
        """Whether it only grows."""
        return self.name.endswith("_total")


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One value of a metric, with a value for each of its labels."""

    metric: Metric
    value: float
    labels: tuple[str, ...] = ()


_KIND = ("kind",)

LABELS_AGE = Metric(
    name="semlabel_labels_age_seconds",
    help="Since the inputs of the newest published run of a kind were pinned: how old what the labels say may be",
    labels=_KIND,
)
FRESHNESS_LIMIT = Metric(
    name="semlabel_freshness_limit_seconds", help="How old labels may be: SEMLABEL_FRESHNESS_LIMIT_HOURS"
)
RUNS_BY_STATE = Metric(name="semlabel_runs", help="Runs, by `jobs.rules.run_state`", labels=("kind", "state"))
OLDEST_RUN_AGE = Metric(
    name="semlabel_oldest_run_age_seconds",
    help="Since the oldest run that is open or held was pinned",
    labels=("kind", "state"),
)
RUN_SECONDS = Metric(
    name="semlabel_run_seconds", help="From pin to publication, newest published run of a kind", labels=_KIND
)
RUN_JOB_SECONDS = Metric(
    name="semlabel_run_job_seconds",
    help="Seconds of a job, its rounds together, newest published run of a kind",
    labels=("kind", "job"),
)
RUN_WAITED_SECONDS = Metric(
    name="semlabel_run_waited_seconds",
    help="Seconds that the jobs of the newest published run of a kind waited to start",
    labels=_KIND,
)
POSITIVE_RATE = Metric(
    name="semlabel_positive_rate",
    help="Share of judged pairs accepted, newest published run of a kind, by category of the entry",
    labels=("kind", "category"),
)
PAIRS_SCORED = Metric(name="semlabel_pairs_scored_total", help="Pairs scored by an engine", labels=_KIND)
PAIRS_REUSED = Metric(name="semlabel_pairs_reused_total", help="Pairs whose judgment was reused", labels=_KIND)
ROWS_NOT_SCORED = Metric(name="semlabel_rows_not_scored_total", help="Member rows that an engine refused", labels=_KIND)
TOKENS = Metric(name="semlabel_tokens_total", help="Tokens of packed requests", labels=_KIND)
TIE_CHECKS = Metric(name="semlabel_tie_checks_total", help="Pairs in the tie band, scored again alone", labels=_KIND)
TIE_TOKENS = Metric(name="semlabel_tie_tokens_total", help="Tokens of tie checks", labels=_KIND)
ENGINES_STARTED = Metric(name="semlabel_engines_started_total", help="Engines started", labels=_KIND)
JOB_SECONDS = Metric(name="semlabel_job_seconds_total", help="Seconds that jobs took", labels=("kind", "job"))
RUN_FAILURES = Metric(name="semlabel_run_failures_total", help="Times that a run failed", labels=_KIND)
CANARY_FAILURES = Metric(
    name="semlabel_canary_failures_total",
    help="Times that an engine's canary failed in a run, whether or not a later try ended well",
    labels=_KIND,
)
MEMBERS = Metric(name="semlabel_members", help="Rows of profiles")
STALE_MEMBERS = Metric(
    name="semlabel_members_stale",
    help="Members whose published labels are not of their current profile, by reason",
    labels=("reason",),
)
CATALOG_ENTRIES = Metric(name="semlabel_catalog_entries", help="Rows of catalog", labels=("status",))
PUBLISHED_LABELS = Metric(name="semlabel_labels", help="Published labels", labels=("category",))
JUDGMENTS_STORED = Metric(name="semlabel_judgments", help="Stored judgments, those of earlier scorers too")
QUARANTINED = Metric(
    name="semlabel_quarantined", help="Inputs set aside by the newest published run of a kind", labels=_KIND
)
TABLE_FILES = Metric(name="semlabel_table_files", help="Data files of a table's current version", labels=("table",))
TABLE_BYTES = Metric(name="semlabel_table_bytes", help="Bytes of a table's current version", labels=("table",))
MAINTENANCE_AGE = Metric(name="semlabel_maintenance_age_seconds", help="Since table maintenance last ended")

METRICS: Mapping[str, Metric] = {value.name: value for value in list(globals().values()) if isinstance(value, Metric)}
