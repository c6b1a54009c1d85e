"""A model that hangs or is gone costs its deadline once; then it is left alone, and tried again after a while."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from braid.core.errors import ModelError
from braid.core.models.chat import ChatModel, ModelSettings
from braid.core.models.failures import CircuitBreaker
from tests.model_server import ModelServer, model_server
from tests.worlds import WAIT_S

ASK = [("user", "cats?")]


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server("Fish") as running:
        yield running


def test_by_the_clock(clock: Clock) -> None:
    circuit = CircuitBreaker(30.0, clock)
    assert circuit.admit() == ""
    circuit.record_outage("it is gone")
    clock.now += 12
    assert circuit.admit() == "it is gone; it is asked again in 18 s"
    clock.now += 17.9
    assert circuit.admit() == "it is gone; it is asked again in 1 s"
    clock.now += 0.1
    assert circuit.admit() == "", "the trial"
    assert circuit.admit() == "it is gone; it is asked again in 30 s", "the others wait for it"
    circuit.record_outage("it is still gone")
    assert "still gone" in circuit.admit()
    clock.now += 30
    assert circuit.admit() == ""
    circuit.record_answer()
    assert [circuit.admit() for _ in range(3)] == ["", "", ""]


def test_a_trial_that_is_never_heard_of_is_followed_by_another(clock: Clock) -> None:
    circuit = CircuitBreaker(30.0, clock)
    circuit.record_outage("gone")
    clock.now += 30
    assert circuit.admit() == ""
    clock.now += 30
    assert (circuit.admit(), circuit.admit() == "") == ("", False)


def test_one_thread_alone_makes_the_trial(clock: Clock) -> None:
    circuit = CircuitBreaker(30.0, clock)
    circuit.record_outage("gone")
    clock.now += 31
    together, answers = threading.Barrier(16), list[str]()

    def ask() -> None:
        together.wait()
        answers.append(circuit.admit())

    threads = [threading.Thread(target=ask) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers.count("") == 1


def test_one_slow_prompt_is_no_outage(clock: Clock) -> None:
    circuit = CircuitBreaker(30.0, clock)
    circuit.record_answer()
    circuit.record_slow("it is slow")
    assert circuit.admit() == ""
    circuit.record_answer()
    circuit.record_slow("it is slow")
    circuit.record_slow("it is slow again")
    assert circuit.admit() == "it is slow again; it is asked again in 30 s"


def test_a_model_that_never_answered_is_left_alone_at_once(clock: Clock) -> None:
    circuit = CircuitBreaker(30.0, clock)
    circuit.record_slow("it is slow")
    assert circuit.admit() == "it is slow; it is asked again in 30 s"


def test_a_pause_of_nothing_is_none(clock: Clock) -> None:
    circuit = CircuitBreaker(0.0, clock)
    circuit.record_outage("gone")
    assert circuit.admit() == ""


@pytest.mark.parametrize("way", ["complete", "stream"])
def test_a_hanging_model_costs_its_deadline_once(server: ModelServer, clock: Clock, way: str) -> None:
    model = ChatModel(server.settings(timeout_s=1.0), clock=clock)

    def ask() -> str:
        return model.complete(ASK) if way == "complete" else "".join(model.stream(ASK)).strip()

    assert ChatModel(server.settings(timeout_s=WAIT_S)).complete(ASK) == "Fish", "its package is loaded then"
    assert _patiently(ask, clock) == "Fish"
    server.delay_s = WAIT_S
    server.calls.clear()
    for _ in range(2):  # the first alone may have been a prompt that is too long
        with pytest.raises(ModelError, match=r"took longer than 1 s|Timeout"):
            ask()
    assert len(server.calls) == 2
    for _ in range(20):
        with pytest.raises(ModelError, match=r"openai:search-model .*; it is asked again in 30 s"):
            ask()
    assert len(server.calls) == 2, "who does not ask does not wait"
    server.delay_s = 0.0
    clock.now += 30
    assert _patiently(ask, clock) == "Fish"
    assert _patiently(ask, clock) == "Fish"


def _patiently(ask: Callable[[], str], clock: Clock) -> str:
    """A busy machine may need longer than the deadline."""
    for _ in range(20):
        try:
            return ask()
        except ModelError:
            clock.now += 30
    raise AssertionError("never answered")


def test_where_nobody_listens_nothing_is_tried_again(clock: Clock) -> None:
    model = ChatModel(ModelSettings("openai:m", "http://127.0.0.1:9/v1", timeout_s=5, retries=0), clock=clock)
    with pytest.raises(ModelError, match="openai:m failed"):
        model.complete(ASK)
    with pytest.raises(ModelError, match=r"openai:m failed: .*; it is asked again in 30 s"):
        model.complete(ASK)
    clock.now += 31
    with pytest.raises(ModelError, match=r"openai:m failed: (?!.*asked again)"):
        model.complete(ASK)


@pytest.mark.parametrize("status", [401, 429, 500])
def test_an_answer_that_is_an_error_is_an_answer(server: ModelServer, status: int) -> None:
    model = ChatModel(server.settings())
    server.broken = status
    for _ in range(3):
        with pytest.raises(ModelError):
            model.complete(ASK)
    server.broken = 0
    assert model.complete(ASK) == "Fish"


def test_a_shorter_deadline_of_one_call_says_nothing_about_the_model(server: ModelServer) -> None:
    model = ChatModel(server.settings(timeout_s=WAIT_S))
    assert model.complete(ASK) == "Fish"
    server.delay_s = 0.5
    with pytest.raises(ModelError, match="took longer"):
        model.complete(ASK, timeout_s=0.1)
    assert model.complete(ASK) == "Fish"


def test_each_model_has_its_own(server: ModelServer) -> None:
    gone = ChatModel(ModelSettings("openai:m", "http://127.0.0.1:9/v1", retries=0))
    with pytest.raises(ModelError):
        gone.complete(ASK)
    assert ChatModel(server.settings()).complete(ASK) == "Fish"
