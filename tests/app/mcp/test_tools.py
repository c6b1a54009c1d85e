"""The tools alone, without a server: what they are fused by, taken in up to, and refuse."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from braid.app.mcp.calls import Meter
from braid.app.mcp.tools import Tools
from braid.config.settings import Settings
from braid.core.accounts.accounts import Account, Accounts
from braid.core.accounts.usage import Usage
from braid.core.braid import Braid
from braid.core.ingest.parse import parse_here
from tests.worlds import WAIT_S, document

PLAIN: dict[str, Any] = {
    "file_type": None,
    "include_documents": False,
    "max_content_length": None,
    "dataset_ids": None,
    "strategy": "basic",
}


def tools_of(braid: Braid, account: Account, settings: Settings | None = None) -> Tools:
    meter = Meter(Usage(braid.ledger), account.id)
    return Tools(braid, account, settings or Settings(), meter, is_admin=False, parse=parse_here)


def test_searches_are_reranked_as_the_settings_say(braid: Braid, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    class Longest:
        name = "longest"

        def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
            read.append(len(texts))
            return [len(text) for text in texts]

    monkeypatch.setattr("braid.core.models.rerank.reranker_named", lambda *_, **__: Longest())
    account = Accounts(braid.ledger).add("ana")
    dataset = braid.ledger.add_dataset(account.id, "Notes").id
    for number in range(20):
        braid.ledger.put_document(dataset, document(f"{number:02}.md", "pump " + "word " * number))
    assert braid.indexer.wait(WAIT_S)
    tools = tools_of(braid, account, Settings(reranker="local:longest", reranker_depth=10))
    found = tools.search("pump", top_k=2, mode="keyword", **PLAIN)
    assert read == [10]
    assert [each["filepath"] for each in found["results"]] == ["09.md", "08.md"], "the longest of the ten best"


def test_documents_are_taken_in_up_to_the_users_quota(braid: Braid) -> None:
    account = Accounts(braid.ledger).add("ana")
    tools = tools_of(braid, account, Settings(max_user_documents=1))
    assert tools.put_document("The tray.", "a.md", file_type=None, dataset_id=None)["status"] == "success"
    refused = tools.put_document("The tray.", "b.md", file_type=None, dataset_id=None)
    assert (refused["status"], refused["error_type"]) == ("error", "ValidationError")
    assert refused["message"].startswith("you have 1 documents, with deleted ones that can be restored, which is")
    assert tools.put_document("In its place.", "a.md", file_type=None, dataset_id=None)["status"] == "success"
    assert tools.delete_document("a.md", dataset_id=None, permanently=True)["status"] == "success"
    assert tools.put_document("The tray.", "b.md", file_type=None, dataset_id=None)["status"] == "success"


def test_a_path_is_the_same_in_either_form_of_unicode(braid: Braid) -> None:
    tools = tools_of(braid, Accounts(braid.ledger).add("ana"), Settings(max_user_documents=1))
    for path in ("caf\u00e9.md", "cafe\u0301.md"):  # the second one replaces the first, so there is room for it
        assert tools.put_document("The tray.", path, file_type=None, dataset_id=None)["status"] == "success"
    assert tools.explain("tray", "cafe\u0301.md")["count"] == 1
    by_prefix = tools.get_documents_by_prefix("cafe\u0301", file_type=None, include_documents=True, top_k=None)
    assert by_prefix["count"] == 1
    assert tools.delete_document("cafe\u0301.md", dataset_id=None)["status"] == "success"


def test_a_path_of_nothing_that_can_be_stored_is_refused(braid: Braid) -> None:
    tools = tools_of(braid, Accounts(braid.ledger).add("ana"))
    for path in ("\0", " \0\0 "):
        refused = tools.put_document("The tray.", path, file_type=None, dataset_id=None)
        assert (refused["status"], refused["error_type"]) == ("error", "ValidationError")
    assert braid.ledger.datasets(1) == [] or all(each.documents == 0 for each in braid.ledger.datasets(1))


def test_the_servers_path_is_not_for_ordinary_users(braid: Braid) -> None:
    tools = tools_of(braid, Accounts(braid.ledger).add("ana"))
    assert tools.put_document("The tray.", "a.md", file_type=None, dataset_id=None)["status"] == "success"
    assert braid.indexer.wait(WAIT_S)
    found = tools.search("tray", top_k=1, mode="keyword", **PLAIN)
    assert found["status"] == "success", found
    assert found["persist_directory"] == braid.data_dir.name
    assert str(braid.data_dir) not in json.dumps(found)


def test_a_search_is_fused_as_the_site_is_set(braid: Braid) -> None:
    account = Accounts(braid.ledger).add("ana")
    tools_of(braid, account).put_document("The tray.", "a.md", file_type=None, dataset_id=None)
    assert braid.indexer.wait(WAIT_S)

    def score(settings: Settings) -> float:
        found = tools_of(braid, account, settings).search("tray", top_k=1, mode="hybrid", **PLAIN)
        return float(found["results"][0]["score"])

    assert score(Settings(fusion="rrf")) == pytest.approx(0.5 / 61 + 0.5 / 61)
    assert score(Settings(fusion="weighted", alpha=0.2)) == pytest.approx(0.2 + 0.8)
    assert score(Settings()) == pytest.approx(5 * 0.55), "the only keyword hit stands out as far as one may"


def test_nothing_is_taken_in_when_the_disk_is_full(braid: Braid) -> None:
    tools = tools_of(braid, Accounts(braid.ledger).add("ana"), Settings(min_free_disk_mb=10**9))
    refused = tools.put_document("The tray.", "a.md", file_type=None, dataset_id=None)
    assert (refused["status"], refused["error_type"]) == ("error", "BraidError")
    assert "disk" in refused["message"]


def test_every_document_of_a_prefix_is_looked_at(braid: Braid, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("braid.app.mcp.tools.DOCUMENTS_PER_READ", 2)
    account = Accounts(braid.ledger).add("ana")
    braid.registry.add("Handbook", "shared_main_db", description="For everybody")
    tools = tools_of(braid, account)
    for name in ("a.md", "b.md", "c.md", "d.txt", "e.md"):
        assert tools.put_document(f"The tray {name}.", name, file_type=None, dataset_id=None)["status"] == "success"
    found = tools.get_documents_by_prefix("", file_type="txt", include_documents=True, top_k=None)
    assert [entry["filepath"] for entry in found["results"]] == ["d.txt"]
    everything = tools.get_documents_by_prefix("", file_type=None, include_documents=False, top_k=None)
    assert everything["count"] == 5
    assert tools.explain("tray", "e.md")["count"] == 1
    assert [d["description"] for d in tools.list_datasets()["datasets"]] == ["", "For everybody"]
