"""The command line in processes of their own."""

from __future__ import annotations

import os
import signal
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

from tests import command_line
from tests.forked_children import python
from tests.worlds import WAIT_S

REPOSITORY = Path(__file__).parents[3]
NOBODY = "http://127.0.0.1:9/"
"""Where nothing answers: the port of the discard service, which only root may open."""


class CommandLine(command_line.CommandLine):
    """Runs commands over one data directory, in this process or in one of their own."""

    def process(self, *args: object, **options: Any) -> subprocess.Popen[str]:
        """The same in a process of its own, which heeds Ctrl-C also where the tests run in the background."""
        heed = partial(signal.signal, signal.SIGINT, signal.default_int_handler)
        return python(
            *("-m", "app", *map(str, args)),
            cwd=REPOSITORY,
            env={**os.environ, **self.env, "BRAID_DATA_DIR": str(self.data_dir), "PYTHONUTF8": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            preexec_fn=heed,
            **options,
        )


def finished(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=WAIT_S)
    return process.returncode, out, err
