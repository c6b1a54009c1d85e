"""Random worlds of several people: groups, shares, assistants, tokens, connected apps and links come and go between
requests on all surfaces, now and then on every address that is read, and what each of them may read is noted outside.
Nothing else comes out, and what may be read does.

`tests/app/test_withheld.py` has tabs and answers that are open while access is lost.
"""

from __future__ import annotations

import io
import random
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from flask import Flask
from flask.testing import FlaskClient
from pypdfium2 import PdfDocument

from braid.app.mcp.documents import shown_id
from braid.app.user.archive import archive
from braid.config.settings import Settings
from braid.core.accounts.accounts import Account
from braid.core.accounts.transfer import transfer_datasets
from braid.core.datasets.assistants import Assistant
from braid.core.datasets.glossary import Glossaries
from braid.core.datasets.shares import Share
from braid.core.text.terms import Term
from tests.app.oauth.apps import App
from tests.app.test_withheld import in_archive
from tests.databases import DATABASES
from tests.fakes import HashEmbeddings
from tests.web import add_user, bearer, make_app, post_form, serving, sign_in, site_of, text_of
from tests.worlds import WAIT_S, ByHand, catch_up, document

GROUPS = ("red", "green", "blue")
PEOPLE = ("ann", "ben", "cho")
SHARED = ("north", "south", "east")
OWN = {"attic": "ann", "cellar": "ben", "shed": "cho"}
VAULTS = (*SHARED, *OWN)
QUESTION = "What is the code of the vault?"
SHORT, LONG = 1_000, 20_000
"""Assertions of a run."""
SWEEP_EVERY = 6
"""Of how many changes one is followed by a look at every address."""


def code(vault: str) -> str:
    return f"{vault}-4711"


@dataclass
class Person:
    """What somebody has in hand, and what of it counts."""

    account: Account
    groups: set[str]
    browser: FlaskClient
    app: App
    key: Mapping[str, str] = field(default_factory=dict)
    is_key_good: bool = True
    app_key: Mapping[str, str] = field(default_factory=dict)
    picked: set[str] = field(default_factory=set)
    """The vaults that the connected app was let into."""
    refresh_token: str = ""
    asked: int = 0
    """Their newest conversation."""
    link: str = ""
    is_link_good: bool = False
    is_in: bool = True
    """Whether they may sign in."""


