"""View of a stored conversation: questions, answers with their sources, and how each answer was found."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from operator import attrgetter
from typing import Any

from flask_babel import gettext as _
from markupsafe import Markup

from braid.app.mounted import url_for
from braid.app.pages.chat.about import Named, named_in
from braid.app.pages.chat.checked import NO_SENTENCE, Checked, checked_of, sentences_of
from braid.app.pages.search.answer import Missing, Timing, missing_parts, timings_of
from braid.app.pages.search.card import Reason, Reasoning, readable
from braid.app.pages.search.document_view import MARKDOWN
from braid.app.pages.search.marking import SENTENCE
from braid.app.site import site
from braid.app.user.preferences import DEFAULT_STRATEGY
from braid.app.user.starters import is_guide_alone
from braid.app.user.strategy_menu import NAMES
from braid.app.web.markdown import Href, Span, checked_html
from braid.app.web.waiting import is_over
from braid.app.words.gaps import gaps_of_notes
from braid.app.words.reasons import known_reason
from braid.app.words.searches import (
    ShownFilter,
    added_forms_text,
    bill_text,
    lead_text,
    lookup_text,
    shown_filter,
    with_lead,
)
from braid.app.words.values import dataset_name
from braid.core.chat.columns import asked_datasets
from braid.core.chat.feedback import Kind
from braid.core.chat.quoting.match import ONLY_WEAK
from braid.core.chat.store import StoredCitation, StoredMessage
from braid.core.chat.turns.rows import State
from braid.core.ingest.formats import file_types
from braid.core.ingest.plan import file_type_of
from braid.core.metadata.gaps import MAX_NAME_CHARS
from braid.core.options import ALL
from braid.core.text.scripts import display_language
from braid.core.types import Dataset, Degraded, LegScore

MAX_CARRIED_CHARS = 300
"""Longest question carried in links to passages, where its words are marked."""
KEPT_HTML = 500
"""Number of answers whose rendered Markdown is cached: every page of a conversation shows its earlier answers."""
EXCERPT_CHARS = 400
LEAD_CHARS = 60
"""Characters of an excerpt, and those before the sentence that is marked in it."""
_SIGNS = re.compile(r"[*`\[]")
"""What Markdown may have around words."""
_BEGINS = re.compile(r"[。！？\n]|[.!?] ")
LEG_FIELDS = ("leg", "rank", "score", "share", "query")

Thumbs = Mapping[tuple[str, str], Kind]
"""(query, chunk id) → the user's thumb."""


@dataclass(frozen=True, slots=True)
class Quote:
    """Sentences of a passage: what comes before the one that answers, that one, and what follows."""

    before: str
    main: str
    after: str


@dataclass(frozen=True, slots=True)
class Source:
    """A cited passage. ``href`` is empty if the passage was deleted."""

    citation: StoredCitation
    dataset: str
    href: str
    excerpt: tuple[str, str, str]
    """The passage as plain text: before, within and behind the sentence that supports the answer, if one is known."""
    language: str
    thumb: str
    quote: Quote | None = None
    """What of the passage is quoted, in an answer without a model."""
    edition: str = ""
    """What is said of the version that the passage is of."""
    printed: tuple[str, str] = ("", "")
    """The number that is printed on the page, where it is another than the page's in the file, and how many pages that
    has.
    """
    asked: bool = False
    """Whether the user has asked for access to it."""
    others: tuple[tuple[str, tuple[str, str, str]], ...] = ()
    """Further sentences that support the answer: where each is, as its links say, and the passage around it."""


@dataclass(frozen=True, slots=True)
class FoundPassage:
    """A passage that the search returned, and why. ``href`` is empty if the passage was deleted."""

    number: int
    title: str
    source: str
    dataset: str
    href: str
    cited: int
    """The number under which the answer cites it; 0 if it does not."""
    reasons: tuple[Reason, ...]
    rerank_score: str


