"""Running turns: what is stored of them when they are stopped, fail, or the database is out."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from braid.core.chat.store import ConversationStore
from braid.core.chat.turns import rows, running
from braid.core.chat.turns.bell import waited
from braid.core.chat.turns.running import News, RunningTurns, TooManyError, TurnPauses
from braid.core.chat.turns.turn_store import TurnStore
from braid.core.chat.types import AnswerText, ChatRequest, ChatResult, Draft, Event, StageStarted
from braid.core.datasets.registry import Registry
from braid.core.errors import ModelError
from braid.core.ledger.ledger import Ledger
from braid.core.types import Query, SearchResult
from tests.worlds import WAIT_S, eventually

PARTIAL = "A long partial answer about zebras"


class Talk:
    """A user's conversation, and what is stored of it."""

    def __init__(self, folder: Path) -> None:
        self.ledger = Ledger(f"sqlite:///{folder / 'ledger.db'}")
        self.user = self.ledger.add_user("ann").id
        registry = Registry(folder / "shared_dbs.json", retired_ids=self.ledger.retired_shared_ids)
        self.conversations = ConversationStore(self.ledger, registry)
        self.turns = TurnStore(self.ledger)
        self.id = self.conversations.create(self.user).id
        self.request = ChatRequest(self.user, "How long?")

    def last(self) -> tuple[str, str]:
        """Text and state of the last answer."""
        message = self.conversations.messages(self.user, self.id)[-1]
        return message.text, message.state

    def run(self, runs: RunningTurns, events: Iterator[Event]) -> running.RunningTurn:
        """Run a new turn."""
        return runs.start(
            self.request, events, begin=lambda: self.turns.begin(self.id, self.request), done=lambda _: None
        )


@pytest.fixture
def talk(tmp_path: Path) -> Talk:
    return Talk(tmp_path)


def said(text: str, *, stopped: bool = False) -> ChatResult:
    found = SearchResult(Query("q"), "basic", "none", ("q",), (), ())
    return ChatResult("q", "q", "none", found, text, "model", True, stopped=stopped)


def told(*events: Event) -> Iterator[Event]:
    yield from events


def silent(until: threading.Event) -> Iterator[Event]:
    yield StageStarted("search")
    until.wait(WAIT_S)
    yield StageStarted("answer")


@pytest.mark.parametrize("save_s", [0.0, 60.0])
def test_continue_keeps_the_partial_answer_until_it_has_more(talk: Talk, save_s: float) -> None:
    ids = talk.turns.begin(talk.id, talk.request)
    talk.turns.save(ids, said(PARTIAL, stopped=True), "stopped")
    request, ended, begun = ChatRequest(talk.user, "How long?", draft=Draft(PARTIAL)), threading.Event(), []
    turn = RunningTurns(talk.turns, pauses=TurnPauses(save_s=save_s)).start(
        request,
        silent(ended),
        begin=lambda: talk.turns.resume(talk.user, talk.id, ids.answer_id),
        done=begun.append,
    )
    assert talk.last() == (PARTIAL, "running")
    turn.end("stopped")
    turn.wait()
    ended.set()
    assert talk.last() == (PARTIAL, "stopped")