class Town:
    """The truth: noted as it happens, and never read back from what is tested."""

    def __init__(self, braid: ByHand, app: Flask, chance: random.Random) -> None:
        self.braid, self.app, self._chance = braid, app, chance
        self.here = site_of(app)
        add_user(app, "kim", groups=GROUPS)  # so that each group has a member
        self.people = {
            name: Person(add_user(app, name, groups=GROUPS), set(GROUPS), sign_in(app, name), App(app))
            for name in PEOPLE
        }
        self.owner = dict(OWN)
        self.lent: dict[str, set[tuple[str, str]]] = {vault: set() for vault in OWN}
        self.open_to: dict[str, set[str]] = {vault: set(GROUPS) for vault in SHARED}
        """The groups of the shared datasets; nobody's where one is switched off."""
        self.ids: dict[str, int] = {}
        for vault in SHARED:
            self.ids[vault] = braid.registry.add(f"Vault {code(vault)}", "shared_vaults", allowed_groups=GROUPS).id
        for vault, owner in OWN.items():
            self.ids[vault] = braid.ledger.add_dataset(self.people[owner].account.id, f"Vault {code(vault)}").id
        braid.mirror_registry()
        self.documents: list[str] = []
        self.chunks: list[str] = []
        self.places: list[tuple[int, int]] = []
        """Dataset and document."""
        self.assistants: list[int] = []
        glossaries = Glossaries(braid.ledger.database)
        for vault, dataset in self.ids.items():
            text = f"The code of the vault {vault} is {code(vault)}."
            put = braid.ledger.put_document(dataset, document(f"{code(vault)}.md", text, title=f"Vault {code(vault)}"))
            glossaries.put(dataset, [Term("code", f"{code(vault)} key")])
            self.places.append((dataset, put.document_id))
            self.documents.append(shown_id(put.document_id))
            self.chunks += [each.chunk_id for each in braid.ledger.document_passages(put.document_id, [dataset])]
        catch_up(braid)
        for person in self.people.values():
            self._new_key(person)
            self._connect(person)
            self._ask(person)
            self._link(person)
            self._assist(person)

    def may_read(self, name: str, vault: str) -> bool:
        person = self.people[name]
        if not person.is_in:
            return False
        if vault in SHARED:
            return bool(person.groups & self.open_to[vault])
        whom = {("user", name), *(("group", group) for group in person.groups)}
        return self.owner[vault] == name or bool(whom & self.lent[vault])

    # ------------------------------------------------------------ what happens

    def change(self) -> str:
        """Let one thing happen, and say what."""
        name = self._chance.choice(PEOPLE)
        person = self.people[name]
        acts: list[Callable[[Person], None]] = [
            self._regroup,
            self._reopen,
            self._lend,
            self._lend,
            self._take_back,
            self._hand_over,
            self._new_key,
            self._end_key,
            self._connect,
            self._refresh,
            self._disconnect,
            self._ask,
            self._link,
            self._end_link,
            self._suspend,
            self._assist,
        ]
        if not person.is_in:
            self._let_in(person)
            return f"{name}: _let_in"
        act = self._chance.choice(acts)
        act(person)
        return f"{name}: {act.__name__}"

    def _regroup(self, person: Person) -> None:
        person.groups = set(self._chance.sample(GROUPS, self._chance.randint(0, 2)))
        self.here.accounts.set_groups(person.account.id, person.groups)

    def _reopen(self, _person: Person) -> None:
        vault, groups = self._chance.choice(SHARED), self._chance.sample(GROUPS, self._chance.randint(1, 2))
        enabled = self._chance.random() < 0.8
        self.braid.registry.update(self.ids[vault], allowed_groups=groups, enabled=enabled)
        self.open_to[vault] = set(groups) if enabled else set()

    def _lend(self, _person: Person) -> None:
        vault = self._chance.choice(list(OWN))
        others = [name for name in PEOPLE if name != self.owner[vault] and self.people[name].is_in]
        whom = self._chance.choice([("group", group) for group in GROUPS] + [("user", name) for name in others])
        share = Share(whom[0], whom[1], may_write=self._chance.random() < 0.5)  # type: ignore[arg-type]
        self.here.shares.put(self.braid.dataset(self.ids[vault]), share, by=self.owner[vault])
        self.lent[vault].add(whom)

    def _take_back(self, _person: Person) -> None:
        for vault, lent in self.lent.items():
            for kind, name in list(lent):
                self.here.shares.remove(self.braid.dataset(self.ids[vault]), kind, name, by="x")  # type: ignore[arg-type]
                lent.remove((kind, name))
                return

    def _hand_over(self, person: Person) -> None:
        """Who gives a dataset away may not read it any more, and the others with whom it is shared go on."""
        vault = self._chance.choice(list(OWN))
        old, new = self.people[self.owner[vault]], person
        if old is not new:
            transfer_datasets(self.braid.ledger, old.account.id, new.account.id, [self.ids[vault]])
            self.owner[vault] = new.account.name
            self.lent[vault].discard(("user", new.account.name))
            catch_up(self.braid)

    def _new_key(self, person: Person) -> None:
        person.key, person.is_key_good = bearer(self.app, person.account, "read", "write"), True

    def _end_key(self, person: Person) -> None:
        for token in self.here.tokens.of_user(person.account.id):
            self.here.tokens.revoke(person.account.id, token.id)
        person.is_key_good = False

    def _connect(self, person: Person) -> None:
        """Let the app into some of the vaults, also into such that the form did not offer."""
        wanted = set(self._chance.sample(VAULTS, 3))
        offered = {vault for vault in VAULTS if self.may_read(person.account.name, vault)}
        if not wanted & offered:
            return
        tokens = person.app.connect(person.browser, *(self.ids[vault] for vault in sorted(wanted)), write=True)
        person.picked, person.app_key = wanted & offered, _header(tokens["access_token"])
        person.refresh_token = tokens["refresh_token"]

    def _refresh(self, person: Person) -> None:
        if person.refresh_token:
            tokens = person.app.refresh(person.refresh_token).json
            person.app_key, person.refresh_token = _header(tokens["access_token"]), tokens["refresh_token"]  # type: ignore[index]

    def _disconnect(self, person: Person) -> None:
        for grant in self.here.connected_apps.of_user(person.account.id):
            self.here.connected_apps.disconnect(person.account.id, grant.id)
        if person.refresh_token:
            assert person.app.refresh(person.refresh_token).status_code == 400
        person.picked, person.refresh_token = set(), ""

    def _ask(self, person: Person) -> None:
        asked = post_form(person.browser, "/chat/messages", text=QUESTION, d="all")
        person.asked = int(asked.headers["location"].partition("#")[0].rpartition("/")[2])

    def _link(self, person: Person) -> None:
        person.link = self.here.conversations.links.share(person.account.id, person.asked)
        person.is_link_good = True

    def _end_link(self, person: Person) -> None:
        for conversation in self.here.conversations.all(person.account.id):
            self.here.conversations.links.end(person.account.id, conversation.id)
        person.is_link_good = False

    def _suspend(self, person: Person) -> None:
        self.here.accounts.set_disabled(person.account.id, True)
        person.is_in = False

    def _assist(self, person: Person) -> None:
        """Make an assistant over all vaults, for anybody: who uses it reads of them what they may read anyway."""
        made = Assistant(f"Keeper of {person.account.name}", tuple(self.ids.values()), shows_instruction=True)
        assistant = self.here.assistants.add(person.account.id, made)
        for group in GROUPS:
            self.here.shares.put(assistant, Share("group", group), by=person.account.name)
        self.assistants.append(assistant.id)

    def _let_in(self, person: Person) -> None:
        self.here.accounts.set_disabled(person.account.id, False)
        person.is_in, person.browser = True, sign_in(self.app, person.account.name)


