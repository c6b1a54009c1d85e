"""Runs the peers: one setting after another, and in a setting all peers in turn, so that noise hits all."""

from __future__ import annotations

import itertools
import random
import shutil
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ir_measures
from ir_measures import Qrel, ScoredDoc, nDCG

from benchmarks.common import EVAL, need, note, percentiles
from benchmarks.peers.process import PeerProcess
from benchmarks.peers.workload import LANGUAGES, write_judged, write_scale

SHARES = (50, 10, 1)
CLIENTS = 8
PROCESSES = 2
CLIENTS_FACTOR = 4
"""So many more queries where several clients ask at once."""
FULL_SETTING = 4
"""Number of collections with which filters, languages and clients are varied."""
WARM_UP = 9
HELLO_S = 300.0
GRACE_S = 300.0
"""Seconds beyond the cap after which a peer that does not answer is killed."""
SEED = 7


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured."""

    peers: tuple[str, ...]
    sizes: tuple[int, ...]
    collections: tuple[int, ...]
    sets: tuple[str, ...]
    rounds: int
    queries: int
    """Queries per cell and round; a multiple of three, a third in each language."""
    judged_queries: int
    """Queries per judged set, 0 for all."""
    cap_s: float
    """Seconds for a cell of one peer: no query is started later, and one that takes longer is not waited for."""
    build_cap_s: float


@dataclass(frozen=True, slots=True)
class Cell:
    """One way of asking in a setting."""

    name: str
    below: int | None = None
    language: str = ""
    clients: int = 1
    processes: int = 1
    """Processes that the clients are spread over; only libraries whose files several may search have more."""


AT_ONCE = Cell(f"{CLIENTS} clients", clients=CLIENTS)
IN_PROCESSES = Cell(f"{CLIENTS} clients, {PROCESSES} processes", clients=CLIENTS, processes=PROCESSES)


def cells(collections: int) -> list[Cell]:
    """What is asked with so many collections, by one client at a time."""
    if collections != FULL_SETTING:
        return [Cell("all")]
    parts = [Cell(f"{share} %", below=share) for share in SHARES]
    return [Cell("all"), *parts, *(Cell(language, language=language) for language in LANGUAGES)]


def measure_setting(plan: Plan, scratch: Path, *, size: int, collections: int) -> dict[str, Any]:
    """Build with every peer, one after another, then ask them in turn."""
    note(f"{size:,} passages in {collections} collections")
    workload = scratch / "workload"
    per_language = plan.rounds * plan.queries * CLIENTS_FACTOR // len(LANGUAGES) + WARM_UP // len(LANGUAGES)
    write_scale(workload, size=size, collections=collections, queries_per_language=per_language)
    with _peers(plan.peers, workload, scratch, plan.build_cap_s) as (built, found):
        asked = _Asked(plan, built, per_language)
        asked.warm_up()
        asked.run(cells(collections))
        for peer in built:
            found[peer.name] |= {"put": peer.order("put", GRACE_S), "size": peer.order("size", GRACE_S)}
        if collections == FULL_SETTING:
            asked.run([AT_ONCE])  # last: not every peer survives it
            asked.attach(workload, scratch / "stored")
            asked.run([IN_PROCESSES])
        for peer in built:
            found[peer.name]["cells"] = asked.figures(peer)
    return {"size": size, "collections": collections, "peers": found}


def measure_quality(plan: Plan, scratch: Path, name: str) -> dict[str, Any]:
    """nDCG@10 of every peer on a judged set, with the set's real vectors."""
    from braid.core.evaluation.beir import read_set

    need(EVAL / name)
    note(f"quality on {name}")
    chosen = write_judged(scratch / "workload", EVAL / name, plan.judged_queries)
    judgements = {
        query_id: grades for query_id, grades in read_set(EVAL / name).judgements.items() if query_id in chosen
    }
    same = "langchain_rebuilt"  # ranks as the one that keeps its index, only later
    with _peers([peer for peer in plan.peers if peer != same], scratch / "workload", scratch, plan.build_cap_s) as pair:
        built, found = pair
        for peer in built:
            answer = peer.order("answers", plan.build_cap_s)
            scored = "found" in answer
            found[peer.name] |= {"ndcg": ndcg(judgements, chosen, answer["found"])} if scored else answer
            peer.close()
    return {"set": name, "queries": len(chosen), "peers": found}


def describe(peers: Sequence[str], scratch: Path) -> dict[str, Any]:
    """How each peer is set up, and its versions; or why it is missing."""
    described = {}
    for name in peers:
        peer = PeerProcess(name, scratch / "peers.log")
        described[name] = {"missing": peer.missing} if peer.missing else peer.order("hello", HELLO_S)
        peer.close()
    return described


@contextmanager
def _peers(
    names: Sequence[str], workload: Path, scratch: Path, cap_s: float
) -> Iterator[tuple[list[PeerProcess], dict[str, dict[str, Any]]]]:
    """The peers that have built the workload, and a place for the figures of all; their files go at the end."""
    built, found = [], dict[str, dict[str, Any]]()
    try:
        for name in names:
            peer = PeerProcess(name, scratch / "peers.log")
            folder = scratch / "stored" / name
            found[name] = {"build": _build(peer, workload, folder, cap_s)}
            note(f"  {name}: {found[name]['build']}")
            if "build_s" in found[name]["build"]:
                built.append(peer)
            else:
                peer.close()
        yield built, found
    finally:
        for peer in built:
            peer.close()
        shutil.rmtree(scratch / "stored", ignore_errors=True)
        shutil.rmtree(workload, ignore_errors=True)


