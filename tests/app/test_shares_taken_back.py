"""Random worlds: whoever loses a group, or a dataset that its owner shared, sees its text on no surface, and again when
they get it back.
"""

from __future__ import annotations

import random
from collections.abc import Mapping

import httpx
import pytest
from flask import Flask
from flask.testing import FlaskClient

from braid.config.settings import Settings
from braid.core.braid import Braid
from braid.core.datasets.shares import Share
from tests.web import add_user, bearer, make_app, post_form, serving, sign_in, site_of, text_of
from tests.worlds import WAIT_S, document

GROUPS = ("red", "green", "blue")
SHARED = ("north", "south", "east", "west")
LENT = ("attic", "cellar")
"""Of another user, who shares them and takes them back."""
VAULTS = (*SHARED, *LENT)
QUESTION = "What is the code of the vault?"
WORLDS = 4


class Town:
    """A user with groups that change, shared datasets of groups that change, and what was stored before."""

    def __init__(self, braid: Braid, app: Flask, chance: random.Random) -> None:
        self.app, self.registry, self.ledger, self._chance = app, braid.registry, braid.ledger, chance
        self.keeper = add_user(app, "kim")
        self.user = add_user(app, "ann", groups=GROUPS)
        self.datasets: dict[str, int] = {}
        self.open: dict[str, bool] = dict.fromkeys(VAULTS, True)
        self.shares, owner = braid.shares, add_user(app, "ben", groups=GROUPS)
        for vault in LENT:
            self.datasets[vault] = braid.ledger.add_dataset(owner.id, f"vault {vault}").id
            self.lend(vault, "user")
        for vault in SHARED:
            shared = braid.registry.add(f"vault {vault}", "shared_vaults", allowed_groups=GROUPS).id
            self.datasets[vault] = shared
        braid.mirror_registry()
        for vault, shared in self.datasets.items():
            text = f"The code of the vault {vault} is {code(vault)}."
            braid.ledger.put_document(shared, document(f"{code(vault)}.md", text, title=f"Vault {code(vault)}"))
        assert braid.indexer.wait(WAIT_S)

    def lend(self, vault: str, how: str, group: str = "") -> None:
        """Share one of the other user's with the user, or with a group, which has a member."""
        site_of(self.app).accounts.set_groups(self.keeper.id, GROUPS)
        share = Share("user", "ann") if how == "user" else Share("group", group, may_write=True)
        self.shares.put(self.ledger.dataset(self.datasets[vault]), share, by="ben")

    def change(self) -> None:
        """Give the user other groups, and the datasets other groups and states."""
        mine = set(self._chance.sample(GROUPS, self._chance.randrange(len(GROUPS))))
        site_of(self.app).accounts.set_groups(self.user.id, mine)
        for vault in LENT:
            dataset = self.ledger.dataset(self.datasets[vault])
            for share in self.shares.of(dataset):
                self.shares.remove(dataset, share.kind, share.name, by="ben")
            how = self._chance.choice(("", "user", "group"))
            group = self._chance.choice(GROUPS)
            if how:
                self.lend(vault, how, group)
            self.open[vault] = how == "user" or (how == "group" and group in mine)
        for vault in SHARED:
            shared, groups = self.datasets[vault], self._chance.sample(GROUPS, self._chance.randint(1, 2))
            enabled = self._chance.random() < 0.8
            self.registry.update(shared, allowed_groups=groups, enabled=enabled)
            self.open[vault] = enabled and bool(mine & set(groups))


def code(vault: str) -> str:
    return f"{vault}-4711"


