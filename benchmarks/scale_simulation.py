"""Where the limits of a fleet are: its queues, simulated over what one search costs each part.

Searches come at random times. Each waits for one of the web processes, then for cores of Milvus, one for each
collection that it asks, then for a core of PostgreSQL. It takes a core for a time drawn from the exponential
distribution with the measured mean, which varies more than what is measured. A step begins with the fleet of
deploy/compose.yaml. What is at its limit grows until nothing is: the limits in that order are the answer.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from benchmarks.scale_costs import Costs

SEARCHES_PER_USER_AND_HOUR = 10.0
"""In the busiest hour."""
COLLECTIONS_PER_SEARCH = 5
PARTITIONS = 16
NEW_PER_DAY = 0.005
"""Passages that are new or changed, of all."""
EMBED_QUERY_S = 0.0064
"""By the default model, in the web process: docs/benchmarks.md, Embedding."""
REQUEST_S = 12 / 7522
"""A core's time for a request of Milvus: 7,522 searches a second on 12 cores (milvus.io, Milvus 2.2 Benchmark Test
Report; the search itself, in 1,000,000 vectors of 128 dimensions with ef 64, takes next to nothing of it).
"""
KEYWORDS_S = 0.00933
"""Keyword search in 1,000,000 passages, by tantivy: docs/benchmarks.md, Growth. Milvus's own was not measured."""
BUSY = 0.7
"""Share of the time that a part may be busy."""
SIMULATED = 10_000
CONNECTIONS_PER_PROCESS, CONNECTIONS = 20, 200
"""As in deploy/compose.yaml."""


@dataclass(frozen=True, slots=True)
class Step:
    """So many passages of so many people."""

    passages: int
    users: int

    @property
    def searches_per_s(self) -> float:
        """In the busiest hour."""
        return self.users * SEARCHES_PER_USER_AND_HOUR / 3600


STEPS = (Step(1_000_000, 1_000), Step(10_000_000, 10_000), Step(100_000_000, 100_000))


@dataclass(frozen=True, slots=True)
class Fleet:
    """What there is of each part."""

    web: int = 2
    milvus_cores: int = 4
    milvus_gb: int = 16
    postgres_cores: int = 2
    workers: int = 2


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a fleet did: shares of the time that parts were busy, and response times in seconds."""

    busy: Mapping[str, float]
    p50_s: float
    p95_s: float


def services(step: Step, costs: Costs) -> dict[str, tuple[float, int]]:
    """Return what one search takes of each part: seconds of a core, and of how many cores at once.

    Each collection is in a partition: a graph's time grows with the logarithm of the partition's vectors, an inverted
    index's with its passages, from a part that does not.
    """
    each = step.passages / PARTITIONS
    graph = costs.graph_s * math.log(each) / math.log(costs.graph_vectors)
    words = KEYWORDS_S * max(each / 1_000_000, 0.1)
    return {
        "web": (costs.web_s + EMBED_QUERY_S, 1),
        "milvus_cores": (REQUEST_S + graph + words, COLLECTIONS_PER_SEARCH),
        "postgres_cores": (costs.postgres_s, 1),
    }


def simulate(fleet: Fleet, step: Step, costs: Costs, *, seed: int = 1) -> Outcome:
    """Send `SIMULATED` searches through the fleet's queues, one part after the other."""
    dice = np.random.default_rng(seed)
    arrivals = np.cumsum(dice.exponential(1 / step.searches_per_s, SIMULATED))
    now, busy = arrivals, {}
    for part, (mean_s, at_once) in services(step, costs).items():
        times = dice.exponential(mean_s, SIMULATED * at_once)
        servers = getattr(fleet, part)
        now = served(np.repeat(now, at_once), times, servers).reshape(-1, at_once).max(axis=1)
        busy[part] = float(times.sum() / servers / (now.max() - arrivals[0]))
    took = now - arrivals
    return Outcome(busy, *(float(each) for each in np.percentile(took, [50, 95])))


def served(
    arrivals: np.ndarray[Any, np.dtype[np.float64]], times: np.ndarray[Any, np.dtype[np.float64]], servers: int
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return when each leaves a queue with so many servers: first come, first served."""
    free, leaves = [0.0] * servers, np.empty_like(arrivals)
    for number in np.argsort(arrivals, kind="stable"):
        begins = max(float(arrivals[number]), heapq.heappop(free))
        leaves[number] = begins + times[number]
        heapq.heappush(free, float(leaves[number]))
    return leaves


def limits(step: Step, costs: Costs, *, vector_bytes: float, embedded_per_s: float) -> tuple[list[str], Fleet, Outcome]:
    """Let the fleet grow until nothing is at its limit; return what was, in that order, the fleet, and how it does."""
    fleet, met = Fleet(), list[str]()
    while True:
        outcome = simulate(fleet, step, costs)
        part = _limit(fleet, step, outcome, vector_bytes=vector_bytes, embedded_per_s=embedded_per_s)
        if not part:
            return met, fleet, outcome
        if part not in met:
            met.append(part)
        fleet = _grown(fleet, part)


def _limit(fleet: Fleet, step: Step, outcome: Outcome, *, vector_bytes: float, embedded_per_s: float) -> str:
    """Return the part that is furthest above its limit; empty when none is."""
    embedding_s = step.passages * NEW_PER_DAY / embedded_per_s
    shares = {part: share / BUSY for part, share in outcome.busy.items()}
    shares["milvus_gb"] = step.passages * vector_bytes / (fleet.milvus_gb * 1e9)
    shares["workers"] = embedding_s / fleet.workers / 86_400 / BUSY
    part = max(shares, key=lambda name: shares[name])
    return part if shares[part] > 1 else ""


def _grown(fleet: Fleet, part: str) -> Fleet:
    has = getattr(fleet, part)
    return replace(fleet, **{part: 2 * has if part == "milvus_gb" else has + max(1, has // 8)})


def rows(costs: Costs, *, vector_bytes: float, embedded_per_s: float) -> list[dict[str, Any]]:
    """Return a row for each step."""
    found = []
    for step in STEPS:
        met, fleet, outcome = limits(step, costs, vector_bytes=vector_bytes, embedded_per_s=embedded_per_s)
        processes = fleet.web + fleet.workers
        if processes * CONNECTIONS_PER_PROCESS > CONNECTIONS:
            met.append("postgres connections")
        found.append(
            {
                "passages": step.passages,
                "users": step.users,
                "searches/s": step.searches_per_s,
                "limits, in order": ", ".join(met).replace("_", " ") or "none",
                **{name.replace("_", " "): count for name, count in asdict(fleet).items()},
                "p50 ms": outcome.p50_s * 1000,
                "p95 ms": outcome.p95_s * 1000,
            }
        )
    return found
