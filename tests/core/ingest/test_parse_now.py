"""Parsing while a request waits: few at a time, users in turn. Real processes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from braid.core.ingest.incoming import Incoming
from braid.core.ingest.parse_now import MAX_PER_USER, ParseNow
from braid.core.ingest.parse_pool import ParsePool, ParserUnavailableError
from braid.core.ingest.plan import IngestOptions
from braid.core.ingest.spool import Spool
from braid.core.types import DocumentInput
from tests.worlds import WAIT_S, eventually

OPTIONS = IngestOptions()
SLOW = b"a,b\n" + b"1,2\n" * 3_000_000
ANN, BOB = 1, 2


@pytest.fixture
def pool() -> Iterator[ParsePool]:
    opened = ParsePool(memory_mb=4000)
    yield opened
    opened.close()


def parse(parser: ParseNow, user_id: int, name: str, content: bytes) -> DocumentInput:
    return parser.of_user(user_id)(Incoming.from_bytes(content, name), OPTIONS)


def test_a_text_is_parsed_and_leaves_nothing_behind(pool: ParsePool, tmp_path: Path) -> None:
    document = parse(ParseNow(pool, Spool(tmp_path)), ANN, "notes/a.md", b"# Trays\n\nempty")
    assert (document.source, document.title, document.size_bytes) == ("notes/a.md", "Trays", 14)
    assert list(tmp_path.iterdir()) == []


def test_one_users_slow_texts_leave_a_place_to_others(pool: ParsePool, tmp_path: Path) -> None:
    parser = ParseNow(pool, Spool(tmp_path), places=2, wait_s=WAIT_S)
    with ThreadPoolExecutor() as threads:
        slow = [threads.submit(parse, parser, ANN, f"{n}.csv", SLOW) for n in range(MAX_PER_USER)]
        eventually(lambda: parser._admission._held)
        assert parse(parser, BOB, "b.md", b"text").title == "b"
        assert not any(job.done() for job in slow)
        with pytest.raises(ParserUnavailableError, match="send this one after them"):
            parse(parser, ANN, "more.md", b"text")
        pool.close()
        assert [type(job.exception()) for job in slow] == MAX_PER_USER * [ParserUnavailableError]
    assert not parser._admission._held


def test_waiting_for_a_place_has_an_end(pool: ParsePool, tmp_path: Path) -> None:
    parser = ParseNow(pool, Spool(tmp_path), places=1, wait_s=0.5)
    begun, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        with parser.turn(ANN):
            begun.set()
            go_on.wait(WAIT_S)

    holding = threading.Thread(target=hold)
    holding.start()
    begun.wait(WAIT_S)
    with pytest.raises(ParserUnavailableError, match="again in a moment"):
        parse(parser, BOB, "b.md", b"text")
    with pytest.raises(ParserUnavailableError), parser.turn(ANN, waits=False):
        pass
    assert not parser._admission._waiting
    go_on.set()
    holding.join()
    assert not parser._admission._held
