"""What the check of an answer's sentences found, as a page shows it: remarks below the answer, and marked sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from markupsafe import Markup

from braid.app.web.markdown import Span
from braid.core.chat.store import StoredMessage

HrefOf = Callable[[int, tuple[int, int]], str]
NO_SENTENCE = (0, 0)
"""The place of a sentence when it is not known which one supports the answer's."""
_CITATION = re.compile(r"\[(\d{1,4})\]")
SAID_CHARS = 60
"""Longest part of a sentence in a remark."""
MAX_REMARKS = 12
"""Remarks of an answer; whoever has read so many looks at the sources."""
_MARKED = {"differs": "differs", "uncited": "uncited"}
"""Verdicts whose sentences are marked, and how."""


class CitedSentence(NamedTuple):
    """A sentence of a cited passage that supports the answer."""

    number: int
    """The citation's."""
    place: tuple[int, int]
    """Where the sentence begins and ends in the passage; `NO_SENTENCE` where that is not known."""
    is_bold: bool
    """Whether it is in bold, as the answer of a quote."""


@dataclass(frozen=True, slots=True)
class Remark:
    """A finding: words that a source says otherwise, or that none of those that are cited has."""

    kind: Literal["differs", "elsewhere", "not_found"]
    said: str
    there: str
    sources: Markup
    """A link to what says otherwise, or links to what is cited."""
    elsewhere: Markup | None = None
    """A link to the source that has it."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What is said about an answer's sentences."""

    remarks: tuple[Remark, ...] = ()
    more: int = 0
    """Remarks that are left out."""
    uncited: int = 0
    """Sentences of a model that say something and cite nothing."""
    cites: bool = True
    """Whether anything is cited."""
    spans: tuple[Span, ...] = ()
    """Sentences to be marked, as characters of the text."""


def checked_of(
    support: Sequence[Mapping[str, Any]],
    marks: Sequence[int],
    href: HrefOf = lambda number, place: "",
    *,
    by_model: bool = True,
) -> Checked:
    """Return what the check of an answer says, of which ``support`` is the JSON; without a model every sentence is a
    quote.

    ``marks`` are where its citations begin. ``href`` returns the address of a sentence of a cited passage, empty for
    none.
    """
    remarks = list(dict.fromkeys(_remarks(support, href)))
    uncited = [each for each in support if each["verdict"] == "uncited"] if by_model else []
    marked = [each for each in support if each["verdict"] == "differs"] + uncited
    spans = sorted((each["start"], each["end"], _MARKED[each["verdict"]]) for each in marked)
    return Checked(
        tuple(remarks[:MAX_REMARKS]),
        len(remarks[MAX_REMARKS:]),
        len(uncited),
        bool(marks) or any(each["cited"] for each in support),
        tuple(spans),
    )


def sentences_of(answer: StoredMessage) -> list[CitedSentence]:
    """Return the sentences of the cited passages that support the answer, one per citation in its text, in order.

    The citation of a quote leads to its sentence in bold, which answers, and not to the last one of the line.
    """
    is_quote = answer.settings.get("generator") == "extractive"
    support: Sequence[Mapping[str, Any]] = answer.settings.get("support") or ()
    marks: Sequence[int] = answer.settings.get("marks") or ()
    found: list[CitedSentence] = []
    for at in marks:
        written = _CITATION.match(answer.text, at)
        if written is None:
            continue
        number = int(written[1])
        bold = answer.text.find("**", answer.text.rfind("\n", 0, at) + 1, at) if is_quote else -1
        meant = bold + len("**") if bold >= 0 else at
        around = next((each for each in support if each["start"] <= meant < each["end"]), {"sources": ()})
        places = [(each["start"], each["end"]) for each in around["sources"] if each["passage"] == number]
        found.append(CitedSentence(number, places[0] if places else NO_SENTENCE, bold >= 0))
    return found


def _remarks(support: Sequence[Mapping[str, Any]], href: HrefOf) -> Iterator[Remark]:
    """Yield what differs or stands elsewhere, and then what is not found."""
    found = [(sentence, each) for sentence in support for each in sentence["findings"]]
    for sentence, each in found:
        if number := each["passage"]:
            around = ((source["start"], source["end"]) for source in sentence["sources"] if source["passage"] == number)
            words = each["there_start"], each["there_end"]
            place = next((one for one in around if one[0] <= words[0] < one[1]), words)
            link = _link(number, href(number, place))
            if each["kind"] == "source":
                yield Remark("elsewhere", _cut(each["said"]), "", _links(sentence, href), link)
            else:
                yield Remark("differs", each["said"], each["there"], link)
    for sentence, each in found:
        if not each["passage"]:
            yield Remark("not_found", each["said"], "", _links(sentence, href))


def _cut(said: str) -> str:
    said = said.rstrip(" .。")
    return said if len(said) <= SAID_CHARS else said[:SAID_CHARS].rstrip() + "…"


def _links(sentence: Mapping[str, Any], href: HrefOf) -> Markup:
    """Return links to the passages that a sentence cites."""
    return Markup(" ").join(_link(number, href(number, NO_SENTENCE)) for number in sentence["cited"])


def _link(number: int, address: str) -> Markup:
    if not address:
        return Markup('<span class="cite">[{}]</span>').format(number)
    return Markup('<a class="cite" href="{}" data-number="{}">[{}]</a>').format(address, number, number)
