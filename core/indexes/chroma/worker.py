"""The process that has Chroma open: answers one call after the other until its input ends.

Chroma keeps the interpreter's lock while it writes, 0.2–0.7 s per call, never gives memory back, hangs for good after
a write to a full disk, and can crash on files that a kill has torn. Here none of that reaches the server.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import IO

from braid.core.errors import BraidError, IndexUnavailableError, StoreUnreachableError
from braid.core.processes.frames import receive, send
from braid.core.processes.limits import limit


def main(path: str, url: str, claim: str) -> None:
    """Answer calls ``(method, arguments)`` to the store from stdin on stdout: with a value, or Braid's error."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what Chroma prints must not get between the answers
    limit(nice=10)
    from filelock import FileLock

    Path(path).mkdir(parents=True, exist_ok=True)
    with FileLock(str(Path(path) / "chroma.lock")):  # the process of a server that was killed may still be writing
        _answer_calls(Path(path), url, claim, answers)


def _answer_calls(path: Path, url: str, claim: str, answers: IO[bytes]) -> None:
    from braid.core.files.claim import Claim
    from braid.core.indexes.chroma.errors import WriteFailedError
    from braid.core.indexes.chroma.store import ChromaStore

    store: ChromaStore | None = None
    while True:
        call = receive(sys.stdin.buffer, trusted=True)
        if call is None:
            os._exit(0)  # the server has ended; nothing is left to be closed
        method, arguments = call
        answer: object
        try:
            store = store or ChromaStore(path, url, Claim(**json.loads(claim)) if claim else None)
            store.require_files()
            answer = getattr(store, method)(*arguments)
        except StoreUnreachableError as error:
            answer = error
        except IndexUnavailableError as error:
            is_write = method == "apply" and store is not None and not store.is_gone()
            answer = WriteFailedError(str(error), inner=error.inner) if is_write else error
        except BraidError as error:
            answer = error
        except Exception as error:  # the edge of the process: whatever it is, the caller is told
            answer = IndexUnavailableError(f"the Chroma store failed: {type(error).__name__}", inner=str(error))
        with contextlib.suppress(BrokenPipeError):  # the server has ended meanwhile
            send(answers, {"answer": answer}, trusted=True)