@dataclass(frozen=True, slots=True)
class HowFound:
    """The search and the models behind an answer."""

    query: str
    query_generator: str
    queries: tuple[str, ...]
    lookups: tuple[str, ...]
    """What was looked for after the first search, in words."""
    bill: str
    sql: str
    """What was asked of the table that the answer was calculated from."""
    filters: tuple[ShownFilter, ...]
    strategy: str
    mode: str
    datasets: tuple[str, ...]
    unresolved: tuple[int, ...]
    timings: tuple[Timing, ...]
    total_ms: int
    degraded: tuple[Missing, ...]
    notes: tuple[str, ...]
    removed_citations: int
    passages: tuple[FoundPassage, ...]


@dataclass(frozen=True, slots=True)
class Variants:
    """The place of a message among its variants; the ids are those of its neighbours, None at an end."""

    number: int
    count: int
    before: int | None
    after: int | None


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question and its answer; ``html`` is safe to show."""

    question: StoredMessage
    answer: StoredMessage | None
    html: Markup
    sources: tuple[Source, ...]
    degraded: tuple[Missing, ...]
    """What is missing still."""
    language: str
    is_early: bool = False
    """Whether passages were missing that the indexes have by now."""
    featured: Source | None = None
    """The first source, if its quote is the answer."""
    unsearched: tuple[Dataset, ...] = ()
    """The datasets with documents that were not searched, where nothing was found."""
    meant: str = ""
    """What was searched, with words of the documents in place of those that none has; empty where there is none."""
    checked: Checked = field(default_factory=Checked)
    about: tuple[Named, ...] = ()
    """The datasets, documents and pages that the question was asked about."""
    is_first_look: bool = False
    """Whether the guide alone could be asked, and can still."""

    @property
    def is_unfound(self) -> bool:
        """Whether the answer is that nothing was found, and does not ask what is meant."""
        if self.answer is None or self.answer.settings.get("asks_back"):
            return False
        return self.answer.settings.get("found") is False and self.state == "complete"

    @property
    def is_quoted(self) -> bool:
        """Whether there was no model that could have written the answer: it is neither calculated nor another's."""
        is_missed = any(missing.leg == "model" for missing in self.degraded)
        return self.generator == "extractive" and bool(self.sources) and not self.is_calculated and not is_missed

    @property
    def is_calculated(self) -> bool:
        """Whether the answer was calculated from a table."""
        return self.answer is not None and "calculation" in self.answer.settings

    @property
    def closest_href(self) -> str:
        """The address of a search for the question, which shows the passages that are nearest."""
        return url_for("braid.search.index", q=self.question.text[:MAX_CARRIED_CHARS], d=self.dataset_values)

    @property
    def dataset_values(self) -> list[str]:
        """The datasets that were searched, as the field ``d`` of forms has them; empty where an assistant chose."""
        searched = asked_datasets(self.question.settings)
        return [ALL] if searched.is_everything else [str(each) for each in searched.ids]

    @property
    def was_thorough(self) -> bool:
        """Whether the question was searched in several ways, or by an assistant's settings."""
        settings = self.question.settings
        return settings.get("strategy", DEFAULT_STRATEGY) != DEFAULT_STRATEGY or bool(settings.get("assistant_id"))

    @property
    def generator(self) -> str:
        """What wrote the answer: ``extractive``, the name of a model, or ``none``."""
        return str(self.answer.settings.get("generator", "")) if self.answer else ""

    @property
    def lead(self) -> str:
        """What an answer without a model says of its featured passage: its first line."""
        return lead_text(self.answer.text.partition("\n")[0]) if self.answer else ""

    @property
    def searched(self) -> bool:
        """Whether there is a search to be shown."""
        return bool(self.answer and _search_of(self.answer))

    @property
    def read_filters(self) -> list[ShownFilter]:
        """The filters that were read from the question."""
        return _filters_of(self.answer) if self.answer else []

    @property
    def added_forms(self) -> str:
        """By which other forms of its names the question was searched, too."""
        return added_forms_text(_search_of(self.answer).get("added_forms", ())) if self.answer else ""

    @property
    def readings(self) -> list[str]:
        """Which documents were read as a whole or in part; “How this was found” has the other lookups."""
        stored = self.answer.settings.get("lookups", ()) if self.answer else ()
        return [lookup_text(each) for each in stored if each["new"] and each["why"] in ("document", "part")]

    @property
    def gaps(self) -> list[str]:
        """What of the cited documents could not be read, and may concern the answer."""
        cited: dict[str, set[int]] = {}
        for each in self.answer.citations if self.answer else ():
            pages = cited.setdefault((each.title or each.source)[:MAX_NAME_CHARS], set())
            pages.update([each.page] if each.page else ())
        return gaps_of_notes(self.answer.settings.get("notes", ()), cited) if self.answer else []

    @property
    def weak_note(self) -> str:
        """What is said of an answer by a model where all that was found are weak matches."""
        notes = self.answer.settings.get("notes", ()) if self.answer and self.generator != "extractive" else ()
        known = ((note, known_reason(note)) for note in notes if not self.is_unfound)
        return next((note for note, reason in known if reason and reason.template == ONLY_WEAK), "")

    @property
    def state(self) -> State:
        """The state of the answer."""
        return self.answer.state if self.answer else "complete"

    @property
    def error(self) -> str:
        """Why there is no answer."""
        return str(self.answer.settings.get("error", "")) if self.answer else ""