class Surfaces:
    """Everything that gives out stored answers or passages."""

    def __init__(self, town: Town, client: FlaskClient, agent: httpx.Client) -> None:
        self._town, self._client, self._agent = town, client, agent
        self._key = bearer(town.app, town.user, "read", "write")
        asked = post_form(client, "/chat/messages", text=QUESTION, d="all")
        self._page = asked.headers["location"].partition("#")[0]
        self._api = f"/api/v1/conversations/{self._page.rpartition('/')[2]}"
        self._conversation = int(self._page.rpartition("/")[2])
        self._stored = self._post("/api/v1/conversations", title="").json()["id"]
        self._link = self._link_of_another()

    def _link_of_another(self) -> str:
        """The link of a conversation whose owner could read everything."""
        other, here = sign_in(self._town.app, "ben"), site_of(self._town.app)
        asked = post_form(other, "/chat/messages", text=QUESTION, d="all")
        number = int(asked.headers["location"].partition("#")[0].rpartition("/")[2])
        return here.conversations.links.share(here.shares.user_named("ben"), number)

    def read(self) -> dict[str, str]:
        """The text of each surface."""
        here, user, own = site_of(self._town.app), self._town.user.id, f"/api/v1/conversations/{self._stored}"
        pages = {
            "page": self._page,
            "how": f"{self._page}/messages/2/how",
            "list": "/chat/conversations?find=vault+4711",
            "markdown": f"{self._page}/export.md",
            "json": f"{self._page}/export.json",
            "search": f"/search?q={QUESTION}&d=all",
            "link": f"/chat/shared/{self._link}",
        }
        api = {
            "api": self._api,
            "api, stored": own,
            "api, markdown": f"{self._api}/export?format=md",
            "api, json": f"{self._api}/export?format=json",
            "api, link": f"/api/v1/shared-conversations/{self._link}",
        }
        asked = {"message": QUESTION, "dataset_ids": "all"}
        chat = {"model": "braid:all", "messages": [{"role": "user", "content": QUESTION}]}
        found = {
            "api, search": self._post("/api/v1/search", query=QUESTION, dataset_ids="all"),
            "api, replayed": self._post("/api/v1/chat", key="one", **asked),
            "api, replayed turn": self._post(f"{own}/messages", key="two", **asked),
            "v1": self._post("/v1/chat/completions", **chat),
            "dify": self._post("/dify/retrieval", knowledge_id="all", query=QUESTION, retrieval_setting={"top_k": 50}),
            "mcp": self._mcp(),
        }
        return {
            **{name: text_of(self._client.get(path).text) for name, path in pages.items()},
            **{name: self._agent.get(path, headers=self._key).text for name, path in api.items()},
            **{name: response.text for name, response in found.items()},
            "the next prompt": repr(here.conversations.history(user, self._conversation)),
        }

    def _post(self, path: str, key: str = "", **body: object) -> httpx.Response:
        headers = {**self._key, **({"Idempotency-Key": key} if key else {})}
        return self._agent.post(path, json=body, headers=headers)

    def _mcp(self) -> httpx.Response:
        call = {"name": "search", "arguments": {"query": QUESTION}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        accepted = {"Accept": "application/json, text/event-stream"}
        return self._agent.post("/mcp/connector", json=message, headers={**self._key, **accepted})


@pytest.fixture
def town(braid: Braid) -> Town:
    app = make_app(braid, Settings(api_rate_limit="100000/second"))
    return Town(braid, app, random.Random(4))


def shown(surfaces: Mapping[str, str], vault: str) -> set[str]:
    """The surfaces that have the code of this vault, of the text, of the title or of the source."""
    return {name for name, text in surfaces.items() if code(vault) in text}


def test_what_somebody_may_no_longer_read_is_on_no_surface(town: Town) -> None:
    with serving(town.app) as url, httpx.Client(base_url=url, timeout=WAIT_S) as agent:
        surfaces = Surfaces(town, sign_in(town.app, "ann"), agent)
        before = surfaces.read()
        everywhere = set().union(*(shown(before, vault) for vault in VAULTS))
        assert everywhere == before.keys(), "each surface can show something"
        seen = {True: 0, False: 0}
        for _ in range(WORLDS):
            town.change()
            now = surfaces.read()
            for vault, is_open in town.open.items():
                where = shown(now, vault)
                seen[is_open] += 1
                assert is_open or not where, (vault, where)
                if is_open:
                    assert where, vault
        assert seen[True] > 2
        assert seen[False] > 2
