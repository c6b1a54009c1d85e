"""Metrics in the format of Prometheus: counters of one app, and gauges that are read at each scrape."""

from __future__ import annotations

import os
import platform
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import QueuePool

from braid.app.readiness import MEBIBYTE, Health, health_of, without_ledger
from braid.core.backup.record import last_backup
from braid.core.braid import Braid
from braid.core.errors import BraidError
from braid.core.files.lost import swept
from braid.core.jobs.store import JobStore
from braid.core.ledger.outages import times_met
from braid.core.ledger.waiting_changes import WaitingChanges
from braid.core.models.failures import MODEL_CALLS
from braid.core.originals.store import Originals
from braid.core.types import Degraded, SearchResult
from braid.core.version import version

SIZES_KEPT_S = 60.0
"""How long sizes of folders are given again: there may be a thousand files in them."""


class Gauges(Collector):
    """Reports what the app's state is. What the database would have to say is left out while it does not answer."""

    def __init__(self, braid: Braid, *, min_free_mb: int, embedding_model: str) -> None:
        self._braid = braid
        self._min_free_mb = min_free_mb
        self._embedding_model = embedding_model
        self._jobs = JobStore(braid.ledger)
        self._changes = WaitingChanges(braid.ledger.database, braid.index_names)
        self._sizes: dict[str, int] = {}
        self._sized_at = -SIZES_KEPT_S

    def collect(self) -> Iterator[Metric]:
        """Yield all families."""
        health = health_of(self._braid, min_free_mb=self._min_free_mb)
        if health.parts["ledger"].state == "failed":
            health = without_ledger(self._braid, "", min_free_mb=self._min_free_mb)
        yield self._build()
        yield self._parts(health)
        yield from self._disk()
        yield from self._backup()
        yield from self._site()
        yield from self._outages()
        yield from self._models()
        yield from self._connections()
        yield from _unless_out(self._indexes)
        yield from _unless_out(self._queue)
        yield from _unless_out(self._members)

    def describe(self) -> list[Metric]:
        """Return nothing, so that registering asks nobody."""
        return []

    def _build(self) -> Metric:
        labels = {
            "version": version(),
            "python": platform.python_version(),
            "database": self._engine.dialect.name,
            "embedding_model": self._embedding_model,
        }
        build = GaugeMetricFamily("braid_build_info", "Versions; always 1.", labels=list(labels))
        build.add_metric(list(labels.values()), 1)
        return build

    def _parts(self, health: Health) -> Metric:
        parts = GaugeMetricFamily("braid_part_ok", "1 for a part in order, else 0.", labels=["part"])
        for name, part in health.parts.items():
            parts.add_metric([name], part.state == "ok")
        return parts

    def _disk(self) -> Iterator[Metric]:
        with suppress(OSError):  # the part "disk" says so
            usage = shutil.disk_usage(self._braid.data_dir)
            yield GaugeMetricFamily("braid_disk_free_bytes", "Free space of the data directory.", usage.free)
        least = self._min_free_mb * MEBIBYTE
        yield GaugeMetricFamily("braid_disk_min_free_bytes", "Free space below which nothing is stored.", least)
        sizes = GaugeMetricFamily("braid_stored_bytes", "Sizes, measured once a minute.", labels=["what"])
        for what, size in self._measured().items():
            sizes.add_metric([what], size)
        yield sizes

    def _backup(self) -> Iterator[Metric]:
        last = last_backup(self._braid.data_dir)
        if last or self._braid.bucket is None:  # else another machine may have made one
            at = last.at if last else 0
            yield GaugeMetricFamily("braid_last_backup_timestamp_seconds", "Of the last backup; 0 for never.", at)

    def _site(self) -> Iterator[Metric]:
        noticed = self._braid.ledger.noticed
        yield GaugeMetricFamily("braid_time_seconds", "This computer's clock.", time.time())
        yield GaugeMetricFamily(
            "braid_clock_jumped", "1 while nothing is deleted by age because the clock jumped.", noticed.clock_jumped
        )
        yield GaugeMetricFamily(
            "braid_secret_key_replaced", "1 when the site began with another secret.", noticed.secret_key_replaced
        )
        if noticed.missing_originals is not None:
            yield GaugeMetricFamily(
                "braid_missing_originals", "Original files that are gone, counted hourly.", noticed.missing_originals
            )

    def _measured(self) -> dict[str, int]:
        if time.monotonic() >= self._sized_at + SIZES_KEPT_S:
            self._sizes, self._sized_at = dict(self._measure()), time.monotonic()
        return self._sizes

    def _measure(self) -> Iterator[tuple[str, int]]:
        folder, database = self._braid.data_dir, self._engine.url.database
        if self._engine.dialect.name == "sqlite" and database:
            yield "ledger", _size(Path(database))
            yield "wal", _size(Path(f"{database}-wal"))
        elif self._engine.dialect.name == "postgresql":
            with suppress(SQLAlchemyError):
                yield "ledger", self._braid.ledger.database.rows("SELECT pg_database_size(current_database())")[0][0]
        yield "bm25", _size_of_folder(folder / "indexes" / "bm25")
        yield "dense", _size_of_folder(folder / "indexes" / "dense")
        yield "uploads", _size_of_folder(folder / "uploads")
        if self._braid.bucket is None:
            yield "originals", _size_of_folder(folder / "originals")
        else:
            with suppress(SQLAlchemyError):
                yield "originals", Originals(self._braid).count()[1]

    def _outages(self) -> Iterator[Metric]:
        met = CounterMetricFamily("braid_outages", "Times that an outage was met, by its cause.", labels=["cause"])
        for cause, times in times_met().items():
            met.add_metric([cause], times)
        yield met
        yield CounterMetricFamily("braid_swept_files", "Files that tidying put into lost/.", swept())

    def _models(self) -> Iterator[Metric]:
        calls = CounterMetricFamily("braid_model_calls", "Calls of models, failed or not.", labels=["kind"])
        failed = CounterMetricFamily("braid_model_failures", "Calls of models that failed.", labels=["kind"])
        failing = GaugeMetricFamily("braid_failing_models", "Models whose last call failed.", labels=["kind"])
        failures, kinds = MODEL_CALLS.failures(), [model.kind for model in MODEL_CALLS.failing()]
        for kind, times in MODEL_CALLS.calls().items():
            calls.add_metric([kind], times)
            failed.add_metric([kind], failures[kind])
            failing.add_metric([kind], kinds.count(kind))
        yield from (calls, failed, failing)

    def _connections(self) -> Iterator[Metric]:
        pool = self._engine.pool
        if isinstance(pool, QueuePool):
            most = pool.size() + pool._max_overflow
            yield GaugeMetricFamily("braid_database_connections", "Connections in use.", pool.checkedout())
            yield GaugeMetricFamily("braid_database_connections_max", "Connections allowed.", most)

    def _indexes(self) -> Iterator[Metric]:
        waiting = GaugeMetricFamily("braid_waiting_passages", "Passages not yet in the index.", labels=["leg"])
        failed = GaugeMetricFamily("braid_failed_indexes", "Indexes that cannot be brought up to date.", labels=["leg"])
        progress = list(self._braid.indexer.progress())
        for leg in ("bm25", "dense"):
            parts = [part for part in progress if part.leg == leg]
            waiting.add_metric([leg], sum(part.pending for part in parts))
            failed.add_metric([leg], sum(part.state == "failed" for part in parts))
        yield waiting
        yield failed
        oldest = GaugeMetricFamily(
            "braid_oldest_change_seconds", "Age of the oldest change not yet in the index.", labels=["leg"]
        )
        for leg, age in self._changes.ages().items():
            oldest.add_metric([leg], age)
        yield oldest

    def _queue(self) -> Iterator[Metric]:
        jobs = GaugeMetricFamily("braid_jobs", "Jobs by state.", labels=["state"])
        for state, count in self._jobs.counts().items():
            jobs.add_metric([state], count)
        yield jobs
        files = self._jobs.unreadable()
        yield GaugeMetricFamily("braid_unreadable_files", "Failed jobs whose file could not be read.", files)
        oldest = self._jobs.oldest_waiting()
        waited = 0.0 if oldest is None else max(0.0, time.time() - oldest)
        yield GaugeMetricFamily("braid_oldest_waiting_job_seconds", "Age of the oldest queued job.", waited)

    def _members(self) -> Iterator[Metric]:
        if (living := self._braid.living()) is not None:
            members = GaugeMetricFamily("braid_members", "Living processes of the fleet.", labels=["works"])
            members.add_metric(["yes"], living.working)
            members.add_metric(["no"], living.members - living.working)
            yield members
            died = living.found_dead
            yield CounterMetricFamily("braid_members_died", "Processes of the fleet that this one found dead.", died)

    @property
    def _engine(self) -> Engine:
        return self._braid.ledger.database.engine


def _unless_out(families: Callable[[], Iterator[Metric]]) -> Iterator[Metric]:
    try:
        yield from families()
    except (SQLAlchemyError, BraidError):  # the parts say which is out
        return


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # deleted meanwhile, or never there
        return 0


def _size_of_folder(folder: Path) -> int:
    """Return the bytes of all files below a folder, in which others may delete meanwhile."""
    return sum(_size(Path(inner, name)) for inner, _folders, names in os.walk(folder) for name in names)


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