def variants_of(message: StoredMessage) -> Variants | None:
    """Return the place of a message among its variants; None if it is the only one."""
    if len(message.variants) < 2:
        return None
    position = message.variants.index(message.id)
    around = (None, *message.variants, None)
    return Variants(position + 1, len(message.variants), around[position], around[position + 2])


@dataclass(frozen=True, slots=True)
class Shelf:
    """Data that the view needs besides the messages: the user's datasets, thumbs and readable passages."""

    conversation_id: int | None
    """None for a conversation of another user, to which ``token`` leads back."""
    datasets: Mapping[int, Dataset]
    thumbs: Thumbs
    there: frozenset[str] = frozenset()
    """Ids of the returned passages that the user may still read; needed to show how an answer was found."""
    reasoning: Reasoning = field(default_factory=Reasoning)
    asked: frozenset[int] = frozenset()
    """Datasets that the user has asked for."""
    token: str = ""

    def dataset_name(self, dataset_id: int) -> str:
        """Return the dataset's name; its number if the user may no longer read it."""
        found = self.datasets.get(dataset_id)
        return dataset_name(found.name) if found else f"#{dataset_id}"

    def href(self, chunk_id: str, question: str, sentence: tuple[int, int] = NO_SENTENCE) -> str:
        """Return the address of a passage in its document, where a sentence of it is marked."""
        return url_for(
            "braid.search.document",
            chunk_id=chunk_id,
            q=question[:MAX_CARRIED_CHARS],
            conversation=self.conversation_id,
            shared=self.token or None,
            **({} if sentence == NO_SENTENCE else {SENTENCE: f"{sentence[0]}-{sentence[1]}"}),
            _anchor="cited",
        )


def find_chunk_ids(answer: StoredMessage) -> list[str]:
    """Return the ids of all passages that were found for the answer."""
    return [hit["chunk_id"] for hit in _search_of(answer).get("hits", ())]


def build_exchanges(messages: Sequence[StoredMessage], shelf: Shelf) -> list[Exchange]:
    """Pair the questions with their answers, in order."""
    return [_exchange(question, answer, shelf) for question, answer in _pairs(messages)]


def _pairs(messages: Sequence[StoredMessage]) -> Iterator[tuple[StoredMessage, StoredMessage | None]]:
    for position, message in enumerate(messages):
        if message.role == "user":
            following = messages[position + 1] if position + 1 < len(messages) else None
            yield message, following if following and following.role == "assistant" else None


