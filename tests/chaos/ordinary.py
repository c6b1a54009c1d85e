"""One user's program that does everything that the API and the account's pages offer, and remembers what is there."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import httpx

from tests.chaos.oracle import Client
from tests.chaos.server import PASSWORD

JOB_S = 300.0
KEPT = 3
"""Datasets, conversations and tokens that a client keeps at most; further ones are removed again."""


class Ordinary(Client):
    """Beside documents: datasets, conversations, tokens, exports and imports that come and go.

    Each is used by its own client alone, so what is listed at the end must be exactly what was not removed.
    """

    def sign_in(self, user: str, url: str) -> None:
        """Open a browser, for tokens."""
        self._browser = httpx.Client(base_url=url, timeout=30, follow_redirects=True)
        form = {"name": user, "password": PASSWORD, "csrf_token": _form_token(self._browser.get("/login").text)}
        self._browser.post("/login", data=form).raise_for_status()
        self._datasets, self._tokens, self._named = {self.dataset}, set[str](), 0

    def act(self) -> None:
        """One operation of any kind."""
        if self.dice.random() < 0.6:
            super().act()
            return
        often = (self._overtake, self._dataset, self._conversation, self._token, self._look, self._find, self._rate)
        try:
            self.dice.choice((*often * 6, self._copy))()
        except httpx.HTTPError:
            time.sleep(0.2)  # counted, and the others go on

    # ------------------------------------------------------------ writes

    def _overtake(self) -> None:
        """An upload, and a later request for the same document before it may have been read: the later one wins."""
        source, path = f"file{len(self.documents)}.md", f"/datasets/{self.dataset}/documents"
        first, last = self._text(), self._text()
        self.documents[source] = {None, first, last}
        self.unread.add(source)
        put = self.ask("put", "PUT", path, json={"source": source, "text": first}).json()
        self.ask("upload", "POST", path, files={"file": (source, self._text().encode())})
        later = self.dice.choice(("put", "upload", "delete"))
        if later == "put":
            self.ask("put", "PUT", path, json={"source": source, "text": last})
        elif later == "upload":
            self.ask("upload", "POST", path, files={"file": (source, last.encode())})
        else:
            self.ask("delete", "DELETE", f"{path}/{put['id']}")
        self.documents[source] = {None if later == "delete" else last}

    def _dataset(self) -> None:
        made = self.ask("dataset", "POST", "/datasets", json={"name": f"{self.name} passing"}).json()["id"]
        self._datasets.add(made)
        self.ask("dataset rename", "PATCH", f"/datasets/{made}", json={"name": "renamed"})
        if len(self._datasets) > KEPT:
            self._remove_dataset(made)

    def _remove_dataset(self, number: int) -> None:
        self.ask("dataset delete", "DELETE", f"/datasets/{number}")
        self._datasets.remove(number)

    def _conversation(self) -> None:
        made = self.ask("conversation", "POST", "/conversations", json={"title": "passing"}).json()["id"]
        question = {"message": "Where is the paper?", "dataset_ids": [self.dataset]}
        self.ask("message", "POST", f"/conversations/{made}/messages", json=question)
        answer = self.ask("conversation read", "GET", f"/conversations/{made}").json()["messages"][-1]["id"]
        self.ask("thumb", "PUT", f"/conversations/{made}/messages/{answer}/thumb", json={"kind": "up"})
        self.ask("conversation rename", "PATCH", f"/conversations/{made}", json={"title": "renamed"})
        self.ask("conversation export", "GET", f"/conversations/{made}/export")
        self.ask("conversation delete", "DELETE", f"/conversations/{made}")

    def _token(self) -> None:
        self._named += 1
        form = {"name": f"token{self._named}", "scope": ["read"], "days": "7"}
        page = self._page("token", "POST", "/account/tokens", form)
        found = re.search(r"braid_[\w-]{30,}", page)
        assert found is not None
        key = {"Authorization": f"Bearer {found[0]}"}
        self.ask("token used", "GET", "/me", headers=key)
        self._tokens.add(form["name"])  # type: ignore[arg-type]
        if len(self._tokens) <= KEPT:
            return
        ids = re.findall(r"/account/tokens/(\d+)/revoke", page)
        self._page("token revoke", "POST", f"/account/tokens/{max(ids, key=int)}/revoke", {})
        self._tokens.remove(form["name"])  # type: ignore[arg-type]
        if self._http.get("/me", headers=key).status_code != 401:
            self.figures.ghosts.append(f"{self.name}: a revoked token is taken")

    def _rate(self) -> None:
        hits = self._search("hybrid")
        if hits:
            ids = [hit["passage"]["chunk_id"] for hit in hits]
            rated = {"kind": "up", "chunk_id": ids[0], "query": "paper", "dataset_ids": [self.dataset], "ranking": ids}
            self.ask("feedback", "POST", "/feedback", json=rated)

    def _copy(self) -> None:
        """Export the dataset, import it, and remove the copy."""
        job = self.ask("export", "POST", f"/datasets/{self.dataset}/exports").json()["id"]
        if not self._is_done(job):
            return
        exported = self.ask("export read", "GET", f"/datasets/{self.dataset}/exports/{job}").content
        made = self.ask("import", "POST", "/imports", files={"file": ("copy.zip", exported)}).json()
        self._datasets.add(made["dataset_id"])
        self._is_done(made["id"])
        self._remove_dataset(made["dataset_id"])

    def _is_done(self, number: int) -> bool:
        until = time.monotonic() + JOB_S
        while time.monotonic() < until:
            job = self.ask("job", "GET", f"/jobs/{number}").json()
            if job["state"] not in ("queued", "running"):
                break
            time.sleep(0.2)
        if job["state"] != "done":
            with self.figures.lock:
                self.figures.errors[f"{job['kind']}: {job['state']} {job['error']}"] += 1
        return bool(job["state"] == "done")

    # ------------------------------------------------------------ reads

    def _look(self) -> None:
        for path in ("/me", "/datasets", "/jobs", "/conversations", "/feedback"):
            self.ask(f"get {path}", "GET", path)
        self.ask("get statistics", "GET", f"/datasets/{self.dataset}/statistics")
        documents = f"/datasets/{self.dataset}/documents"
        for found in self.ask("list", "GET", documents, params={"limit": 1}).json()["items"]:
            self.ask("document", "GET", f"{documents}/{found['id']}")
            self.ask("passages", "GET", f"{documents}/{found['id']}/passages")

    def _find(self) -> None:
        for hit in self._search("semantic")[:1]:
            asked = {"query": "paper", "chunk_id": hit["passage"]["chunk_id"], "dataset_ids": [self.dataset]}
            self.ask("explain", "POST", "/explain", json=asked)

    def _search(self, mode: str) -> list[dict[str, Any]]:
        answer = self.ask(f"search {mode}", "POST", "/search", json=self.query("paper", mode)).json()
        hits: list[dict[str, Any]] = answer["hits"]
        return hits

    # ------------------------------------------------------------ pages and checks

    def _page(self, kind: str, method: str, path: str, form: dict[str, Any]) -> str:
        """Send a form as the browser."""
        form["csrf_token"] = _form_token(self._browser.get("/account").text)
        self._http, bearer = self._browser, self._http
        try:
            return self.ask(kind, method, path, data=form).text
        finally:
            self._http = bearer

    def check(self) -> None:
        """Also what comes and goes: listed are those that were not removed, each once."""
        super().check()
        lists: tuple[tuple[str, set[Any], Callable[[], list[Any]]], ...] = (
            ("dataset", self._datasets, lambda: self._ids("/datasets")),
            ("conversation", set(self.conversations), lambda: self._ids("/conversations")),
            ("token", self._tokens, lambda: re.findall(r">(token\d+) <span", self._browser.get("/account").text)),
        )
        for kind, kept, read in lists:
            listed = read()
            with self.figures.lock:
                self.figures.lost += [f"{self.name}: {kind} {each}" for each in kept - set(listed)]
                self.figures.ghosts += [f"{self.name}: {kind} {each}" for each in set(listed) - kept]
                self.figures.doubled += [f"{self.name}: {kind} {each}" for each in kept if listed.count(each) > 1]

    def _ids(self, path: str) -> list[Any]:
        items = self.ask(f"get {path}", "GET", path, params={"limit": 200}).json()["items"]
        return [each["id"] for each in items if each["id"] > 0]


def _form_token(page: str) -> str:
    found = re.search(r'name="csrf[-_]token" (?:content|value)="([^"]+)"', page)
    assert found is not None
    return found[1]
