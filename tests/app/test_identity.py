"""Random sequences of additions and deletions on all surfaces, against a plain dictionary: nothing is lost or left."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from langchain_core.documents import Document

from braid.app.mcp.calls import Meter
from braid.app.mcp.tools import Tools
from braid.config.settings import Settings
from braid.core.accounts.usage import Usage
from braid.core.braid import Braid
from braid.core.ingest.parse import parse_here
from braid.core.types import PART
from tests.fakes import HashEmbeddings
from tests.modes import mostly_long
from tests.web import bearer, make_app, site_of
from tests.worlds import ByHand, catch_up

SEQUENCES, AT_ONCE = 2_000, 40
"""So many sequences, each on a dataset of its own."""
STEPS, FOLLOWED, LOOKED_AT = 14, 5, 8
"""Steps of a sequence; after so many the indexes follow, and of so many sequences one is read, in the end all."""
NAMES = ("a.txt", "notes/b", "c#part=x", "名前")
SOURCES = ("manual.pdf", "site/page.html")
TAGS = ("red", "blue")
WORDS = ("pump", "valve", "tank", "hose", "seal")
ALL_OF_THEM = 200


@dataclass
class Surfaces:
    """What writes and reads: the library, a vector store, the HTTP API, MCP."""

    braid: Braid
    tools: Tools
    client: FlaskClient
    headers: dict[str, str]
    user: int

    def send(self, method: str, path: str, body: dict[str, Any]) -> Any:
        answer = self.client.open(f"/api/v1/{path}", method=method, json=body, headers=self.headers)
        assert answer.status_code in (200, 201), answer.get_data(as_text=True)
        return answer.json

    def tool(self, name: str, *arguments: Any, **named: Any) -> Any:
        answer = getattr(self.tools, name)(*arguments, **named)
        assert answer["status"] == "success", answer
        return answer


@pytest.fixture
def surfaces(tmp_path: Path) -> Iterator[Surfaces]:
    with ByHand(tmp_path, embedding_model=HashEmbeddings()) as braid:
        app = make_app(braid, Settings(api_rate_limit="1000000/second"))
        account = site_of(app).accounts.all()[0]
        meter = Meter(Usage(braid.ledger), account.id)
        tools = Tools(braid, account, Settings(), meter, is_admin=True, parse=parse_here)
        yield Surfaces(braid, tools, app.test_client(), bearer(app, account), account.id)


@dataclass
class Sequence:
    """One sequence with what should be there: texts and tags by name, and the texts of each source's parts."""

    on: Surfaces
    dataset: int
    seed: int
    dice: random.Random
    named: dict[str, tuple[str, str]] = field(default_factory=dict)
    parts: dict[str, set[str]] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)

    def step(self) -> None:
        steps: list[Callable[[], str]] = [self.put, self.put, self.add_parts, self.add_parts, self.replace_parts]
        steps += [self.delete_name, self.delete_source, self.delete_tag, self.delete_part]
        self.log.append(self.dice.choice(steps)())

    def text(self) -> str:
        return f"common {self.dice.choice(WORDS)} {self.dice.choice(WORDS)}"

    # ------------------------------------------------------------ write

    def put(self) -> str:
        name, text, tag = self.dice.choice(NAMES), self.text(), self.dice.choice(TAGS)
        way = self.dice.choice(("object", "document", "http", "mcp", "store"))
        metadata = {"tag": tag}
        if way == "object":
            self.on.braid.add({"id": name, "text": text, "metadata": metadata}, dataset=self.dataset)
        elif way == "document":
            self.on.braid.add(Document(text, id=name, metadata=metadata), dataset=self.dataset)
        elif way == "http":
            body = {"source": name, "text": text, "metadata": metadata}
            self.on.send("PUT", f"datasets/{self.dataset}/documents", body)
        elif way == "mcp":
            self.on.tool("put_document", text, name, file_type="txt", dataset_id=self.dataset, metadata=metadata)
        else:
            store = self.on.braid.vector_store(self.dataset, wait_s=0)
            assert store.add_texts([text], [metadata], ids=[name]) == [name]
        self.named[name] = text, tag
        return f"put {name} {text!r} by {way}"

    def add_parts(self) -> str:
        source, texts = self.dice.choice(SOURCES), [self.text() for _ in range(self.dice.randint(1, 4))]
        at_once = self.dice.choice((True, False))
        documents = [Document(text, metadata={"source": source}) for text in texts]
        for batch in [documents] if at_once else [[each] for each in documents]:
            self.on.braid.add(batch, dataset=self.dataset)
        self.parts.setdefault(source, set()).update(texts)
        return f"add {texts} to {source}, at once: {at_once}"

    def replace_parts(self) -> str:
        source, texts = self.dice.choice(SOURCES), {self.text() for _ in range(self.dice.randint(1, 3))}
        documents = [Document(text, metadata={"source": source}) for text in sorted(texts)]
        self.on.braid.add(documents, dataset=self.dataset, replace_sources=True)
        self.parts[source] = set(texts)
        return f"replace {source} by {texts}"

    def delete_name(self) -> str:
        name, way = self.dice.choice(NAMES), self.dice.choice(("ids", "number", "http", "mcp", "store", "tool"))
        there = int(self.named.pop(name, None) is not None)
        found = self.on.braid.ledger.document(self.dataset, name)
        if way == "ids":
            assert self.on.braid.delete(name, dataset=self.dataset) == there
        elif way == "number":
            assert self.on.braid.delete([found.id] if found else [10**9], dataset=self.dataset) == there
        elif way == "http":
            path = f"datasets/{self.dataset}/documents/delete"
            assert self.on.send("POST", path, {"ids": [name]}) == {"deleted": there}
        elif way == "mcp":
            named = self.on.tool("delete_documents", self.dataset, ids=[name], source=None, where=None)
            assert named["deleted"] == there
        elif way == "store":
            assert self.on.braid.vector_store(self.dataset, wait_s=0).delete([name])
        elif there:
            self.on.tool("delete_document", name, dataset_id=self.dataset)
        return f"delete {name} by {way}"

    def delete_source(self) -> str:
        source, way = self.dice.choice(SOURCES), self.dice.choice(("ids", "source", "http", "mcp"))
        there = len(self.parts.pop(source, ()))
        if way == "ids":
            assert self.on.braid.delete(source, dataset=self.dataset) == there
        elif way == "source":
            assert self.on.braid.delete(dataset=self.dataset, source=source) == there
        elif way == "http":
            path = f"datasets/{self.dataset}/documents/delete"
            assert self.on.send("POST", path, {"source": source}) == {"deleted": there}
        else:
            deleted = self.on.tool("delete_documents", self.dataset, ids=None, source=source, where=None)["deleted"]
            assert deleted == there
        return f"delete the source {source} by {way}"

    def delete_tag(self) -> str:
        tag, way = self.dice.choice(TAGS), self.dice.choice(("library", "http", "mcp"))
        gone = [name for name, (_, its) in self.named.items() if its == tag]
        if way == "library":
            assert self.on.braid.delete(dataset=self.dataset, filter={"tag": tag}) == len(gone)
        elif way == "http":
            path = f"datasets/{self.dataset}/documents/delete"
            assert self.on.send("POST", path, {"filters": {"metadata": {"tag": tag}}}) == {"deleted": len(gone)}
        else:
            deleted = self.on.tool("delete_documents", self.dataset, ids=None, source=None, where={"tag": tag})
            assert deleted["deleted"] == len(gone)
        for name in gone:
            del self.named[name]
        return f"delete {tag} by {way}"

    def delete_part(self) -> str:
        source = self.dice.choice(SOURCES)
        if not self.parts.get(source):
            return "no part to delete"
        text = self.dice.choice(sorted(self.parts[source]))
        ledger = self.on.braid.ledger
        (chunk,) = [
            passage.chunk_id
            for each in ledger.documents(self.dataset)
            if _own(each.source) == source
            for passage in ledger.document_passages(each.id, [self.dataset])
            if passage.text == text
        ]
        assert self.on.braid.delete(chunk, dataset=self.dataset) == 1
        self.parts[source].remove(text)
        return f"delete the part {text!r} of {source}"

    # ------------------------------------------------------------ read

    def expected(self) -> set[tuple[str, str]]:
        """Each text with what it is stored under; a part under its source."""
        named = {(name, text) for name, (text, _) in self.named.items()}
        return named | {(source, text) for source, texts in self.parts.items() for text in texts}

    def require_equal(self) -> None:
        for surface, found in self.found():
            assert found == self.expected(), (surface, self.seed, "\n".join(self.log))

    def found(self) -> Iterator[tuple[str, set[tuple[str, str]]]]:
        braid, dataset = self.on.braid, self.dataset
        stored = [
            *braid.get([*NAMES], dataset=dataset),
            *(d for s in SOURCES for d in braid.get(source=s, dataset=dataset)),
        ]
        yield "get", {(_own(each.id), each.text) for each in stored}
        kept = braid.vector_store(dataset).get_by_ids([*NAMES])
        parts = {pair for pair in self.expected() if pair[0] in SOURCES}
        yield "vector store", {(str(each.id), each.page_content) for each in kept} | parts
        for engine in ("braid", "langchain"):
            for mode in ("keyword", "semantic", "hybrid"):
                asked: dict[str, Any] = {"dataset_ids": [dataset], "mode": mode, "k": ALL_OF_THEM, "engine": engine}
                hits = braid.search("common", user_id=self.on.user, **asked).hits
                yield (
                    f"{engine} {mode}",
                    {(_own(place.source), hit.passage.text) for hit in hits for place in (hit.passage, *hit.also_in)},
                )
        asked = {"dataset_ids": [dataset], "k": ALL_OF_THEM}
        documents = braid.get_retriever(user_id=self.on.user, **asked).invoke("common")
        yield (
            "retriever",
            {
                (_own(source), each.page_content)
                for each in documents
                for ours in [each.metadata["braid"]]
                for source in (ours["source"], *(place["source"] for place in ours.get("also_in", ())))
            },
        )
        items = []
        for named in ({"ids": [*NAMES]}, *({"source": source} for source in SOURCES)):
            items += self.on.send("POST", f"datasets/{dataset}/documents/get?limit=200", named)["items"]
        yield "http", {(_own(each["source"]), each["text"]) for each in items}
        body = {"query": "common", "dataset_ids": [dataset], "top_k": ALL_OF_THEM}
        yield (
            "http search",
            {
                (_own(place["source"]), hit["passage"]["text"])
                for hit in self.on.send("POST", "search", body)["hits"]
                for place in (hit["passage"], *hit["also_in"])
            },
        )
        results = []
        for source in (None, *SOURCES):
            ids = [*NAMES] if source is None else None
            results += self.on.tool(
                "get_documents", dataset, ids=ids, source=source, where=None, include_documents=True, top_k=ALL_OF_THEM
            )["results"]
        yield "mcp", {(_own(each["filepath"]), each["document"]) for each in results}


def _own(source: str) -> str:
    """The source of a part; any other as it is."""
    before, _, number = source.rpartition(PART)
    return before if number.isdecimal() else source


@pytest.mark.parametrize("start", mostly_long(range(0, SEQUENCES, AT_ONCE)))
def test_sequences_of_additions_and_deletions_are_those_of_a_dictionary(surfaces: Surfaces, start: int) -> None:
    sequences = []
    for seed in range(start, start + AT_ONCE):
        dataset = surfaces.braid.ledger.add_dataset(surfaces.user, f"sequence {seed}").id
        sequences.append(Sequence(surfaces, dataset, seed, random.Random(seed)))
    for step in range(1, STEPS + 1):
        for each in sequences:
            each.step()
        if step % FOLLOWED == 0 or step == STEPS:
            catch_up(surfaces.braid)
            for each in sequences[step % LOOKED_AT :: LOOKED_AT] if step < STEPS else sequences:
                each.require_equal()
