"""A user's program before a fleet: what the chaos tests' client does, and what only several processes can break."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import httpx

from tests.chaos.checks import first_word
from tests.chaos.fleet.caller import Caller
from tests.chaos.fleet.machines import Person
from tests.chaos.oracle import Client
from tests.chaos.server import PASSWORD

READS = ("list", "conversation read")
ENDED_S = 60.0
"""An answer whose process was killed is said to be interrupted long before that."""
FOLLOWED = 3
"""Events of an answer that are read before the client goes away."""
SLOW = "Where is the paper? Tell me slowly."
"""What the fake model answers with many words."""


class FleetClient(Client):
    """Writes into datasets of its own, asks, and tries to read what is others'."""

    searched_alone = 10
    catch_up_s = 300.0
    """Longer than in a fleet that is let be: a worker that has just taken over may be killed, too, and the next one."""

    def __init__(self, caller: Caller, person: Person, seed: int) -> None:
        super().__init__(person.key, person.name, caller.figures, seed)
        self.person = person
        self.ended_s = ENDED_S
        self.fleet_figures = caller.figures
        self.caller = caller
        self._browser = Caller(caller.fleet, caller.outages, caller.figures, key="", owners=caller.owners)
        self.others: list[FleetClient] = []
        self.doubtful_conversations = 0
        """How many there may be of which nobody was told."""
        self._keys = 0

    def begin(self) -> None:
        """Make the dataset, and sign in."""
        super().begin()
        browser = self._browser
        form = {"name": self.name, "password": PASSWORD}
        token = form_token(browser.ask("sign in", "GET", "/login").text)
        browser.ask("sign in", "POST", "/login", data={**form, "csrf_token": token}, expected=(302,))
        self._csrf = form_token(browser.ask("account", "GET", "/account").text)

    def ask(self, kind: str, method: str, path: str, **options: Any) -> httpx.Response:
        """Send a request to the next process. Raises httpx.HTTPError."""
        again = kind in READS or kind.startswith("check")
        try:
            return self.caller.ask(kind, method, f"/api/v1{path}", again=again, **options)
        except httpx.HTTPError:
            self.doubtful_conversations += kind == "conversation"
            raise

    def act(self) -> None:
        """One operation of any kind."""
        if self.dice.random() < 0.75:
            super().act()
            return
        try:
            self.dice.choice((self.pry, self._stream, self._look_everywhere, self._begin_once))()
        except httpx.HTTPError:
            time.sleep(0.2)

    # ------------------------------------------------------------ operations

    def search(self) -> None:
        """For a document that is there: it is found, or the answer says what is missing."""
        there = [source for source in self.certain() if source not in self.unread]
        if not there:
            return
        source = self.dice.choice(there)
        text = self.text_of(source)
        mode, query = self.dice.choice((("keyword", first_word(text)), ("semantic", text)))
        answer = self.ask("search", "POST", "/search", json=self.query(query, mode)).json()
        self._compare_found(answer, source, text)

    def _compare_found(self, answer: dict[str, Any], source: str, text: str) -> None:
        found = [(hit["passage"]["source"], hit["passage"]["text"]) for hit in answer["hits"]]
        if not answer["degraded"] and (source, text) not in found:
            self.fleet_figures.add("silent", f"{self.name}: {source} is not found, and nothing is said to be missing")
        for place, words in found:
            if place in self.documents and words not in self.documents[place]:
                self.fleet_figures.add("ghosts", f"{self.name}: {place} with a text that it does not have")

    def _look_everywhere(self) -> None:
        """Search without naming datasets: there is nothing but one's own."""
        body = {"query": "the printer needs paper", "search_mode": self.dice.choice(("keyword", "hybrid"))}
        self.ask("search all", "POST", "/search", json={**body, "top_k": 20, "reranker": ""})

    def pry(self) -> None:
        """Ask for another user's dataset and conversation."""
        other = self.dice.choice(self.others)
        query = {**self.query("the printer needs paper", "keyword", 20), "dataset_ids": [other.dataset]}
        answer = self.ask("pry", "POST", "/search", json=query).json()
        if answer["hits"] or answer["unresolved_dataset_ids"] != [other.dataset]:
            self.fleet_figures.add("leaked", f"{self.name} is told of the dataset of {other.name}")
        for number in list(other.conversations)[:1]:
            path = f"/conversations/{number}"
            if self.ask("pry", "GET", path, expected=(404,)).status_code != 404:
                self.fleet_figures.add("leaked", f"{self.name} reads a conversation of {other.name}")

    def _begin_once(self) -> None:
        """Begin a conversation with a key that says which request it is, again where there was no answer."""
        if len(self.conversations) > 20:
            return
        self._keys += 1
        self.doubtful_conversations += 1
        headers = {"Idempotency-Key": f"{self.name}-{self._keys}"}
        for _ in range(4):
            try:
                made = self.ask("begin once", "POST", "/conversations", json={}, headers=headers, expected=(409,))
            except httpx.HTTPError:
                time.sleep(0.5)
                continue
            if made.status_code != 409:  # the process that had it was killed in the middle
                self.conversations[int(made.json()["id"])] = (0, 0)
                self.doubtful_conversations -= 1
            return

    # ------------------------------------------------------------ answers that are followed and stopped elsewhere

    def _stream(self) -> None:
        """Ask on the page, go away, follow the answer from another process, and stop it from a third."""
        browser = self._browser
        here = browser.next_web()
        self.doubtful_conversations += 1
        turn = self._read_some("ask", "POST", "/chat/messages", at=here)
        if turn is None:
            return
        number = int(turn["conversation"].rpartition("/")[2])
        self.doubtful_conversations -= 1
        self.conversations[number] = (2, 2)
        there = browser.next_web(but=here)
        if self.dice.random() < 0.5:
            self._read_some("follow", "GET", turn["follow"], at=there)
        if self.dice.random() < 0.7:
            headers = {"Accept": "application/json", "X-CSRFToken": self._csrf}
            browser.ask("stop", "POST", turn["stop"], at=browser.next_web(but=there), headers=headers)
        self.wait_until_ended(number)

    def _read_some(self, kind: str, method: str, path: str, *, at: Any) -> dict[str, Any] | None:
        """Read the first events of a stream; return the first one, None where there was none."""
        headers = {"Accept": "text/event-stream", "X-CSRFToken": self._csrf}
        data = {"text": SLOW} if method == "POST" else None
        turn, seen, started = None, 0, time.monotonic()
        browser = self._browser
        with (
            browser.judged(kind, at),
            browser.http.stream(method, f"{at.url}{path}", data=data, headers=headers) as stream,
        ):
            if stream.status_code != 200:
                stream.read()
                browser.judge(kind, at, started, stream)
                stream.raise_for_status()
            for line in stream.iter_lines():
                seen += line.startswith("event:")
                if turn is None and line.startswith("data: "):
                    turn = json.loads(line.removeprefix("data: "))
                if seen > FOLLOWED:
                    break
        return turn

    def wait_until_ended(self, number: int) -> None:
        """Ask until the last answer of the conversation is not being written any more."""
        until = time.monotonic() + self.ended_s
        while True:
            try:
                whole = self.ask("conversation read", "GET", f"/conversations/{number}").json()
            except httpx.HTTPError:
                whole = {"messages": []}
            if whole["messages"] and whole["messages"][-1]["state"] != "running":
                return
            if time.monotonic() > until:
                self.fleet_figures.add("hanging", f"{self.name}: the answer in conversation {number} does not end")
                return
            time.sleep(0.5)

    # ------------------------------------------------------------ checks

    def check(self) -> None:
        """Also count the conversations: none that was acknowledged is lost, and none is there twice."""
        started = time.monotonic()
        super().check()
        with self.fleet_figures.lock:
            self.fleet_figures.checked_s.append(time.monotonic() - started)
        most = len(self.conversations) + self.doubtful_conversations
        try:
            path = "/conversations"
            items = self.ask("check list", "GET", path, params={"limit": 200}).json()["items"]
        except httpx.HTTPError:  # counted; the next check looks again
            return
        listed = [int(each["id"]) for each in items]
        for number in self.conversations.keys() - set(listed):
            self.fleet_figures.add("lost", f"{self.name}: conversation {number}")
        if len(listed) > most:
            self.fleet_figures.add("doubled", f"{self.name}: {len(listed)} conversations, {most} were begun")
        self.doubtful_conversations = max(0, len(listed) - len(self.conversations))


def form_token(page: str) -> str:
    """The token of a page's forms."""
    found = re.search(r'name="csrf[-_]token" (?:content|value)="([^"]+)"', page)
    assert found is not None, page[:500]
    return found[1]