def test_an_interrupted_answer_is_found_by_its_words(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = talk.turns.begin(talk.id, talk.request)
    talk.turns.save(ids, said("Okapis live here"), "running")
    monkeypatch.setattr(rows, "_named", {})  # another process now
    talk.turns.interrupt_abandoned()
    assert talk.last() == ("Okapis live here", "interrupted")
    assert [found.conversation.id for found in talk.conversations.find(talk.user, "okapis", limit=5)] == [talk.id]


def test_threads_that_name_their_process_at_once_give_it_one_name(monkeypatch: pytest.MonkeyPatch) -> None:
    names = list[str]()

    def another_thread_was_first(count: int) -> str:
        monkeypatch.setattr(secrets, "token_hex", lambda count: "first")
        names.append(rows.this_writer())
        return "second"

    monkeypatch.setattr(rows, "_named", {})
    monkeypatch.setattr(secrets, "token_hex", another_thread_was_first)
    names += [rows.this_writer(), rows.this_writer()]
    assert len(set(names)) == 1, "an answer whose process has another name is interrupted"


def test_a_turn_that_another_process_stopped_ends(talk: Talk) -> None:
    more, begun = threading.Event(), threading.Event()

    def written() -> Iterator[Event]:
        yield AnswerText("Okapis")
        begun.set()
        more.wait(WAIT_S)
        yield AnswerText(" live")
        yield AnswerText(" here")
        raise AssertionError("it goes on though it was stopped")

    turn = talk.run(RunningTurns(talk.turns, pauses=TurnPauses(save_s=0.0)), written())
    assert begun.wait(WAIT_S)
    elsewhere = TurnStore(talk.ledger)
    assert elsewhere.end(talk.user, talk.id, turn.ids.answer_id, "stopped")
    assert talk.last() == ("Okapis", "stopped"), "the page says so at once"
    more.set()
    turn.wait()
    assert (turn.error, talk.last()[1]) == (None, "stopped")


@pytest.mark.parametrize("state", ["running", "complete"])
def test_a_short_outage_of_the_database_loses_no_answer(
    talk: Talk, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    failures, save = [1], talk.turns.save

    def fail_once(ids: object, result: ChatResult, as_: str) -> bool:
        if as_ == state and failures:
            failures.pop()
            raise OperationalError("x", {}, Exception("database is locked"))
        return save(ids, result, as_)  # type: ignore[arg-type]

    monkeypatch.setattr(talk.turns, "save", fail_once)
    runs = RunningTurns(talk.turns, pauses=TurnPauses(save_s=0.0, outage_s=(0.01,)))
    talk.run(runs, told(AnswerText("Hello "), AnswerText("world"), said("Hello world"))).wait()
    assert not failures
    assert talk.last() == ("Hello world", "complete")


def test_what_a_failed_turn_had_written_stays(talk: Talk) -> None:
    def events() -> Iterator[Event]:
        yield AnswerText("Half of it")
        raise ValueError("unexpected")

    talk.run(RunningTurns(talk.turns), events()).wait()
    assert talk.last() == ("Half of it", "failed")


def test_what_a_silent_model_has_written_is_stored(talk: Talk) -> None:
    more = threading.Event()

    def written() -> Iterator[Event]:
        yield AnswerText("Okapis")
        yield AnswerText(" live here")
        more.wait(WAIT_S)

    turn = talk.run(RunningTurns(talk.turns, pauses=TurnPauses(save_s=0.3)), written())
    eventually(lambda: talk.last() == ("Okapis live here", "running"))
    more.set()
    turn.wait()


def test_a_turn_ends_when_it_has_had_all_its_time(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "MAX_TURN_S", 0)
    silence = threading.Event()
    turn = RunningTurns(talk.turns).start(talk.request, silent(silence))
    for _ in waited(turn.follow()):
        pass
    silence.set()
    assert isinstance(turn.error, ModelError)
    assert "which is the limit" in str(turn.error)


def test_a_turn_that_nobody_keeps_is_followed_from_its_first_event_to_its_result(talk: Talk) -> None:
    events = (StageStarted("search"), AnswerText("Okapis"), said("Okapis"))
    turn = RunningTurns(talk.turns).start(talk.request, told(*events))
    turn.wait()
    for after in (0, 2):
        followed = [each for news in turn.follow(after) if isinstance(news, News) for each in news.events]
        assert followed == list(events[after:])
    assert turn.so_far == ("Okapis", ())
    assert talk.conversations.messages(talk.user, talk.id) == []


def test_a_thread_that_cannot_start_gives_its_place_back(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name.startswith("braid-turn"):
            raise RuntimeError("can't start new thread")
        start(thread)  # that in which what earlier tests left open is closed

    runs = RunningTurns(talk.turns, most_of_a_user=1)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="thread"):
            talk.run(runs, told())
    assert talk.last()[1] == "interrupted"
    talk.run(runs, told(said("Now it works"))).wait()


def test_who_has_no_turn_is_not_told_to_stop_one(talk: Talk) -> None:
    ended = threading.Event()
    runs = RunningTurns(talk.turns, most=1)
    turn = talk.run(runs, silent(ended))
    with pytest.raises(TooManyError, match="questions of all users"):
        runs.start(ChatRequest(99, "And I?"), told(), begin=lambda: turn.ids, done=lambda _: None)
    runs.stop_all(talk.user, talk.id + 1)
    assert talk.last()[1] == "running"
    runs.stop_all(talk.user, talk.id)
    turn.wait()
    assert talk.last()[1] == "stopped"
    ended.set()
