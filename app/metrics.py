"""Metrics in the format of Prometheus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from braid.core.braid import Braid
from braid.core.types import Degraded, SearchResult

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """Counters of one app.

    Labels are routes and legs, never users, datasets or queries, so their number is bounded.
    """

    def __init__(self, braid: Braid) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_IndexCollector(braid))
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


class _IndexCollector(Collector):
    """Reports, on each scrape, how far the indexes are behind the ledger."""

    def __init__(self, braid: Braid) -> None:
        self._braid = braid

    def collect(self) -> Iterator[Metric]:
        """Yield the number of waiting passages per leg, then the number of failed indexes per leg."""
        waiting = GaugeMetricFamily("braid_waiting_passages", "Passages not yet in the index.", labels=["leg"])
        failed = GaugeMetricFamily("braid_failed_indexes", "Indexes that cannot be brought up to date.", labels=["leg"])
        progress = list(self._braid.indexer.progress())
        for leg in ("bm25", "dense"):
            parts = [part for part in progress if part.leg == leg]
            waiting.add_metric([leg], sum(part.pending for part in parts))
            failed.add_metric([leg], sum(part.state == "failed" for part in parts))
        yield waiting
        yield failed

    def describe(self) -> list[Metric]:
        """Return nothing, so that registering does not ask the indexer."""
        return []
