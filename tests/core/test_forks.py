"""What is told of forks: each one, whatever another one raises."""

from __future__ import annotations

import os

import pytest

from braid.core.forks import tell_of_forks


class Told:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.said: list[str] = []
        tell_of_forks(self)

    def before_fork(self) -> None:
        self.said.append("before")

    def after_fork(self, *, in_child: bool) -> None:
        self.said.append("in the child" if in_child else "in the parent")


class Broken(Told):
    """Raises whenever it is told, as what was half made when somebody forked."""

    def before_fork(self) -> None:
        raise RuntimeError("not ready")

    def after_fork(self, *, in_child: bool) -> None:
        raise RuntimeError("not ready")


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_what_one_raises_keeps_no_other_one_from_being_told(caplog: pytest.LogCaptureFixture) -> None:
    first, broken, last = Told(), Broken(), Told()
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(writer, " ".join((*first.said, *last.said)).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as said:
        assert said.read() == "before in the child before in the child"
    os.waitpid(pid, 0)
    assert first.said == last.said == ["before", "in the parent"]
    assert broken.said == []
    assert caplog.text.count("was not ready for a fork") == 2, "before it, and in the parent"