def _exchange(question: StoredMessage, answer: StoredMessage | None, shelf: Shelf) -> Exchange:
    about = tuple(named_in(question.settings, shelf.datasets))
    if answer is None:
        return Exchange(question, None, Markup(""), (), (), "", about=about)
    asked = str(answer.settings.get("question") or question.text)
    query = str(answer.settings.get("query") or asked)
    quotes, editions = _quotes(answer), _editions(answer.settings)
    printed = {one["citation"]: (one["printed"], one["total"]) for one in answer.settings.get("printed_pages", ())}
    sentences, first = dict[int, list[tuple[int, int]]](), dict[int, tuple[int, int]]()
    for each in (supporting := sentences_of(answer)):
        sentences.setdefault(each.number, []).append(each.place)
    for each in sorted(supporting, key=attrgetter("is_bold"), reverse=True):  # what answers comes first
        if any(each.place):
            first.setdefault(each.number, each.place)
    sources = tuple(
        replace(
            _source(citation, asked, query, shelf, first.get(citation.number, NO_SENTENCE)),
            quote=quotes.get(citation.number),
            edition=editions.get(citation.number, ""),
            printed=printed.get(citation.number, ("", "")),
            others=tuple(
                (f"{place[0]}-{place[1]}", _excerpt(citation, place))
                for place in dict.fromkeys(sentences.get(citation.number, ()))
                if any(place) and place != first.get(citation.number)
            ),
        )
        for citation in answer.citations
    )
    hrefs = tuple(
        (number, tuple(_href(source.citation, asked, shelf, place) for place in sentences.get(number, (NO_SENTENCE,))))
        for source in sources
        for number in (source.citation.number,)
    )
    cited = {citation.number: citation for citation in answer.citations}

    def href_of(number: int, place: tuple[int, int]) -> str:
        return _href(cited[number], asked, shelf, place) if number in cited else ""

    by_model = answer.settings.get("generator") not in ("extractive", "none", None)
    text, marks = answer.text, answer.settings.get("marks")
    checked = checked_of(answer.settings.get("support") or (), marks or (), href_of, by_model=by_model)
    if answer.settings.get("also") and not answer.settings.get("featured"):  # the sources say below what is related
        text, marks = text.partition("\n")[0], ()
    if "calculation" in answer.settings:  # how it was found says what was asked of the table
        text = text.partition("\n\n```sql\n")[0]
    featured = sources[0] if sources and answer.settings.get("featured") else None
    degraded, mine = _degraded(answer), tuple(shelf.datasets.values())
    over = [part for part in degraded if is_over(part.reason, mine)]
    return Exchange(
        question=question,
        answer=answer,
        html=with_lead(_html(text, None if marks is None else tuple(marks), checked.spans, hrefs), text),
        checked=checked,
        sources=sources,
        featured=featured,
        degraded=missing_parts((part for part in degraded if part not in over), mine),
        is_early=bool(over) or _was_early(question, answer, shelf),
        language=display_language(answer.text),
        unsearched=_unsearched(question, answer, shelf),
        meant=_search_of(answer).get("did_you_mean", ""),
        about=about,
        is_first_look=bool(sources) and is_guide_alone(shelf.datasets.values()),
    )


def _editions(settings: Mapping[str, Any]) -> dict[int, str]:
    """Return what is said of the versions of the citations, by their numbers."""
    said = {}
    for one in settings.get("editions", ()):
        year = _("%(year)s, in force", year=one["year"]) if one["in_force"] else one["year"]
        others = [_("also %(years)s", years=_(", ").join(one["others"]))] if one["others"] else []
        said[one["citation"]] = " · ".join(map(str, (year, *others)))
    return said


