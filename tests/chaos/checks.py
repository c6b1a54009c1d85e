"""One look at all that a client was promised: what is listed, what is found, what conversations say."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.chaos.oracle import Client

FILLER = "the printer needs paper"
"""In every text, and found by a search for it in either mode."""
ALL = 1000
MODES = ("keyword", "semantic")

Wrong = list[tuple[str, str]]
"""Kind (a list of `Figures`) and what."""


def first_word(text: str) -> str:
    """The word that no other document has."""
    return text.partition(" ")[0]


def wrong_of(client: Client) -> Wrong:
    """What is lost, there twice, or back again. What an operation that broke off left is then taken for right."""
    listed = _listed(client)
    wrong: Wrong = [("doubled", f"{source} is listed") for source, times in Counter(listed).items() if times > 1]
    for source, texts in client.documents.items():
        if source in listed and texts == {None}:
            wrong.append(("ghosts", f"{source} is listed"))
        elif source not in listed and None not in texts:
            wrong.append(("lost", f"{source} is not listed"))
    there: dict[str, set[str]] = {}
    for mode in MODES:
        there = _search_all(client, mode, set(listed), wrong)
    wrong += _search_alone(client)
    wrong += _conversations(client)
    if not wrong:
        _settle(client, there)
    return wrong


def _listed(client: Client) -> list[str]:
    sources: list[str] = []
    while True:
        params = {"limit": 100, "offset": len(sources)}
        page = client.ask("list", "GET", f"/datasets/{client.dataset}/documents", params=params).json()
        sources += [each["source"] for each in page["items"]]
        if not page["next"]:
            return sources


def _search_all(client: Client, mode: str, listed: set[str], wrong: Wrong) -> dict[str, set[str]]:
    """Source → texts in a search that must find every document; adds what is wrong with them."""
    passages = _found(client, FILLER, mode, ALL, wrong)
    found: dict[str, set[str]] = {}
    for source, text in passages:
        if text in found.setdefault(source, set()):
            wrong.append(("doubled", f"{source} by {mode}"))
        found[source].add(text)
        if source not in listed:
            wrong.append(("ghosts", f"{source}, which is not listed, by {mode}"))
        elif text not in client.documents[source]:
            wrong.append(("ghosts", f"an older text of {source} by {mode}"))
    wrong += [("lost", f"{source} by {mode}") for source in sorted(listed - found.keys())]
    return found


def _search_alone(client: Client) -> Wrong:
    wrong: Wrong = []
    certain, half = client.certain(), client.searched_alone // 2
    for source in dict.fromkeys(certain[-half:] + client.dice.sample(certain, min(len(certain), half))):
        text = client.text_of(source)
        for mode, query in zip(MODES, (first_word(text), text), strict=True):
            if (source, text) not in _found(client, query, mode, 3, wrong):
                wrong.append(("lost", f"{source} by {mode} among the first three"))
    return wrong


def _found(client: Client, query: str, mode: str, top_k: int, wrong: Wrong) -> list[tuple[str, str]]:
    answer = client.ask(f"check {mode}", "POST", "/search", json=client.query(query, mode, top_k)).json()
    with client.figures.lock:
        client.figures.checks += 1
    wrong += [("lost", f"the {missing['leg']} leg by {mode}: {missing['reason']}") for missing in answer["degraded"]]
    return [(hit["passage"]["source"], hit["passage"]["text"]) for hit in answer["hits"]]


def _conversations(client: Client) -> Wrong:
    wrong: Wrong = []
    for number, (least, most) in client.conversations.items():
        answer = client.ask("conversation read", "GET", f"/conversations/{number}").json()
        stored = len(answer["messages"])
        if stored < least:
            wrong.append(("lost", f"{least - stored} messages of conversation {number}"))
        elif stored > most:
            wrong.append(("doubled", f"{stored - most} messages of conversation {number}"))
        else:
            client.conversations[number] = (stored, stored)
    return wrong


def _settle(client: Client, there: dict[str, set[str]]) -> None:
    client.unread -= there.keys()
    for source, texts in client.documents.items():
        if source in there:
            client.documents[source] = set(there[source])
        elif len(texts) > 1 and source not in client.unread:  # an upload in doubt may still be read
            client.documents[source] = {None}
