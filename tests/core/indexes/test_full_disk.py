"""A disk that is full for a while costs the dense index nothing but the writes that failed meanwhile."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.served import ROOT

CHILD = """
import faulthandler, resource, sys
from pathlib import Path
import numpy as np
from braid.core.errors import IndexUnavailableError
from braid.core.indexes.base import IndexedChunk
from braid.core.indexes.dense import DenseIndex

faulthandler.dump_traceback_later(45, exit=True)  # a write that keeps the interpreter's lock stops every other way out
dense = DenseIndex(Path(sys.argv[1]))

def write(name):
    vectors = np.random.default_rng(1).random((20, 64), dtype=np.float32)
    chunks = [IndexedChunk(f"{name}{n}", 1, 1, 1, "text", vectors[n]) for n in range(20)]
    dense.apply("user_1", chunks, [])

write("before")
_, most = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, most))
failed = 0
for n in range(10):
    try:
        write(f"full{n}x")
    except IndexUnavailableError:
        failed += 1
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
write("after")
print("failed", failed, "stored", len(list(dense.ids("user_1"))))
dense.close()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limit of file sizes there")
def test_the_dense_index_goes_on_when_there_is_room_again(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path / "dense")], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.stdout.split() == ["failed", "10", "stored", "40"], done.stdout + done.stderr
