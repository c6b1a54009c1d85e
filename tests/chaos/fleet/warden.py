"""An administrator who grants and revokes without end: what is revoked is refused by every process at once."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable

import httpx

from tests.chaos.checks import FILLER
from tests.chaos.fleet.caller import Caller, FleetFigures
from tests.chaos.fleet.clients import form_token
from tests.chaos.fleet.machines import Person, Process
from tests.chaos.server import PASSWORD
from tests.worlds import eventually

API = "/api/v1"
READERS = "readers"
PAUSE_S = 1.0
FOUND_S = 60.0
SOUGHT = {"query": FILLER, "search_mode": "hybrid", "top_k": 3, "reranker": ""}


class Warden:
    """Works with a shared dataset, which nobody writes to later, and a user of its own, the reader."""

    def __init__(self, admin: Caller, reader: Caller, *, administrator: Person, person: Person) -> None:
        self._admin, self._reader, self._person, self._administrator = admin, reader, person, administrator
        self._figures: FleetFigures = admin.figures
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._numbers = 0
        self.handbook = 0
        self.revoked = 0
        """How often something was revoked, and each process asked."""

    def begin(self) -> None:
        """Make the shared dataset, and put a document into it that is found before this returns."""
        given = {"name": "Handbook", "collection_name": "shared_handbook", "allowed_groups": [READERS]}
        made = self._admin.ask("shared dataset", "POST", f"{API}/shared-databases", json=given)
        self.handbook = int(made.json()["id"])
        self._set_groups(self._administrator.id, [READERS])
        document = {"source": "handbook.txt", "text": f"handbookw1 {FILLER}"}
        self._admin.ask("put", "PUT", f"{API}/datasets/{self.handbook}/documents", json=document)
        eventually(self.is_whole, FOUND_S, pause_s=0.5)

    def is_whole(self) -> bool:
        """Whether each web process finds the document by both legs, and names nothing as missing."""
        return all(self._finds(web) for web in self._admin.fleet.webs)

    def _finds(self, web: Process) -> bool:
        body = {**SOUGHT, "dataset_ids": [self.handbook]}
        try:
            answer = self._admin.http.post(f"{web.url}{API}/search", json=body)
        except httpx.HTTPError:
            return False
        if answer.status_code != 200:
            return False
        found = answer.json()
        return bool(found["hits"]) and not found["degraded"] and set(found["answered"]) == {"bm25", "dense"}

    # ------------------------------------------------------------ without end

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        acts = (self.group, self.list_of_groups, self.token, self.session)
        while not self._stopping.wait(PAUSE_S):
            act = acts[self._numbers % len(acts)]
            self._numbers += 1
            try:
                act()
            except httpx.HTTPError:
                time.sleep(PAUSE_S)  # counted; what is granted now is not known, and set again by the next
            except (AssertionError, KeyError, ValueError) as error:
                self._admin.figures.add("hanging", f"the warden ended with {type(error).__name__} {error}")
                raise

    def group(self) -> None:
        """A group, and with it the shared dataset."""
        self._set_allowed([READERS])
        self._set_groups(self._person.id, [READERS])
        self._each("the group is there", self._reads, is_right=True)
        self._set_groups(self._person.id, [])
        self._each("the group was taken", self._reads, is_right=False)

    def list_of_groups(self) -> None:
        """The groups that may read a shared dataset."""
        self._set_groups(self._person.id, [READERS])
        self._set_allowed([READERS])
        self._each("the group may read it", self._reads, is_right=True)
        self._set_allowed(["others"])
        self._each("the group may not read it any more", self._reads, is_right=False)
        self._set_allowed([READERS])

    def token(self) -> None:
        """An API token."""
        browser = self.sign_in()
        csrf = form_token(browser.ask("account", "GET", "/account").text)
        form = {"name": f"token {self._numbers}", "scope": ["read"], "days": "7", "csrf_token": csrf}
        page = browser.ask("token", "POST", "/account/tokens", data=form).text
        found = re.search(r"braid_[\w-]{30,}", page)
        assert found is not None, page[:500]
        key = {"Authorization": f"Bearer {found[0]}"}
        number = max(map(int, re.findall(r"/account/tokens/(\d+)/revoke", page)))
        browser.http.cookies.clear()

        def works(web: Process) -> bool:
            path = f"{API}/me"
            return browser.ask("token used", "GET", path, at=web, expected=(401,), headers=key).status_code == 200

        self._each("the token is there", works, is_right=True)
        self._admin.ask("revoke", "DELETE", f"{API}/users/{self._person.id}/tokens/{number}")
        self._each("the token was revoked", works, is_right=False)

    def session(self) -> None:
        """The sessions of a user."""
        browser = self.sign_in()

        def works(web: Process) -> bool:
            return browser.ask("page", "GET", "/account", at=web, expected=(302,)).status_code == 200

        self._each("the browser is signed in", works, is_right=True)
        self._admin.ask("revoke", "DELETE", f"{API}/users/{self._person.id}/sessions")
        self._each("the browser was signed out", works, is_right=False)

    # ------------------------------------------------------------ steps

    def sign_in(self) -> Caller:
        """A browser in which the reader is signed in."""
        admin = self._admin
        browser = Caller(admin.fleet, admin.outages, admin.figures, key="", owners=self._reader.owners)
        token = form_token(browser.ask("sign in", "GET", "/login").text)
        form = {"name": self._person.name, "password": PASSWORD, "csrf_token": token}
        browser.ask("sign in", "POST", "/login", data=form, expected=(302,))
        return browser

    def _each(self, what: str, works: Callable[[Process], bool], *, is_right: bool) -> None:
        """Ask each web process; one that is killed just then is left out."""
        for web in self._admin.fleet.webs:
            try:
                does = works(web)
            except httpx.HTTPError:
                continue
            if does and not is_right:
                self._figures.add("leaked", f"{what}, and {web.name} lets it through")
            elif is_right and not does:
                self._figures.add("lost", f"{what}, and {web.name} refuses it")
        self.revoked += not is_right

    def _reads(self, web: Process) -> bool:
        body = {**SOUGHT, "search_mode": "keyword", "dataset_ids": [self.handbook]}
        answer = self._reader.ask("search", "POST", f"{API}/search", at=web, json=body).json()
        if answer["hits"] and self.handbook in answer["unresolved_dataset_ids"]:
            self._figures.add("leaked", f"{web.name} shows what it says cannot be read")
        return self.handbook not in answer["unresolved_dataset_ids"]

    def _set_groups(self, user: int, groups: list[str]) -> None:
        self._admin.ask("groups", "PATCH", f"{API}/users/{user}", json={"groups": groups})

    def _set_allowed(self, groups: list[str]) -> None:
        path = f"{API}/shared-databases/{self.handbook}"
        self._admin.ask("allowed groups", "PATCH", path, json={"allowed_groups": groups})
