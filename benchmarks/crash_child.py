"""The process that `benchmarks.crash` kills: it checks what it is told, then writes until it dies."""

from __future__ import annotations

import json
import random
import resource
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.common import WordVectors
from braid.core.braid import Braid
from braid.core.ledger.change_log import ChangeLog
from braid.core.types import ChunkInput, DocumentInput, Leg, Mode, SearchResult

USERS = 4
LEGS: tuple[Leg, ...] = ("bm25", "dense")
DOCUMENTS = 120
"""About so many are kept; more are deleted again."""
LOST: Mapping[Mode, str] = {"keyword": "lost_bm25", "semantic": "lost_dense"}
MAX_FILE_BYTES = 2**30
RECOVERY_TIMEOUT_S = 900.0
SECONDS_PER_PASSAGE = 0.002
PAUSE_S = 0.01
LONG = 100
"""Passages of a document that fills the first user's collection up."""
CHECKED = 2_000
"""Passages looked for one by one after a kill: the newest and others at random. The ids of all are compared."""
NEWEST = 20


class SlowWords(WordVectors):
    """Takes as long as a small real model, so that kills come while it works."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector a text."""
        time.sleep(SECONDS_PER_PASSAGE * len(texts))
        return super().embed_documents(texts)


def main() -> None:
    """Read on stdin what to check; say on stdout what was found and what is done, a JSON object a line."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_FILE_BYTES, MAX_FILE_BYTES))
    told, dice, full = json.load(sys.stdin), random.Random(int(sys.argv[2])), int(sys.argv[3])
    started = time.monotonic()
    with Braid(Path(sys.argv[1]), embedding_model=SlowWords()) as braid:
        datasets = _datasets(braid)
        ready_s = time.monotonic() - started
        waits = _seconds_until_whole(braid, datasets["user0"][0], started)
        if told["in_doubt"]:
            _say(stored=_stored(braid, datasets, told["in_doubt"]))
            _settle(told, _stored(braid, datasets, told["in_doubt"]))
        if not braid.indexer.wait(RECOVERY_TIMEOUT_S):
            sys.exit(f"not recovered within {RECOVERY_TIMEOUT_S:g} s: {braid.indexer.progress()}")
        recovery_s = time.monotonic() - started
        if not braid.indexer.wait(RECOVERY_TIMEOUT_S, ("chroma",)):
            sys.exit(f"the copy in Chroma is not written within {RECOVERY_TIMEOUT_S:g} s")
        found = _check(braid, _chosen(told["documents"], dice), told["gone"])
        _fill_up(braid, datasets, dice, told["documents"], full)
        _say(ready_s=ready_s, **waits, recovery_s=recovery_s, **found)
        while True:
            _put_or_remove(braid, datasets, *_step(dice, told["documents"], full), told["documents"])


def _say(**message: Any) -> None:
    print(json.dumps(message), flush=True)


def _datasets(braid: Braid) -> dict[str, tuple[int, int]]:
    """User name → user id and dataset id."""
    datasets = {}
    for name in (f"user{number}" for number in range(USERS)):
        user = braid.ledger.user_named(name) or braid.ledger.add_user(name)
        owned = braid.ledger.datasets(user.id) or [braid.ledger.add_dataset(user.id, "papers")]
        datasets[name] = (user.id, owned[0].id)
    return datasets


def _stored(braid: Braid, datasets: dict[str, tuple[int, int]], key: str) -> list[str]:
    name, _, source = key.partition("/")
    document = braid.ledger.document(datasets[name][1], source)
    if document is None:
        return []
    return [passage.text for passage in braid.ledger.document_passages(document.id, [datasets[name][1]])]


def _settle(told: dict[str, Any], stored: list[str]) -> None:
    told["documents"].pop(told["in_doubt"], None)
    if stored:
        told["documents"][told["in_doubt"]] = stored


# ---------------------------------------------------------------- checking


def _seconds_until_whole(braid: Braid, user_id: int, started: float) -> dict[str, float]:
    """Seconds from the start to a hybrid search in the largest collection that both legs answer, and to one that lacks
    nothing: passages put just before the kill may have to be embedded first.
    """
    answered_s, lacking = 0.0, 0
    while time.monotonic() - started < RECOVERY_TIMEOUT_S:
        result = braid.manager.search("w0", user_id=user_id, mode="hybrid", k=10)
        legs = [braid.indexer.leg_progress(leg, f"user_{user_id}") for leg in LEGS]
        lacking = lacking or max(leg.pending for leg in legs)
        if not answered_s and not any(leg.obstacle for leg in legs):
            answered_s = time.monotonic() - started
        if not result.degraded:
            return {"answered_s": answered_s, "whole_s": time.monotonic() - started, "lacking": lacking}
        time.sleep(0.1 if answered_s else 0.005)  # what is left is embedded, which gives way to searches
    sys.exit(f"not whole within {RECOVERY_TIMEOUT_S:g} s: {result.degraded[0].reason}")


def _chosen(documents: dict[str, list[str]], dice: random.Random) -> dict[str, list[str]]:
    """About `CHECKED` passages: the newest documents and others at random."""
    newest, others = list(documents)[-NEWEST:], list(documents)[:-NEWEST]
    chosen, count = {}, 0
    for key in (*newest, *dice.sample(others, len(others))):
        if count < CHECKED:
            chosen[key], count = documents[key], count + len(documents[key])
    return chosen


def _check(braid: Braid, documents: dict[str, list[str]], gone: list[str]) -> dict[str, Any]:
    users = {user.name: user.id for user in braid.ledger.users()}
    found: dict[str, Any] = {"checked": 0, "lost_bm25": [], "lost_dense": [], "duplicated": [], "came_back": []}
    for key, passages in documents.items():
        for passage in passages:
            found["checked"] += 1
            for mode, lost in LOST.items():
                copies = _copies(_ask(braid, users[key.partition("/")[0]], passage, mode), passage)
                if copies != 1:
                    found[lost if copies == 0 else "duplicated"].append(f"{key}: {passage}")
    for name, _, passage in (entry.partition("/") for entry in gone):
        if any(_copies(_ask(braid, users[name], passage, mode), passage) for mode in LOST):
            found["came_back"].append(passage)
    return {**found, "index_differs": _differing(braid)}


def _ask(braid: Braid, user_id: int, passage: str, mode: Mode) -> SearchResult:
    """By the passage's own word, which no other has, or by its own vector."""
    text = passage.split()[0] if mode == "keyword" else passage
    result = braid.manager.search(text, user_id=user_id, mode=mode, k=10)
    if result.degraded:
        sys.exit(f"degraded though the indexer is done: {result.degraded[0].reason}")
    return result


