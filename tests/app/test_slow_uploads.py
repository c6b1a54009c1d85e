"""Files that take a parser long: they hold nobody else's, and cancelling them ends their process."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from braid.core.accounts.accounts import Accounts
from braid.core.accounts.credentials import ApiTokens
from braid.core.data_directory import DataDirectory
from tests.served import Served
from tests.web import PASSWORD
from tests.worlds import WAIT_S, eventually

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looks into /proc")

SLOW = b"a,b\n" * 3_000_000
"""Half a minute of work."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    settings = {"JOB_WORKERS": 1, "PARSE_MEMORY_MB": 8000}
    with Served(tmp_path_factory.mktemp("slow") / "data", fake_model=True, real_readers=True, **settings) as running:
        yield running


@pytest.fixture(scope="module")
def client_of(served: Served) -> Iterator[Callable[[str], httpx.Client]]:
    """A client of the API that acts for a new user with this name, who has one dataset."""
    clients: list[httpx.Client] = []

    def make(name: str) -> httpx.Client:
        with DataDirectory(served.data_dir) as directory:
            user = Accounts(directory.ledger).add(name, PASSWORD)
            key = ApiTokens(directory.ledger).add(user.id, "test", ("read", "write"), days=1)[1]
            directory.ledger.add_dataset(user.id, "Files")
        address = f"{served.client.base_url}/api/v1"
        clients.append(httpx.Client(base_url=address, headers={"Authorization": f"Bearer {key}"}, timeout=WAIT_S))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


def dataset_of(client: httpx.Client) -> int:
    return int(client.get("/datasets").json()["items"][0]["id"])


def upload(client: httpx.Client, files: dict[str, bytes]) -> list[dict[str, Any]]:
    sent = [("file", (name, content)) for name, content in files.items()]
    answer = client.post(f"/datasets/{dataset_of(client)}/documents", files=sent)
    assert answer.status_code in (200, 202), answer.text
    jobs: list[dict[str, Any]] = answer.json()["items"]
    return jobs


def readers(served: Served) -> set[str]:
    """The ids of the processes that the server has started to read files."""
    parent = re.compile(rf"^PPid:\s+{served.process.pid}$", re.MULTILINE)
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if parent.search((folder / "status").read_text()) and b"parse_worker" in (folder / "cmdline").read_bytes():
                found.add(folder.name)
        except OSError:  # it has ended meanwhile
            continue
    return found


def test_slow_files_hold_nobody_elses_and_end_when_they_are_cancelled(
    served: Served, client_of: Callable[[str], httpx.Client]
) -> None:
    alice, bob = client_of("alice"), client_of("bob")
    slow = upload(alice, {f"slow{number}.csv": SLOW for number in range(4)})

    def states() -> list[str]:
        return [alice.get(f"/jobs/{job['id']}").json()["state"] for job in slow]

    eventually(lambda: len(readers(served)) == 1)
    reader = readers(served)
    [small] = upload(bob, {"small.txt": b"a small text of Bob"})
    eventually(lambda: bob.get(f"/jobs/{small['id']}").json()["state"] == "done")
    assert states() == ["running", "queued", "queued", "queued"], "Bob's file was read beside the slow ones"

    for job in slow:
        assert alice.post(f"/jobs/{job['id']}/cancel").json()["state"] == "cancelled"
    eventually(lambda: not reader & readers(served))  # a slow file takes longer than this waits
    assert states() == ["cancelled"] * 4
    assert alice.get(f"/datasets/{dataset_of(alice)}/documents").json()["items"] == []
    [after] = upload(alice, {"after.txt": b"a small text of Alice"})
    eventually(lambda: alice.get(f"/jobs/{after['id']}").json()["state"] == "done")
