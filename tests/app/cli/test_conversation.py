"""The commands about stored conversations, over a real data directory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from braid.core.chat.citations import Citation
from braid.core.chat.store import ConversationStore
from braid.core.chat.types import ChatRequest, ChatResult
from braid.core.data_directory import DataDirectory
from braid.core.types import Query, SearchResult
from tests import command_line
from tests.worlds import document

QUESTION = "猫は何を食べますか。"
ANSWER = "Fish [1]."


class CommandLine(command_line.CommandLine):
    """Runs ``conversation`` over one data directory, where Ann has a conversation and Bob has none."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        with self.opened() as braid:
            self.ann, self.bob = (braid.ledger.add_user(name).id for name in ("ann", "bob"))
            self.dataset = braid.ledger.add_dataset(self.ann, "notes").id
            put = braid.ledger.put_document(self.dataset, document("cats.md", "A cat eats fish.", title="Cats"))
            (passage,) = braid.ledger.document_passages(put.document_id, [self.dataset])
            search = SearchResult(Query(QUESTION), "basic", "none", (QUESTION,), (), ("user_1",))
            citations = (Citation(1, passage, passage.text),)
            result = ChatResult(QUESTION, QUESTION, "none", search, ANSWER, "extractive", True, citations)
            store = ConversationStore(braid.ledger, braid.registry)
            self.id = store.create(self.ann).id
            store.add(self.id, ChatRequest(self.ann, QUESTION), result)

    def opened(self) -> DataDirectory:
        return DataDirectory(self.data_dir, shared_dbs=Path(self.env["BRAID_SHARED_DBS"]))

    def __call__(self, *args: object, user: str = "ann", status: int = 0, answer: str | None = None) -> Result:
        return super().__call__("conversation", *args, "--user", user, status=status, answer=answer)

    def json(self, *args: object, user: str = "ann", status: int = 0) -> Any:
        return json.loads(self(*args, "--json", user=user, status=status).stdout)


@pytest.fixture
def run(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


def test_each_user_sees_their_own(run: CommandLine) -> None:
    (found,) = run.json("list")
    assert (found["id"], found["user_id"], found["title"]) == (run.id, run.ann, QUESTION)
    assert QUESTION in run("list").stdout
    assert run.json("list", user="bob") == []
    for command in (("show",), ("rename", "mine"), ("delete", "--yes"), ("export",)):
        name, *others = command
        result = run(name, run.id, *others, user="bob", status=2)
        assert result.stderr == f"error: there is no conversation {run.id}\n"
    assert run.json("show", run.id)["title"] == QUESTION


def test_show_has_the_passages_as_they_were_cited(run: CommandLine) -> None:
    shown = run("show", run.id).stdout
    assert shown.startswith(f"# {QUESTION}\n\n## Question (")
    assert shown.endswith(f"{ANSWER}\n\n**[1]** Cats · cats.md\n\n> A cat eats fish.\n")
    with run.opened() as braid:
        braid.ledger.remove_document(run.dataset, "cats.md")
    assert "cats.md (deleted since)\n\n> A cat eats fish." in run("show", run.id).stdout
    question, answer = run.json("show", run.id)["messages"]
    assert (question["role"], answer["text"], answer["citations"][0]["deleted"]) == ("user", ANSWER, True)


def test_what_would_steer_the_terminal_is_not_printed(run: CommandLine) -> None:
    run("rename", run.id, "a\x1b[31mb")
    for command in ("show", "list"):
        assert "\x1b" not in run(command, *([run.id] if command == "show" else [])).stdout


def test_rename(run: CommandLine) -> None:
    assert run("rename", run.id, "  What  cats eat ").stdout == f"Conversation {run.id} is called What cats eat.\n"
    assert run.json("rename", run.id, "Cats")["title"] == "Cats"
    assert run.json("list")[0]["title"] == "Cats"
    assert "the title is empty" in run("rename", run.id, " ", status=2).stderr


def test_delete_asks_first_and_can_be_undone(run: CommandLine) -> None:
    refused = run("delete", run.id, answer="n\n", status=1)
    assert f"Delete conversation {run.id}, {QUESTION}, with all of its messages and files?" in refused.stderr
    assert len(run.json("list")) == 1
    told = run("delete", run.id, answer="y\n").stdout
    assert told.startswith(f"Deleted conversation {run.id}, ")
    assert told.endswith(f"It can be restored for 30 days: conversation restore {run.id}\n")
    assert run.json("list") == []
    assert [each["id"] for each in run.json("list", "--deleted")] == [int(run.id)]
    assert "there is no conversation" in run("delete", run.id, "--yes", status=2).stderr
    assert run("restore", run.id).stdout == f"Restored conversation {run.id}, {QUESTION}.\n"
    assert len(run.json("list")) == 1


def test_delete_permanently(run: CommandLine) -> None:
    run("delete", run.id, "--yes")
    assert run("delete", run.id, "--permanently", "--yes").stdout == f"Deleted conversation {run.id}, {QUESTION}.\n"
    assert "there is no conversation" in run("restore", run.id, status=2).stderr
    assert run.json("list", "--deleted") == []


def test_export(run: CommandLine, tmp_path: Path) -> None:
    markdown, exported = tmp_path / "c.md", tmp_path / "c.json"
    assert run("export", run.id, "--out", markdown).stdout == f"Wrote 2 messages to {markdown}.\n"
    assert markdown.read_text(encoding="utf-8") == run("export", run.id).stdout == run("show", run.id).stdout
    report = run.json("export", run.id, "--format", "json", "--out", exported)
    assert report == {"conversation": run.id, "messages": 2, "format": "json", "file": str(exported)}
    assert json.loads(exported.read_text(encoding="utf-8")) == run.json("show", run.id) == run.json("export", run.id)
    assert "File exists" in run("export", run.id, "--out", markdown, status=2).stderr
