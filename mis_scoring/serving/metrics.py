"""What Prometheus is told of a server; no text and no id is in a label."""

from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from mis_scoring.serving.heap import CollectorPauses

_SECONDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2.5, 5, 10, 30)
_SIZES = (1, 2, 4, 8, 16, 32, 64)
_TOKENS = (256, 512, 1024, 2048, 4096, 8192, 16384, 32768)
_PAUSES = (0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1)


class ServerMetrics:
    """The metrics of one server, in a registry of its own.

    Args:
        n_waiting: requests that wait for the engine now. `n_under_way`: all that are not answered yet.
        is_serving: whether a request would be taken.
    """

    def __init__(
        self, *, n_waiting: Callable[[], float], n_under_way: Callable[[], float], is_serving: Callable[[], float]
    ) -> None:
        self.registry = registry = CollectorRegistry()
        name = "semlabel_scoring_"
        self.requests = Counter(
            f"{name}requests", "Calls by method and gRPC status", ["method", "status"], registry=registry
        )
        self.request_s = Histogram(
            f"{name}request_seconds",
            "From a call's arrival, or that of a stream's items, to its answer",
            ["method"],
            buckets=_SECONDS,
            registry=registry,
        )
        self.refused = Counter(f"{name}refused", "Requests without scores, by reason", ["reason"], registry=registry)
        self.labels = Counter(f"{name}labels", "Pairs scored", registry=registry)
        self.reference_labels = Counter(
            f"{name}reference_labels", "Pairs that the reference decided (tie rule)", registry=registry
        )
        self.tokens = Counter(f"{name}tokens", "Tokens computed", ["by"], registry=registry)
        self.batch_requests = Histogram(
            f"{name}batch_requests", "Requests of a forward", buckets=_SIZES, registry=registry
        )
        self.batch_tokens = Histogram(f"{name}batch_tokens", "Tokens of a forward", buckets=_TOKENS, registry=registry)
        self.stage_s = Histogram(
            f"{name}stage_seconds", "Where the time goes", ["stage"], buckets=_SECONDS, registry=registry
        )
        self.canary_failures = Counter(f"{name}canary_failures", "Canaries that failed", registry=registry)
        self.engine_starts = Counter(f"{name}engine_starts", "Engines started, the first included", registry=registry)
        self.prefilled_queries = Gauge(
            f"{name}prefilled_queries", "Queries whose keys the engine keeps", registry=registry
        )
        self._own_pauses = CollectorPauses()
        self._pauses_s = Histogram(
            f"{name}collector_pause_seconds",
            "Stops of the garbage collector",
            ["process"],
            buckets=_PAUSES,
            registry=registry,
        )
        for suffix, help_text, read in (
            ("queue_requests", "Requests that wait for the engine", n_waiting),
            ("under_way_requests", "Requests and streams that are not answered yet", n_under_way),
            ("is_serving", "1 while requests are answered", is_serving),
        ):
            Gauge(f"{name}{suffix}", help_text, registry=registry).set_function(read)

    def tell_pauses(self, of_engine: Iterable[float]) -> None:
        """Count the collector's pauses since the last call: this process's, and those that the engine tells of."""
        for process, pauses in (("server", self._own_pauses.take()), ("engine", of_engine)):
            for pause_s in pauses:
                self._pauses_s.labels(process).observe(pause_s)

    def close(self) -> None:
        """Stop measuring."""
        self._own_pauses.close()