def _quotes(answer: StoredMessage) -> dict[int, Quote]:
    """Return what is quoted of the citations, by their numbers."""
    settings, sources = answer.settings, {each.number: each.source for each in answer.citations}
    found = {}
    for one in (settings.get("featured"), *settings.get("also", ())):
        if one:
            text, start, end, source = one["text"], one["start"], one["end"], sources.get(one["citation"], "")
            parts = text[:start], text[start:end], text[end:]
            found[one["citation"]] = Quote(*(_without_signs(part, source) for part in parts))
    return found


def _without_signs(text: str, source: str) -> str:
    """Return a part of a quote without the signs of Markdown; tables and lists keep their lines."""
    words = text.strip()
    if _file_type(source) not in MARKDOWN or "\n" in words or not _SIGNS.search(words):
        return text
    begin = len(text) - len(text.lstrip())
    return f"{text[:begin]}{readable(words, 'md')}{text[begin + len(words) :]}"


def _was_early(question: StoredMessage, answer: StoredMessage, shelf: Shelf) -> bool:
    """Return whether a document came to the user's own datasets that were searched after nothing was found in them."""
    if answer.settings.get("found", True) or answer.settings.get("stopped"):
        return False
    searched = asked_datasets(question.settings)
    own = [each for each in shelf.datasets.values() if not each.of_others]
    ids = [each.id for each in own if not searched.ids or each.id in searched.ids]
    return site().braid.ledger.last_document_at(ids) > answer.created_at


def _unsearched(question: StoredMessage, answer: StoredMessage, shelf: Shelf) -> tuple[Dataset, ...]:
    if answer.settings.get("found", True) or answer.settings.get("stopped") or question.settings.get("assistant_id"):
        return ()
    searched = asked_datasets(question.settings)
    if searched.is_everything:
        return ()
    return tuple(
        dataset
        for dataset in shelf.datasets.values()
        if dataset.documents
        and not dataset.conversation_id
        and (dataset.id not in searched.ids if searched.ids else dataset.of_others)
    )


@lru_cache(maxsize=KEPT_HTML)
def _html(
    text: str,
    marks: tuple[int, ...] | None,
    spans: tuple[Span, ...],
    hrefs: tuple[tuple[int, tuple[str, ...]], ...],
) -> Markup:
    """Render an answer; each of its citations of a passage leads to the next one of the passage's addresses."""

    def new_href() -> Href:
        left = {number: list(reversed(of_number)) for number, of_number in hrefs}

        def href(number: int) -> str:
            several = left.get(number, [""])
            return several.pop() if len(several) > 1 else several[0]

        return href

    return checked_html(text, marks, spans, new_href)


def _source(citation: StoredCitation, asked: str, query: str, shelf: Shelf, sentence: tuple[int, int]) -> Source:
    return Source(
        citation=citation,
        dataset=shelf.dataset_name(citation.dataset_id),
        href=_href(citation, asked, shelf, sentence),
        excerpt=_excerpt(citation, sentence),
        language=display_language(citation.text),
        thumb=shelf.thumbs.get((query, citation.chunk_id), ""),
        asked=citation.dataset_id in shelf.asked,
    )


def _href(citation: StoredCitation, asked: str, shelf: Shelf, sentence: tuple[int, int]) -> str:
    if citation.fate == "current":
        return shelf.href(citation.chunk_id, asked, sentence)
    return shelf.href(citation.now, asked) if citation.now else ""


def _excerpt(citation: StoredCitation, sentence: tuple[int, int]) -> tuple[str, str, str]:
    """Return the beginning of a passage, or what is around a sentence of it, as plain text."""
    file_type = _file_type(citation.source)
    whole, said = (readable(text, file_type) for text in (citation.text, citation.text[slice(*sentence)]))
    before, said, behind = whole.partition(said) if said.strip() else (whole, "", "")
    if not said:
        return _cut(whole, EXCERPT_CHARS), "", ""
    lead = before if len(before) <= LEAD_CHARS else "…" + _end_of(before[-LEAD_CHARS:])
    return lead, said, _cut(behind, max(0, EXCERPT_CHARS - len(lead) - len(said)))