def _header(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


class Surfaces:
    """Everything that gives out passages or stored answers, as one of the people asks for it."""

    def __init__(self, town: Town, agent: httpx.Client) -> None:
        self._town, self._agent = town, agent

    def pages(self, name: str) -> dict[str, str]:
        """What the browser shows."""
        town, person = self._town, self._town.people[name]
        paths = {
            "search": f"/search?q={QUESTION}&d=all&k=20",
            "did you mean": "/search?q=nrth-4711+suth-4711+eest-4711+atic-4711+cellr-4711+shd-4711&d=all",
            "comparison": f"/search/compare?q={QUESTION}&d=all",
            "documents by name": "/search/documents.json?name=4711",
            "why not": "/search/why-not?name=4711",
            "datasets": "/datasets",
            "connected apps": "/account/apps",
            "list": "/chat/conversations?find=vault+4711",
            "palette": "/palette.json?q=4711",
            **{f"dataset {vault}": f"/datasets/{id_}" for vault, id_ in town.ids.items()},
            **{f"passage {number}": f"/documents/passage/{chunk}" for number, chunk in enumerate(town.chunks)},
        }
        for conversation in town.here.conversations.all(person.account.id):
            own = f"/chat/{conversation.id}"
            answers = town.here.conversations.path(person.account.id, conversation.id)[1::2]
            paths |= {f"{own}{end}": f"{own}{end}" for end in ("", *ENDS)}
            paths |= {f"how {id_}": f"{own}/messages/{id_}/how" for id_ in answers}
        found = {what: text_of(person.browser.get(path).text) for what, path in paths.items()}
        for conversation in town.here.conversations.all(person.account.id):
            if person.is_in:
                own = f"/chat/{conversation.id}"
                found[f"word {conversation.id}"] = in_word(person.browser.get(f"{own}/export.docx").data)
                found[f"pdf {conversation.id}"] = in_pdf(person.browser.get(f"{own}/export.pdf").data)
        return found

    def links(self, name: str) -> dict[str, str]:
        """What the links of everybody show, good ones and ended ones."""
        person = self._town.people[name]
        found = {}
        for owner, other in self._town.people.items():
            page = person.browser.get(f"/chat/shared/{other.link}")
            api = self._agent.get(f"/api/v1/shared-conversations/{other.link}", headers=person.key)
            if not (other.is_link_good and other.is_in):
                assert page.status_code in (302, 404), owner
                assert api.status_code in (401, 404), owner
            found |= {f"link of {owner}": text_of(page.text), f"api, link of {owner}": api.text}
        return found

    def every_address(self, name: str) -> tuple[dict[str, str], dict[str, str]]:
        """What each address tells that is read and has no part of another kind: to a browser, and to a key."""
        person, store = self._town.people[name], self._town.here.conversations
        own = [(each.id, store.path(person.account.id, each.id)[1]) for each in store.all(person.account.id)]
        filled: dict[frozenset[str], list[dict[str, object]]] = {
            frozenset(): [{}],
            frozenset({"dataset_id"}): [{"dataset_id": id_} for id_ in self._town.ids.values()],
            frozenset({"dataset_id", "document_id"}): [
                {"dataset_id": dataset, "document_id": document} for dataset, document in self._town.places
            ],
            frozenset({"chunk_id"}): [{"chunk_id": chunk} for chunk in self._town.chunks],
            frozenset({"chunk_id", "number"}): [{"chunk_id": chunk, "number": 1} for chunk in self._town.chunks],
            frozenset({"assistant_id"}): [{"assistant_id": id_} for id_ in self._town.assistants[-3:]],
            frozenset({"conversation_id"}): [{"conversation_id": id_} for id_, _ in own],
            frozenset({"conversation_id", "message_id"}): [
                {"conversation_id": id_, "message_id": message} for id_, message in own
            ],
        }
        browser, program = dict[str, str](), dict[str, str]()
        urls = self._town.app.url_map.bind("localhost")
        for rule in self._town.app.url_map.iter_rules():
            if "GET" not in (rule.methods or ()) or rule.rule.startswith(("/oauth", "/login")):
                continue
            for values in filled.get(frozenset(rule.arguments), ()):
                path = urls.build(rule.endpoint, values)
                if path.startswith(("/api/", "/v1/")):
                    program[f"api, {path}"] = self._agent.get(path, headers=person.key).text
                elif person.is_in:
                    asked = f"{path}?q={QUESTION}&d=all&name=4711&find=4711"
                    browser[f"page, {path}"] = text_of(person.browser.get(asked).text)
        return browser, program

    def programs(self, key: Mapping[str, str]) -> dict[str, str]:
        """What a program is told that has this key."""
        chat = {"model": "braid:all", "messages": [{"role": "user", "content": QUESTION}]}
        ids = list(self._town.ids.values())
        asked = {
            "api, search": self._post(key, "/api/v1/search", query=QUESTION, dataset_ids="all", top_k=20),
            "api, search by ids": self._post(key, "/api/v1/search", query=QUESTION, dataset_ids=ids, top_k=20),
            "api, chat": self._post(key, "/api/v1/chat", message=QUESTION, dataset_ids="all"),
            "v1": self._post(key, "/v1/chat/completions", **chat),
            "v1, responses": self._post(key, "/v1/responses", model="braid:all", input=QUESTION),
            "dify": self._post(
                key, "/dify/retrieval", knowledge_id="all", query=QUESTION, retrieval_setting={"top_k": 50}
            ),
            "assistant, api": self._post(key, "/api/v1/chat", message=QUESTION, assistant=self._town.assistants[-1]),
            "assistant, mcp": self._mcp(key, f"/mcp/assistants/{self._town.assistants[-1]}", "search", query=QUESTION),
            "mcp, connector": self._mcp(key, "/mcp/connector", "search", query=QUESTION),
            "mcp, search": self._mcp(key, "/mcp", "search", query=QUESTION, top_k=50, dataset_ids="all"),
            "mcp, exact": self._mcp(key, "/mcp", "find_exact", text="4711"),
            "mcp, by path": self._mcp(key, "/mcp", "get_documents_by_prefix", prefix=""),
            "mcp, fetch": " ".join(
                self._mcp(key, "/mcp/connector", "fetch", id=document) for document in self._town.documents
            ),
            "v1, models": self._agent.get("/v1/models", headers=key).text,
            "api, datasets": self._agent.get("/api/v1/datasets", headers=key).text,
            "api, conversations": self._agent.get("/api/v1/conversations", headers=key).text,
        }
        documents = {
            f"api, documents {vault}": self._agent.get(f"/api/v1/datasets/{id_}/documents", headers=key).text
            for vault, id_ in self._town.ids.items()
        }
        return asked | documents

    def _post(self, key: Mapping[str, str], path: str, **body: object) -> str:
        return self._agent.post(path, json=body, headers=key).text

    def _mcp(self, key: Mapping[str, str], path: str, tool: str, **arguments: object) -> str:
        call = {"name": tool, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        accepted = {"Accept": "application/json, text/event-stream"}
        return self._agent.post(path, json=message, headers={**key, **accepted}).text


def in_word(document: bytes) -> str:
    """The text of a Word document and of its footnotes."""
    with zipfile.ZipFile(io.BytesIO(document)) as packed:
        return text_of("".join(packed.read(f"word/{part}.xml").decode() for part in ("document", "footnotes")))


def in_pdf(document: bytes) -> str:
    """The text of a PDF."""
    return " ".join(page.get_textpage().get_text_range() for page in PdfDocument(document))


ENDS = ("/export.md", "/export.json", "/print")
SURE = ("search", "api, search", "mcp, search", "mcp, exact", "dify", "api, datasets")
"""Surfaces on which everything is that may be read."""


def counted(surfaces: Mapping[str, str], readable: set[str], what: str) -> int:
    """Compare each surface with the truth; return how many assertions that took."""
    for vault in VAULTS:
        where = {name for name, text in surfaces.items() if code(vault) in text}
        if vault not in readable:
            assert not where, (what, vault)
        else:
            assert {name for name in SURE if name in surfaces} <= where, (what, vault)
    return len(surfaces) * len(VAULTS)


@contextmanager
def town_on(kind: str, folder: Path, new_url: Callable[[str], str]) -> Iterator[Town]:
    with ByHand(folder / "data", database_url=new_url(kind), embedding_model=HashEmbeddings()) as braid:
        settings = Settings(api_rate_limit="100000/second")
        yield Town(braid, make_app(braid, settings), random.Random(34))


@pytest.mark.parametrize("kind", DATABASES)
def test_nobody_is_shown_more_than_they_may_read(
    kind: str, tmp_path: Path, new_database_url: Callable[[str], str], is_long: bool
) -> None:
    wanted = LONG if is_long else SHORT if kind == "sqlite" else SHORT // 2
    with (
        town_on(kind, tmp_path, new_database_url) as town,
        serving(town.app) as url,
        httpx.Client(base_url=url, timeout=WAIT_S) as agent,
    ):
        done, happened, surfaces, seen = 0, list[str](), Surfaces(town, agent), set[bool]()
        while done < wanted:
            happened.append(town.change())
            # the one to whom something happened, and who else may notice
            for name in {happened[-1].partition(":")[0], PEOPLE[len(happened) % len(PEOPLE)]}:
                person, told = town.people[name], f"{name} after {happened[-12:]}"
                readable = {vault for vault in VAULTS if town.may_read(name, vault)}
                seen |= {vault in readable for vault in VAULTS}
                by_key = readable if person.is_key_good else set[str]()
                done += counted(surfaces.pages(name), readable, told)
                done += counted(surfaces.links(name), readable, told)
                done += counted(surfaces.programs(person.key), by_key, f"key of {told}")
                done += counted(surfaces.programs(person.app_key), readable & person.picked, f"app of {told}")
                if len(happened) % SWEEP_EVERY == 1:
                    by_browser, by_program = surfaces.every_address(name)
                    assert len(by_program) > 40
                    for vault in sorted(readable if person.is_in else ()):
                        terms = f"page, /datasets/{town.ids[vault]}/glossary"
                        assert code(vault) in by_browser[terms], told
                    done += counted(by_browser, readable, told)
                    done += counted(by_program, by_key, f"key of {told}")
                if person.is_in:
                    kept = {"archive": in_archive(archive(town.braid, person.account.id))}
                    done += counted(kept, readable, told)
        assert seen == {True, False}
