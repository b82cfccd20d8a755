"""Answer Prometheus with the metrics of one table root, read at the scrape.

Nothing is kept but the last answer to each question and the table versions that it was read at.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from jobs.metrics.ledger_figures import ledger_samples, maintenance_samples
from jobs.metrics.names import FRESHNESS_LIMIT, METRICS, Sample
from jobs.metrics.table_figures import FIGURES, Figure
from jobs.run_ledger import last_maintenance, read_runs
from jobs.settings import Settings
from jobs.table_path import table_exists
from schemas.runs import RUNS


class TablesCollector(Collector):
    """Reads a table root when it is asked; a table that no run has made yet gives no sample."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._answers: dict[Figure, tuple[tuple[int, ...], list[Sample]]] = {}
        self._lock = Lock()  # two scrapes at once would read everything twice

    def collect(self) -> Iterator[Metric]:
        """Yield every metric that has a sample."""
        with self._lock:
            yield from to_families(self.samples(datetime.now(UTC)))

    def samples(self, now: datetime) -> list[Sample]:
        """Return the samples of this moment."""
        found: list[Sample] = []
        if table_exists(self._root, RUNS):
            found = [
                *ledger_samples(read_runs(self._root), now),
                *maintenance_samples(last_maintenance(self._root), now),
            ]
        return found + [sample for figure in FIGURES for sample in self._answer(figure)]

    def _answer(self, figure: Figure) -> list[Sample]:
        versions = figure.versions(self._root)
        if versions is None:
            return []
        known = self._answers.get(figure)
        if known is None or known[0] != versions:
            known = self._answers[figure] = (versions, figure.ask(self._root))
        return known[1]


class LimitsCollector(Collector):
    """Tells the settings that alerts compare with, so that a rule and `semlabel freshness` go by one number."""

    def __init__(self, settings: Settings) -> None:
        self._limits = [Sample(metric=FRESHNESS_LIMIT, value=settings.freshness_limit_hours * 3600)]

    def collect(self) -> Iterator[Metric]:
        """Yield them."""
        yield from to_families(self._limits)


def to_families(samples: Iterable[Sample]) -> Iterator[Metric]:
    """Group samples by metric, in the order of `names`."""
    by_name: dict[str, list[Sample]] = {}
    for sample in samples:
        by_name.setdefault(sample.metric.name, []).append(sample)
    for name, metric in METRICS.items():
        if name in by_name:
            family = (CounterMetricFamily if metric.is_counter else GaugeMetricFamily)(
                name, metric.help, labels=metric.labels
            )
            for sample in by_name[name]:
                family.add_metric(sample.labels, sample.value)
            yield family


def registry_of(settings: Settings) -> CollectorRegistry:
    """Return a registry of this deployment's metrics alone."""
    registry = CollectorRegistry()
    registry.register(TablesCollector(settings.tables))
    registry.register(LimitsCollector(settings))
    return registry


def serve(settings: Settings, *, host: str, port: int) -> None:
    """Serve `/metrics` until interrupted."""
    _, thread = start_http_server(port, addr=host, registry=registry_of(settings))
    thread.join()
