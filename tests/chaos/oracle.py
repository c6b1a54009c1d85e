"""What a server has promised to one client, and whether it keeps it."""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.chaos.checks import FILLER, first_word, wrong_of

CATCH_UP_S = 90.0
"""After which what is not there yet counts as lost."""
SAY_S = 10.0
"""Between two lines that say what a check waits for."""
MOST_DOCUMENTS = 300
"""Per client; a search that shows all of them may return 1,000."""
MOST_CONVERSATIONS = 12
LIMITS = httpx.Limits(keepalive_expiry=2)
"""Seconds: below the server's 5, after which it may close a connection just when a request is sent on it."""


@dataclass
class Figures:
    """Counted over all clients and faults."""

    acknowledged: Counter[str] = field(default_factory=Counter)
    checks: int = 0
    lost: list[str] = field(default_factory=list)
    ghosts: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    """Answers of 500 and above, and of 400 to what is right, while no fault was on."""
    under_fault: Counter[str] = field(default_factory=Counter)
    took: dict[str, list[float]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


class Client:
    """One user's program: writes into a dataset of its own, one operation at a time, and remembers what was promised.

    ``documents`` maps a source to the texts that it may have: one, or two while an operation's end is not known.
    None stands for a document that is not there.
    """

    searched_alone = 40
    """Documents that a check searches for one by one, in both modes; all are looked for in one answer per mode."""
    catch_up_s = CATCH_UP_S

    def __init__(self, key: str, name: str, figures: Figures, seed: int) -> None:
        self._headers = {"Authorization": f"Bearer {key}"}
        self._http = httpx.Client(timeout=30, limits=LIMITS, headers=self._headers)
        self.name, self.figures, self.dice = name, figures, random.Random(seed)
        self.dataset = 0
        self.documents: dict[str, set[str | None]] = {}
        self.unread: set[str] = set()
        """Uploads that were not listed yet: deleting one of them does not cancel its job."""
        self.conversations: dict[int, tuple[int, int]] = {}
        """Id → messages that it has at least and at most."""
        self.is_fault_on = threading.Event()
        self._number = 0

    def connect(self, url: str) -> None:
        """Speak to the server at this address from now on."""
        # The old one may be in use, by a request that will not be answered any more.
        self._http = httpx.Client(base_url=f"{url}/api/v1", timeout=30, limits=LIMITS, headers=self._headers)

    def begin(self) -> None:
        """Make the dataset."""
        self.dataset = int(self.ask("dataset", "POST", "/datasets", json={"name": self.name}).json()["id"])

    def ask(self, kind: str, method: str, path: str, **options: Any) -> httpx.Response:
        """Send a request. Raises httpx.HTTPError when there is no answer, or one that is not of success."""
        started = time.perf_counter()
        under_fault = self.is_fault_on.is_set()
        try:
            response = self._http.request(method, path, **options)
        except httpx.HTTPError as error:
            self._note(kind, type(error).__name__, under_fault)
            raise
        with self.figures.lock:
            self.figures.took.setdefault(kind, []).append(time.perf_counter() - started)
        if response.status_code >= 400:
            self._note(kind, f"{response.status_code} {reason_of(response)}", under_fault)
        response.raise_for_status()
        with self.figures.lock:
            self.figures.acknowledged[kind] += 1
        return response

    def _note(self, kind: str, what: str, under_fault: bool) -> None:
        with self.figures.lock:
            under = under_fault or self.is_fault_on.is_set()
            (self.figures.under_fault if under else self.figures.errors)[f"{kind}: {what}"] += 1

    # ------------------------------------------------------------ operations

    def act(self) -> None:
        """One operation; what it leaves is certain when it is answered, and in doubt when not."""
        new = (self.put, self.put, self.put, self.upload)
        acts = (
            *(new if len(self.certain()) < MOST_DOCUMENTS else ()),
            self.replace,
            self.delete,
            self.delete,
            self.search,
            self.chat,
        )
        try:
            self.dice.choice((*acts, self.reembed) if self.dice.random() < 0.05 else acts)()
        except httpx.HTTPError:
            time.sleep(0.2)

    def _text(self) -> str:
        self._number += 1
        own = " ".join(f"{self.dice.getrandbits(32):08x}" for _ in range(12))  # so that no other is as near by meaning
        return f"{self.name}w{self._number:x}q{self.dice.getrandbits(32):08x} {own} {FILLER}"

    def put(self) -> None:
        """A new text."""
        self._put(f"notes/{len(self.documents)}.txt")

    def replace(self) -> None:
        """Another text for a document that is there; not for a file, which may still be read later."""
        if there := [source for source in self.certain() if not source.startswith("file")]:
            self._put(self.dice.choice(there))

    def _put(self, source: str) -> None:
        text = self._text()
        before = self.documents.get(source, {None})
        self.documents[source] = before | {text}
        self.ask("put", "PUT", f"/datasets/{self.dataset}/documents", json={"source": source, "text": text})
        self.documents[source] = {text}

    def upload(self) -> None:
        """A new file, which is read in the background."""
        source, text = f"file{len(self.documents)}.md", self._text()
        self.documents[source] = {None, text}
        self.unread.add(source)
        self.ask("upload", "POST", f"/datasets/{self.dataset}/documents", files={"file": (source, text.encode())})
        self.documents[source] = {text}

    def delete(self) -> None:
        """A document that is listed."""
        there = [source for source in self.certain() if source not in self.unread]
        if len(there) < 5:
            return
        source = self.dice.choice(there)
        listed = self.ask(
            "list", "GET", f"/datasets/{self.dataset}/documents", params={"source_prefix": source}
        ).json()["items"]
        found = next((each for each in listed if each["source"] == source), None)
        if found is None:
            return  # the next check counts it as lost
        self.documents[source] = self.documents[source] | {None}
        self.ask("delete", "DELETE", f"/datasets/{self.dataset}/documents/{found['id']}")
        self.documents[source] = {None}

    def search(self) -> None:
        """By a word of a document's."""
        if there := self.certain():
            query = self.query(
                first_word(self.text_of(self.dice.choice(there))), self.dice.choice(("keyword", "hybrid"))
            )
            query.pop("reranker")  # the server's own, which may hang
            self.ask("search", "POST", "/search", json=query)

    def chat(self) -> None:
        """A question in a conversation."""
        if (len(self.conversations) < MOST_CONVERSATIONS and self.dice.random() < 0.3) or not self.conversations:
            made = self.ask("conversation", "POST", "/conversations", json={})
            self.conversations[int(made.json()["id"])] = (0, 0)
        number = self.dice.choice(list(self.conversations))
        question = {"message": "Where is the paper?", "dataset_ids": [self.dataset]}
        least, most = self.conversations[number]
        self.conversations[number] = (least, most + 2)
        self.ask("message", "POST", f"/conversations/{number}/messages", json=question)
        self.conversations[number] = (least + 2, most + 2)

    def reembed(self) -> None:
        """All vectors of the dataset."""
        self.ask("reembed", "POST", f"/datasets/{self.dataset}/reembed")

    def certain(self) -> list[str]:
        """Sources of documents that are there, with one text that they must have."""
        return [source for source, texts in self.documents.items() if len(texts) == 1 and None not in texts]

    def text_of(self, source: str) -> str:
        """The text of one of the certain documents."""
        (text,) = self.documents[source]
        return str(text)

    def query(self, query: str, mode: str, top_k: int = 3) -> dict[str, Any]:
        """Body of a search in the dataset."""
        return {"query": query, "dataset_ids": [self.dataset], "search_mode": mode, "top_k": top_k, "reranker": ""}

    # ------------------------------------------------------------ checks

    def check(self) -> None:
        """Wait until everything is caught up with, and count what is lost, is there twice or has come back.

        Raises httpx.TimeoutException when the server does not answer.
        """
        started = said = time.monotonic()
        while (wrong := self._looked()) and time.monotonic() < started + self.catch_up_s:
            if time.monotonic() > said + SAY_S:
                said = time.monotonic()
                kinds = Counter(kind for kind, _ in wrong)
                print(
                    f"    {self.name} waits {said - started:.0f} s for {dict(kinds)}, such as {wrong[0][1]}", flush=True
                )
            time.sleep(0.5)
        with self.figures.lock:
            for kind, what in wrong:
                getattr(self.figures, kind).append(f"{self.name}: {what}")

    def _looked(self) -> list[tuple[str, str]]:
        try:
            return wrong_of(self)
        except httpx.TimeoutException:
            raise
        except httpx.HTTPError as error:
            return [("lost", f"a check has no answer: {error}")]


def reason_of(response: httpx.Response) -> str:
    """What a refusal says."""
    try:
        problem = response.json()
        return str(problem.get("detail") or problem.get("title"))[:150]
    except (json.JSONDecodeError, AttributeError):
        return response.text[:100]
