"""What the service tells Prometheus: what waits, what came of batches, and how long an edit took to be readable."""

import time
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from jobs.updates.inbox import Inbox

_SECONDS = (0.5, 1, 2, 3, 5, 8, 12, 20, 30, 60, 120, 300)


class UpdateMetrics:
    """Metrics of one service, in a registry of their own."""

    def __init__(self, inbox: Inbox) -> None:
        self.registry = CollectorRegistry()
        self.registry.register(_InboxCollector(inbox))
        self.received = Counter(
            "semlabel_updates_received", "Profile updates by what became of them", ["outcome"], registry=self.registry
        )
        self.batches = Counter(
            "semlabel_update_batches", "Micro-batches by how their run ended", ["state"], registry=self.registry
        )
        self.failures = Counter(
            "semlabel_update_failures", "Tries that failed, and are tried again", ["error"], registry=self.registry
        )
        self.batch_seconds = Histogram(
            "semlabel_update_batch_seconds", "From taking a batch to its publication", buckets=_SECONDS,
            registry=self.registry,
        )  # fmt: skip
        self.readable_seconds = Histogram(
            "semlabel_update_readable_seconds", "From the acknowledgement of an edit to its labels in the store",
            buckets=_SECONDS, registry=self.registry,
        )  # fmt: skip


class _InboxCollector(Collector):
    """Asks the inbox at the scrape."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox

    def collect(self) -> Iterator[Metric]:
        """Yield how many updates wait or are worked on, and how old the oldest of them is."""
        figures = self._inbox.figures()
        age = 0.0 if figures.oldest_s is None else time.time() - figures.oldest_s
        yield GaugeMetricFamily("semlabel_updates_waiting", "Updates that no batch has taken", value=figures.waiting)
        yield GaugeMetricFamily("semlabel_updates_taken", "Updates of the batch that is worked on", value=figures.taken)
        yield GaugeMetricFamily("semlabel_updates_oldest_age_seconds", "Since the oldest of both came", value=age)