def _copies(result: SearchResult, passage: str) -> int:
    return sum(1 + len(hit.also_in) for hit in result.hits if hit.passage.text == passage)


def _differing(braid: Braid) -> list[str]:
    """The indexes that do not hold exactly the ledger's chunks."""
    log = ChangeLog(braid.ledger.database)
    return [
        f"{index.name} {collection}"
        for collection in log.heads()
        for index in (braid.bm25, braid.dense, braid.chroma)
        if sorted(index.ids(collection)) != sorted(log.chunk_ids(collection))
    ]


# ---------------------------------------------------------------- writing


def _fill_up(
    braid: Braid,
    datasets: dict[str, tuple[int, int]],
    dice: random.Random,
    documents: dict[str, list[str]],
    full: int,
) -> None:
    """Fill the first user's collection before the kill is timed, which is to come while a full one is written."""
    while _first_users(documents) < full:
        key = f"user0/{dice.randrange(2**48):x}.txt"
        _put_or_remove(braid, datasets, key, [_passage(dice) for _ in range(LONG)], documents)
    if not braid.indexer.wait(RECOVERY_TIMEOUT_S):
        sys.exit(f"not filled within {RECOVERY_TIMEOUT_S:g} s: {braid.indexer.progress()}")


def _first_users(documents: dict[str, list[str]]) -> int:
    """Count the passages of the first user."""
    return sum(len(passages) for key, passages in documents.items() if key.startswith("user0/"))


def _step(dice: random.Random, documents: dict[str, list[str]], full: int) -> tuple[str, list[str]]:
    """A document and its passages from now on; none deletes it. New, changed in part, or deleted."""
    choice = dice.random()
    if documents and choice < (0.5 if len(documents) > DOCUMENTS else 0.15):
        return dice.choice(sorted(documents)), []
    if documents and choice < 0.4:
        key = dice.choice(sorted(documents))
        return key, [passage for passage in documents[key] if dice.random() < 0.6] + [_passage(dice)]
    source = f"{dice.randrange(2**48):x}.txt"
    if _first_users(documents) < full:
        return f"user0/{source}", [_passage(dice) for _ in range(LONG)]
    return f"user{dice.randrange(USERS)}/{source}", [_passage(dice) for _ in range(dice.choice([1, 1, 2, 3, 5, 20]))]


def _put_or_remove(
    braid: Braid,
    datasets: dict[str, tuple[int, int]],
    key: str,
    passages: list[str],
    documents: dict[str, list[str]],
) -> None:
    name, _, source = key.partition("/")
    dataset_id = datasets[name][1]
    _say(begin=key, passages=passages)
    if passages:
        chunks = tuple(ChunkInput(passage) for passage in passages)
        braid.ledger.put_document(dataset_id, DocumentInput(source, "", "txt", chunks))
        documents[key] = passages
    else:
        braid.ledger.remove_document(dataset_id, source)
        del documents[key]
    _say(done=True)
    braid.indexer.wake()
    time.sleep(PAUSE_S)


def _passage(dice: random.Random) -> str:
    """Words that no other passage has."""
    return " ".join(f"w{dice.randrange(2**40):010x}" for _ in range(8))


if __name__ == "__main__":
    main()
