"""A forked process of Python does what one does that is started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.forked_children import Python, in_earnest, python, ran_python
from tests.worlds import WAIT_S

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="nothing is forked elsewhere")

WHERE = "import os, sys; print(os.getcwd(), sorted(os.environ.items()), sys.argv, sys.path[0], __name__)"
ENDING = """
import atexit, sys, threading, weakref
class Kept: pass
kept = Kept()
weakref.finalize(kept, print, "finalized")
atexit.register(print, "registered")
threading.Thread(target=lambda: (threading.main_thread().join(), print("thread"))).start()
sys.stderr.write("end, ")
"""


def both(*arguments: str, **options: Any) -> tuple[list[tuple[int, str, str]], ...]:
    """Status, output and last line of the errors, forked and in earnest."""
    assert Python.is_forked
    ran = []
    for way in (nullcontext(), in_earnest()):
        with way:
            done = ran_python(*arguments, **options)
        ran.append([(done.returncode, done.stdout, *done.stderr.splitlines()[-1:])])
    return ran[0], ran[1]


@pytest.mark.parametrize(
    "program",
    [
        *(WHERE, ENDING, "1/0", "exit()", "exit(7)", "exit('why')", "exit(-1)", "import sys; sys.stdout.write('ü')"),
        *(f"import os, signal; os.kill(os.getpid(), signal.{name})" for name in ("SIGINT", "SIGTERM", "SIGKILL")),
        "import signal; print([signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE)])",
        "import os, signal; print(signal.pthread_sigmask(signal.SIG_BLOCK, []), sorted(os.listdir('/proc/self/fd')))",
        "import sys; print(sys.stdin.read(), file=sys.stderr); sys.stdout.reconfigure(errors='replace')",
    ],
)
def test_a_program(program: str, tmp_path: Path) -> None:
    environment = {"LC_CTYPE": "C.UTF-8", "A": "ü"}
    forked, started = both("-c", program, "x", cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL)
    assert forked == started


def test_a_module_with_its_folder_first(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(WHERE + "; import beside; print(__file__, beside.__file__)")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "beside.py").touch()
    environment = {"LC_CTYPE": "C.UTF-8", "PYTHONPATH": str(tmp_path / "lib"), "PYTHONDONTWRITEBYTECODE": "1"}
    forked, started = both("-m", "program", "x", cwd=tmp_path, env=environment)
    assert forked == started
    assert forked[0][0] == 0


def test_who_asks_and_who_ends_it() -> None:
    program = "import sys; print(sys.stdin.readline(), end='', flush=True); sys.stdin.read()"
    with python("-c", program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("heard\n")
        process.stdin.flush()
        assert process.stdout.readline() == "heard\n"
        assert process.poll() is None
        assert os.getpgid(process.pid) == process.pid != os.getpgrp()
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.01)
        process.terminate()
        assert process.wait(WAIT_S) == process.returncode == -signal.SIGTERM
