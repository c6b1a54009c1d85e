"""Random worlds: whoever loses a group, a dataset or a document sees its text on no surface, also where a tab was open
or an answer was being written meanwhile; and again when they get it back.
"""

from __future__ import annotations

import io
import random
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from flask import Flask
from flask.testing import FlaskClient

from braid.app.mcp.documents import shown_id
from braid.app.user.archive import archive
from braid.config.settings import Settings
from braid.core.braid import Braid
from braid.core.chat import conversation
from braid.core.datasets.assistants import Assistant
from braid.core.datasets.shares import Share
from tests.app.oauth.apps import App
from tests.app.web.test_withheld_streams import QUESTION, Streams, sent
from tests.databases import DATABASES
from tests.fakes import HashEmbeddings
from tests.model_server import ModelServer, model_server
from tests.modes import mostly_long
from tests.web import add_user, bearer, make_app, post_form, serving, sign_in, site_of, text_of
from tests.worlds import WAIT_S, catch_up, document

GROUPS = ("red", "green", "blue")
VAULTS = ("north", "south", "east", "west", "middle", "upper")
LOSSES = ("", "document", "dataset", "")
"""What is deleted in each world, beside the groups that change."""
BEGIN = "This is what the papers of the house say:"
"""What the model writes before anything that it has read."""


class Town:
    """A user with groups that change, shared datasets of groups that change or that are deleted, and what of it the
    user may read: noted as it happens, and never read back from what is tested.
    """

    def __init__(self, braid: Braid, app: Flask, chance: random.Random) -> None:
        self.app, self._braid, self._chance = app, braid, chance
        self.user = add_user(app, "ann", groups=GROUPS)
        self.key = bearer(app, self.user, "read", "write")
        self.datasets: dict[str, int] = {}
        """Those that are there."""
        self.open: dict[str, bool] = dict.fromkeys(VAULTS, True)
        self.empty: set[str] = set()
        """Vaults whose document is deleted: what was quoted from it before is part of the answers."""
        self.chunks: list[str] = []
        self.documents: list[str] = []
        """Ids as tools of assistants have them."""
        self._losses, self._lendings = list(LOSSES), [True, False] * 2
        chance.shuffle(self._losses)
        for vault in VAULTS:
            self.datasets[vault] = braid.registry.add(f"vault {vault}", "shared_vaults", allowed_groups=GROUPS).id
        braid.mirror_registry()
        for vault, shared in self.datasets.items():
            text = f"The code of the vault {vault} is {code(vault)}."
            put = braid.ledger.put_document(shared, document(f"{code(vault)}.md", text, title=f"Vault {code(vault)}"))
            self.documents.append(shown_id(put.document_id))
            self.chunks += [each.chunk_id for each in braid.ledger.document_passages(put.document_id, [shared])]
        ben = add_user(app, "ben", groups=GROUPS)
        made = Assistant("Keeper", tuple(self.datasets.values()), instruction=SECRET)
        self.assistant = site_of(app).assistants.add(ben.id, made)
        self.lends = False
        """Whether the other user's assistant over all vaults is shared with the user."""
        self.lend(True)
        catch_up(braid)

    def lend(self, is_lent: bool) -> None:
        """Share the assistant with the user, or take it back."""
        if is_lent and not self.lends:
            self._braid.shares.put(self.assistant, Share("user", "ann"), by="ben")
        elif self.lends and not is_lent:
            self._braid.shares.remove(self.assistant, "user", "ann", by="ben")
        self.lends = is_lent

    def give_back(self) -> None:
        """Let the user read all that is there."""
        site_of(self.app).accounts.set_groups(self.user.id, set(GROUPS))
        self.lend(True)
        for vault, shared in self.datasets.items():
            self._braid.registry.update(shared, allowed_groups=GROUPS, enabled=True)
            self.open[vault] = True

    def change(self) -> None:
        """Give the user other groups, the datasets other groups and states, and delete a dataset or a document; lend or
        take back the assistant.
        """
        self.lend(self._lendings.pop())
        mine = set(self._chance.sample(GROUPS, self._chance.randrange(len(GROUPS))))
        site_of(self.app).accounts.set_groups(self.user.id, mine)
        for vault, shared in self.datasets.items():
            groups = self._chance.sample(GROUPS, self._chance.randint(1, 2))
            enabled = self._chance.random() < 0.8
            self._braid.registry.update(shared, allowed_groups=groups, enabled=enabled)
            self.open[vault] = enabled and bool(mine & set(groups))
        loss, vault = self._losses.pop(), self._chance.choice(sorted(self.datasets.keys() - self.empty))
        if loss == "document":
            self._braid.ledger.remove_document(self.datasets[vault], f"{code(vault)}.md")
            self.empty.add(vault)
        elif loss == "dataset":
            self._braid.remove_dataset(self.datasets.pop(vault))
            self.open[vault] = False