def _end_of(text: str) -> str:
    """Return the end of a text from a sentence or a line on, or at least from a word."""
    begin = _BEGINS.search(text)
    return text[begin.end() :] if begin else text.partition(" ")[2] or text


def _cut(text: str, chars: int) -> str:
    return text if len(text) <= chars else text[: max(0, chars - 1)] + "…"


def _file_type(source: str) -> str:
    """Return the format that the source's name tells of; that of a plain text for a page, a note or a label."""
    named = file_type_of(source)
    return named if named in file_types() else "txt"


# ---------------------------------------------------------------- how it was found


def _filters_of(answer: StoredMessage) -> list[ShownFilter]:
    return [shown_filter(each) for each in _search_of(answer).get("read_filters", ())]


def _search_of(message: StoredMessage) -> Mapping[str, Any]:
    found: Mapping[str, Any] = message.settings.get("search") or {}
    return found


def build_how(question: StoredMessage, answer: StoredMessage, shelf: Shelf) -> HowFound:
    """Return how the answer was found. Its settings must have a search."""
    settings, search = answer.settings, _search_of(answer)
    asked = str(settings.get("question") or question.text)
    cited = {citation.chunk_id: citation.number for citation in answer.citations}
    asked_in = asked_datasets(question.settings)
    everything = [dataset.id for dataset in shelf.datasets.values() if not dataset.conversation_id]
    searched = [shelf.dataset_name(each) for each in (everything if asked_in.is_everything else asked_in.ids)]
    timings = search.get("timings_ms", {})
    further = {each["asked"] for each in settings.get("lookups", ())}
    return HowFound(
        query=asked if settings.get("query_generator") == "feedback" else str(settings.get("query", "")),
        query_generator=str(settings.get("query_generator", "")),
        queries=tuple(query for query in search.get("queries", ()) if query not in further),
        lookups=tuple(lookup_text(each, question=question.text) for each in settings.get("lookups", ())),
        bill=bill_text(settings["bill"]) if "bill" in settings else "",
        sql=settings.get("calculation", {}).get("sql", ""),
        filters=tuple(_filters_of(answer)),
        strategy=str(NAMES.get(search["strategy"], search["strategy"])),
        mode=mode_name(search.get("mode", "")),
        datasets=tuple(searched),
        unresolved=tuple(search.get("unresolved_dataset_ids", ())),
        timings=timings_of(timings),
        total_ms=round(timings.get("total", 0)),
        degraded=missing_parts(_degraded(answer), tuple(shelf.datasets.values())),
        notes=tuple(settings.get("notes", ())),
        removed_citations=settings.get("removed_citations", 0),
        passages=tuple(
            _found_passage(number, hit, asked, cited.get(hit["chunk_id"], 0), shelf)
            for number, hit in enumerate(search.get("hits", ()), 1)
        ),
    )


def mode_name(mode: str) -> str:
    """Return the mode in the page's language."""
    names = {"hybrid": _("Meaning and keywords"), "semantic": _("Meaning"), "keyword": _("Keywords")}
    return str(names.get(mode, mode))


def _found_passage(number: int, hit: Mapping[str, Any], asked: str, cited: int, shelf: Shelf) -> FoundPassage:
    legs = [LegScore(*(leg[name] for name in LEG_FIELDS)) for leg in hit["legs"]]
    there = hit["chunk_id"] in shelf.there
    return FoundPassage(
        number=number,
        title=hit["title"] or hit["source"],
        source=hit["source"],
        dataset=shelf.dataset_name(hit["dataset_id"]),
        href=shelf.href(hit["chunk_id"], asked) if there else "",
        cited=cited,
        reasons=shelf.reasoning.reasons(legs),
        rerank_score="" if hit["rerank_score"] is None else f"{hit['rerank_score']:.3f}",
    )


def _degraded(answer: StoredMessage) -> list[Degraded]:
    """Return what was missing when the answer was made."""
    return [Degraded(**part) for part in answer.settings.get("degraded", ())]
