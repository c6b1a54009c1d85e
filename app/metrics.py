"""Metrics in the format of Prometheus."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.registry import Collector

from braid.core.types import Degraded, SearchResult

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """Counters of one app.

    Labels are routes and legs, never users, datasets or queries, so their number is bounded.
    """

    def __init__(self, gauges: Collector) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(gauges)
        ProcessCollector(registry=self._registry)
        self.requests = Counter(
            "braid_requests", "Requests answered.", ("method", "route", "status"), registry=self._registry
        )
        self.request_seconds = Histogram(
            "braid_request_seconds",
            "Seconds until the response begins.",
            ("route",),
            buckets=SECONDS,
            registry=self._registry,
        )
        self.searches = Counter("braid_searches", "Searches.", ("mode", "strategy"), registry=self._registry)
        self.search_seconds = Histogram(
            "braid_search_seconds", "Seconds per search.", ("mode",), buckets=SECONDS, registry=self._registry
        )
        self.degraded = Counter("braid_degraded", "Answers with a missing part.", ("part",), registry=self._registry)
        self.sign_in_failures = Counter(
            "braid_sign_in_failures",
            "Attempts to sign in that failed.",
            ("how",),
            registry=self._registry,
        )
        for how in ("failed", "refused"):
            self.sign_in_failures.labels(how)

    def count_search(self, result: SearchResult, degraded: Iterable[Degraded] | None = None) -> None:
        """Count a search.

        ``degraded`` are the missing parts of an answer made from the search; by default those of the search itself.
        """
        self.searches.labels(result.query.mode, result.strategy).inc()
        self.search_seconds.labels(result.query.mode).observe(result.timings_ms.get("total", 0.0) / 1000)
        for part in {part.leg for part in (result.degraded if degraded is None else degraded)}:
            self.degraded.labels(part).inc()

    def text(self) -> bytes:
        """Return the metrics in Prometheus' text format."""
        return generate_latest(self._registry)