@pytest.fixture(params=mostly_long(DATABASES))
def braid(request: pytest.FixtureRequest, tmp_path: Path, new_database_url: Callable[[str], str]) -> Iterator[Braid]:
    """An open, empty data directory, on both databases."""
    with Braid(
        tmp_path / "data", database_url=new_database_url(request.param), embedding_model=HashEmbeddings()
    ) as opened:
        yield opened


def code(vault: str) -> str:
    return f"{vault}-4711"


CODES = re.compile("|".join(map(code, VAULTS)))
PASSAGE = re.compile(r'mark="(\[p-[0-9a-f]{4}:\d+\])"[^>]*>\n(.*?)\n</passage', re.DOTALL)


def repeat(messages: Sequence[tuple[str, str]]) -> str:
    """What the model writes: behind a line that is nobody's, each code that it has read, in a line with its mark."""
    read = [(code, mark) for mark, text in PASSAGE.findall(messages[-1][1]) for code in CODES.findall(text)]
    return "\n\n".join([BEGIN, *(f"It is {code} {mark}." for code, mark in read)])


class Surfaces:
    """Everything that gives out stored answers or passages."""

    def __init__(self, town: Town, client: FlaskClient, agent: httpx.Client) -> None:
        self._town, self._client, self._agent = town, client, agent
        asked = post_form(client, "/chat/messages", text=QUESTION, d="all")
        self._page = asked.headers["location"].partition("#")[0]
        self._link = self._link_of_another()
        datasets = list(town.datasets.values())
        self._app = {"Authorization": f"Bearer {App(town.app).connect(client, *datasets)['access_token']}"}
        self._stored = self._post("/api/v1/conversations", title="").json()["id"]

    def _link_of_another(self) -> str:
        """The link of a conversation whose owner could read everything."""
        here = site_of(self._town.app)
        asked = post_form(sign_in(self._town.app, "ben"), "/chat/messages", text=QUESTION, d="all")
        number = int(asked.headers["location"].partition("#")[0].rpartition("/")[2])
        return here.conversations.links.share(here.shares.user_named("ben"), number)

    def stored(self) -> dict[str, str]:
        """The text of each surface that gives out what was answered before."""
        here, user = site_of(self._town.app), self._town.user.id
        asked = {"message": QUESTION, "dataset_ids": "all"}
        turn = f"/api/v1/conversations/{self._stored}/messages"
        found = {
            "list": text_of(self._client.get("/chat/conversations?find=vault+4711").text),
            "palette, conversations": self._client.get("/palette.json?q=4711").text,
            "api, replayed": self._post("/api/v1/chat", key="one", **asked).text,
            "api, replayed turn": self._post(turn, key="two", **asked).text,
            "link": text_of(self._client.get(f"/chat/shared/{self._link}").text),
            "api, link": self._agent.get(f"/api/v1/shared-conversations/{self._link}", headers=self._town.key).text,
            "archive": in_archive(archive(here.braid, user)),
        }
        for each in here.conversations.all(user):
            page, api = f"/chat/{each.id}", f"/api/v1/conversations/{each.id}"
            answers = here.conversations.path(user, each.id)[1::2]
            parts = (
                "",
                "/export.md",
                "/export.json",
                "/print",
                *(f"/messages/{id_}/{part}" for id_ in answers for part in PARTS),
            )
            found |= {f"{page}{part}": text_of(self._client.get(f"{page}{part}").text) for part in parts}
            for path in (api, f"{api}/export?format=md", f"{api}/export?format=json"):
                found[path] = self._agent.get(path, headers=self._town.key).text
            found[f"{page}, next prompt"] = repr(here.conversations.history(user, each.id))
        return found

    def found(self) -> dict[str, str]:
        """The text of each surface that gives out what is found now."""
        chat = {"model": "braid:all", "messages": [{"role": "user", "content": QUESTION}]}
        ask, number = f"q={QUESTION}&d=all", self._town.assistant.id
        pages = {
            "search": f"/search?{ask}",
            "comparison": f"/search/compare?{ask}",
            "documents by name": "/search/documents.json?name=4711",
            "why not": "/search/why-not?name=4711",
        }
        posts = {
            "api, search": self._post("/api/v1/search", query=QUESTION, dataset_ids="all"),
            "api, chat": self._post("/api/v1/chat", message=QUESTION, dataset_ids="all"),
            "v1": self._post("/v1/chat/completions", **chat),
            "v1, responses": self._post("/v1/responses", model="braid:all", input=QUESTION),
            "dify": self._post("/dify/retrieval", knowledge_id="all", query=QUESTION, retrieval_setting={"top_k": 50}),
            "mcp, connector": self._mcp("/mcp/connector", "search", query=QUESTION),
            "mcp, search": self._mcp("/mcp", "search", query=QUESTION, top_k=50, dataset_ids="all"),
            "mcp, exact": self._mcp("/mcp", "find_exact", text="4711"),
            "mcp, by path": self._mcp("/mcp", "get_documents_by_prefix", prefix=""),
            "app, search": self._post("/api/v1/search", by=self._app, query=QUESTION, dataset_ids="all"),
            "app, v1": self._post("/v1/chat/completions", by=self._app, **chat),
            "app, mcp": self._mcp("/mcp/connector", "search", by=self._app, query=QUESTION),
            "assistant, api": self._post("/api/v1/chat", message=QUESTION, assistant=number),
            "assistant, v1": self._post("/v1/chat/completions", **{**chat, "model": f"braid:assistant:{number}"}),
            "assistant, mcp": self._mcp(f"/mcp/assistants/{number}", "search", query=QUESTION),
            "assistant, app": self._mcp(f"/mcp/assistants/{number}", "search", by=self._app, query=QUESTION),
        }
        each = {
            "mcp, fetch": [self._mcp("/mcp/connector", "fetch", id=id_) for id_ in self._town.documents],
            "datasets": [self._client.get(f"/datasets/{id_}") for id_ in self._town.datasets.values()],
            "api, documents": [
                self._agent.get(f"/api/v1/datasets/{id_}/documents", headers=self._town.key)
                for id_ in self._town.datasets.values()
            ],
        }
        read = (self._mcp("/mcp", "read_document", filepath=f"{code(vault)}.md").text for vault in VAULTS)
        passages = (self._client.get(f"/documents/passage/{chunk}").text for chunk in self._town.chunks)
        return {
            **{name: text_of(self._client.get(path).text) for name, path in pages.items()},
            **{name: response.text for name, response in posts.items()},
            **{name: " ".join(response.text for response in responses) for name, responses in each.items()},
            "mcp, read": re.sub(rf"({CODES.pattern})\.md", "", " ".join(read)),  # which is what was asked for
            "passages": text_of(" ".join(passages)),
        }

    def of_assistant(self) -> str:
        """What is said of the assistant, and what its page answers to a question."""
        number, headers = self._town.assistant.id, self._town.key
        asked = post_form(self._client, "/chat/messages", text=QUESTION, assistant=number)
        pages = (f"/assistants/{number}", "/assistants", f"/chat?assistant={number}", asked.headers.get("location", ""))
        paths = (
            "/api/v1/assistants",
            f"/api/v1/assistants/{number}",
            "/v1/models",
            f"/v1/models/braid:assistant:{number}",
        )
        shown = [asked.text, *(self._client.get(path).text for path in pages if path)]
        return "".join([*shown, *(self._agent.get(path, headers=headers).text for path in paths)])

    def _post(self, path: str, key: str = "", by: Mapping[str, str] | None = None, **body: object) -> httpx.Response:
        headers = {**(by or self._town.key), **({"Idempotency-Key": key} if key else {})}
        return self._agent.post(path, json=body, headers=headers)

    def _mcp(self, path: str, tool: str, by: Mapping[str, str] | None = None, **arguments: object) -> httpx.Response:
        call = {"name": tool, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        headers = {**(by or self._town.key), "Accept": "application/json, text/event-stream"}
        return self._agent.post(path, json=message, headers=headers)


def in_archive(pieces: Iterator[bytes]) -> str:
    """The text of everything in an export of a user."""
    with zipfile.ZipFile(io.BytesIO(b"".join(pieces))) as packed:
        return "".join(packed.read(name).decode() for name in packed.namelist())


PARTS = ("how", "next", "events")
QUOTING = {"v1", "v1, responses", "app, v1", "assistant, v1"}
SECRET = "Answer like a keeper of secrets."
"""Without a model these have some of what is found, not all."""


def with_code(surfaces: Mapping[str, str], vault: str) -> set[str]:
    """The surfaces that have the code of this vault, of the text, of the title or of the source."""
    return {name for name, text in surfaces.items() if code(vault) in text}


def check(town: Town, surfaces: Surfaces) -> None:
    """Nothing gives out what the user may not read, and what the user may read is found."""
    stored, found = surfaces.stored(), surfaces.found()
    of_assistant = {name for name in found if name.startswith("assistant, ")}
    said = surfaces.of_assistant()
    assert SECRET not in said
    assert ("Keeper" in said) == town.lends
    taken = set() if town.lends else of_assistant
    for name in taken:
        assert not CODES.search(found[name]), name
    for vault, is_open in town.open.items():
        before, now = with_code(stored, vault), with_code(found, vault)
        if is_open and vault not in town.empty:
            assert before, vault
            assert found.keys() - now - taken <= QUOTING, vault
        else:
            assert not now, vault
            assert code(vault) not in said, vault
            assert is_open or f"vault {vault}" not in said, vault
            assert is_open or not before, vault


@contextmanager
def opened(braid: Braid, settings: Settings) -> Iterator[tuple[Town, Surfaces, httpx.Client]]:
    """A town that is served, and a tab that is open in it."""
    town = Town(braid, make_app(braid, settings), random.Random(4))
    with serving(town.app) as url, httpx.Client(base_url=url, timeout=WAIT_S) as agent:
        yield town, Surfaces(town, sign_in(town.app, "ann"), agent), agent


def test_what_somebody_may_no_longer_read_is_on_no_surface(braid: Braid) -> None:
    with opened(braid, Settings(api_rate_limit="100000/second")) as (town, surfaces, _):
        everything = {**surfaces.stored(), **surfaces.found()}
        assert {vault for vault in VAULTS if with_code(everything, vault)} == set(VAULTS)
        states = []
        for _ in LOSSES:
            town.change()
            states += town.open.values()
            check(town, surfaces)
        assert min(states.count(True), states.count(False)) > 2
        town.give_back()
        check(town, surfaces)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    monkeypatch.setattr(conversation, "LOOK_EVERY_S", 0.0)
    with model_server(repeat) as server:
        yield server
        server.go_on.set()


def test_an_answer_that_is_being_written_has_nothing_of_what_is_lost_meanwhile(
    braid: Braid, model: ModelServer
) -> None:
    roles: dict[str, Any] = {
        f"summary_model{part}": value
        for part, value in (("", "openai:search-model"), ("_base_url", model.url), ("_api_key", "secret-key"))
    }
    with opened(braid, Settings(**roles, api_rate_limit="100000/second")) as (town, surfaces, agent):
        for _ in LOSSES:
            town.give_back()
            asked = dict(town.datasets)
            model.pause_after, begun = 1, ExitStack()
            with begun:
                streams = Streams(agent, begun, town.key, list(asked.values()), "papers")
                town.change()
                model.go_on.set()
                rests = {name: sent(parts) for name, parts in streams.parts.items()}
            model.pause_after = 0
            model.go_on.clear()
            lost = [vault for vault in asked if not town.open[vault]]
            assert lost
            for name, rest in rests.items():
                assert not CODES.search(rest), name
                assert "may no longer read" in rest, name
            check(town, surfaces)