def _build(peer: PeerProcess, workload: Path, folder: Path, cap_s: float) -> dict[str, Any]:
    if peer.missing:
        return {"failed": peer.missing}
    hello = peer.order("hello", HELLO_S)
    if "missing" in hello or "failed" in hello:
        return {"failed": hello.get("missing") or hello.get("failed")}
    return peer.order("build", cap_s, workload=str(workload), folder=str(folder))


class _Asked:
    """What was asked of the peers, and their answers."""

    def __init__(self, plan: Plan, peers: Sequence[PeerProcess], per_language: int) -> None:
        self._plan = plan
        self._peers = list(peers)
        self._per_language = per_language
        self._answers: dict[tuple[str, str], list[dict[str, Any]]] = {}
        self._dice = random.Random(SEED)

    def warm_up(self) -> None:
        """Ask every peer for a few queries that are not measured."""
        last = self._per_language - WARM_UP // len(LANGUAGES)
        numbers = [number for place in range(last, self._per_language) for number in self._in_each(place)]
        for peer in self._peers:
            self._order(peer, Cell("warm-up"), numbers)

    def attach(self, workload: Path, stored: Path) -> None:
        """Start a second process of each peer that can be searched so; the others are asked no more."""
        limits = {"timeout_s": self._plan.build_cap_s, "workload": str(workload)}
        self._peers = [peer for peer in self._peers if peer.attach(folder=str(stored / peer.name), **limits)]
        warm = Cell("warm-up", processes=PROCESSES, clients=PROCESSES)
        for peer in self._peers:
            self._order(peer, warm, self._numbers(warm, 0))

    def run(self, wanted: Sequence[Cell]) -> None:
        """Measure cells: in each round every cell, in each cell every peer, in random order."""
        for turn in range(self._plan.rounds):
            note(f"  round {turn + 1} of {self._plan.rounds}: {', '.join(cell.name for cell in wanted)}")
            for cell in wanted:
                numbers = self._numbers(cell, turn)
                for peer in self._dice.sample(self._peers, len(self._peers)):
                    self._ask(peer, cell, numbers)

    def _ask(self, peer: PeerProcess, cell: Cell, numbers: Sequence[int]) -> None:
        before = self._answers.setdefault((peer.name, cell.name), [])
        if any(not answer.get("ms") for answer in before):
            return  # nothing was answered within the cap: do not wait for it again
        before.append(self._order(peer, cell, numbers))

    def _order(self, peer: PeerProcess, cell: Cell, numbers: Sequence[int]) -> dict[str, Any]:
        limits = {"start_s": self._plan.cap_s / self._plan.rounds, "cap_s": self._plan.cap_s}
        order = {"clients": cell.clients // cell.processes, "below": cell.below, **limits}
        processes = [each for each in (peer, peer.second) if each is not None][: cell.processes]

        def ask(place: int) -> dict[str, Any]:
            mine = numbers[place :: len(processes)]
            return processes[place].order("ask", self._plan.cap_s + GRACE_S, numbers=mine, **order)

        with ThreadPoolExecutor(len(processes)) as threads:
            return joined(list(threads.map(ask, range(len(processes)))))

    def _numbers(self, cell: Cell, turn: int) -> list[int]:
        """Other queries in each round; every cell of a round has the same, or those of its language."""
        count = self._plan.queries * (CLIENTS_FACTOR if cell.clients > 1 else 1)
        if cell.language:
            start = LANGUAGES.index(cell.language) * self._per_language + turn * count
            return list(range(start, start + count))
        each = count // len(LANGUAGES)
        return [number for place in range(turn * each, (turn + 1) * each) for number in self._in_each(place)]

    def _in_each(self, place: int) -> list[int]:
        return [language * self._per_language + place for language in range(len(LANGUAGES))]

    def figures(self, peer: PeerProcess) -> dict[str, Any]:
        """By cell: ``p50``, ``p95`` in ms, ``qps``, ``queries``, ``hits`` per query; or ``over_s`` or ``failed``."""
        names = [cell for name, cell in self._answers if name == peer.name]
        return {name: self._cell(self._answers[peer.name, name]) for name in names}

    def _cell(self, answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        failed = next((reason for answer in answers if (reason := answer.get("failed") or answer.get("error"))), "")
        milliseconds = [ms for answer in answers for ms in answer.get("ms", ())]
        if failed:
            return {"failed": failed}
        if not milliseconds:
            return {"over_s": self._plan.cap_s}
        hits = [count for answer in answers for count in answer["hits"]]
        wall_s = sum(answer["wall_s"] for answer in answers)
        return {
            **percentiles(milliseconds),
            "qps": len(milliseconds) / wall_s,
            "queries": len(milliseconds),
            "hits": sum(hits) / len(hits),
        }


def joined(answers: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The answers of processes that were asked at once as one, whose clock ran until the last had ended."""
    failed = next((answer for answer in answers if "failed" in answer), None)
    if failed is not None or len(answers) == 1:
        return failed or answers[0]
    lists = {key: list(itertools.chain.from_iterable(answer[key] for answer in answers)) for key in ("ms", "hits")}
    error = next(filter(None, (answer["error"] for answer in answers)), "")
    return {**lists, "wall_s": max(answer["wall_s"] for answer in answers), "error": error}


def ndcg(judgements: Mapping[str, Mapping[str, int]], asked: Sequence[str], found: Sequence[Sequence[str]]) -> float:
    """The mean over all queries; one without hits has 0."""
    qrels = [Qrel(query, key, grade) for query, grades in judgements.items() for key, grade in grades.items()]
    run = [
        ScoredDoc(query, document, -float(rank))
        for query, hits in zip(asked, found, strict=True)
        for rank, document in enumerate(dict.fromkeys(hit.rpartition("#")[0] for hit in hits), start=1)
    ]
    return sum(float(metric.value) for metric in ir_measures.iter_calc([nDCG @ 10], qrels, run)) / len(asked)
