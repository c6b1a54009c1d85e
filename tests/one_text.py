"""Texts of all kinds, and the ways that they go: one that a model wrote from the answer to the store, the page, the
exports and other programs' interfaces; one that a document says to the prompt, a quote and a citation.

Each way has to give the same text, but for the marks that were meant, and for links, pictures and HTML, which are text.
"""

from __future__ import annotations

import html
import json
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from hypothesis import strategies as st
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.outputs import ChatResult as ModelResult

from braid.app.openai_api.completions import Chunks, Head, completion
from braid.app.openai_api.footnotes import without_footnotes
from braid.app.openai_api.responses import ResponseEvents
from braid.app.web.markdown import answer_html
from braid.app.web.turn_progress import AnswerSoFar
from braid.core.braid import Braid
from braid.core.chat.answering import Answerer, AnswerTask
from braid.core.chat.citations import Citation
from braid.core.chat.links import check_links
from braid.core.chat.marks import CitationFilter, literal, marked
from braid.core.chat.quoting.extractive import Extract
from braid.core.chat.support.check import check_answer
from braid.core.chat.texts import say
from braid.core.chat.types import AnswerText, AnswerWithdrawn, ChatRequest, ChatResult, Event, result_json
from braid.core.ledger.database import storable
from braid.core.models.chat import ChatModel, ModelSettings
from braid.core.models.pieces import whole
from braid.core.models.prompts import Prompts
from braid.core.text.analyzer import Analyzer
from braid.core.types import Hit, Passage, Query, SearchResult
from tests.core.chat.featured import answer
from tests.web import bearer, make_app, sign_in, site_of
from tests.worlds import document

MARK = "⟦1⟧"
"""Where the model writes the mark of the passage, as the prompt has it."""
CODE = (
    "`",
    "``",
    "```\n",
    "\n```\n",
    "\n~~~\n",
    "`a[1]`",
    "`^[0-9]{4}$`",
    "    x[1]\n",
    "\n```py\nrow = t[0][7]\n```\n",
)
FORMULAS = ("\\(", "\\)", "\\[", "\\]", "$x_1 * y_1$", "\\(E = mc^2\\)", "\\[ \\frac{a_1}{b_2} \\]", "$", "$$", "a^*")
BRACKETS = (
    "[", "]", "(", ")", "[1]", "[2, 3]", "【1】", "［2］", "(1)", "(source 1)", "¹", "m²", "argv[1]", "[5, 10] mg",
    "[2019] UKSC 5", "[00:12:30]", "[::1]:8080", "^[0-9]{5}$", "[^1]", "[[1]]", "[x][1]", "]:", "](", "[a](b)",
)  # fmt: skip
SCRIPTS = (
    "語", "ポンプ（大）", "。", "、", "「注意」", "말", "펌프(대)는", "e\u0301", "ह\u093fन\u094dद\u0940", "می\u200cخ",
    "\u3000",
)  # fmt: skip
EMOJI = ("😀", "👩\u200d💻", "🇯🇵", "❤\ufe0f", "👍🏽", "\U000e0067", "\U00100001")
HTML = ("<b>", "</b>", "<br>", "<sup>1</sup>", "<img src=x>", "<!-- c -->", "&lt;", "&amp;", "&#91;", "<", ">", "a < b")
MARKUP = (
    "**",
    "*",
    "_",
    "__",
    "~~",
    "#",
    "\n# ",
    "> ",
    "- ",
    "1. ",
    "---",
    "\n---\n",
    "![",
    "\\",
    "\\*",
    "![p](http://a)",
)
TABLES = ("| a | b |\n|---|---|\n| 1 | 2 | 3 |\n", "|", "| a | b |", "\n|---|---|\n", "a\\|b")
SPACES = (" ", "  ", "\n", "\n\n", "\t", "\r\n", "\r", "\x00", "\u00a0", "\x85", "\u2028", "\x0c")
WORDS = ("word", "Wort ", "x", "10 mg", ".", ",", ": ", "p-", "p-7f3a", "https://a.example/b(c)", "-1", "?")
ANY = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="⟦⟧"), max_size=4)
PARTS = st.one_of(
    *map(st.sampled_from, (CODE, FORMULAS, BRACKETS, SCRIPTS, EMOJI, HTML, MARKUP, TABLES, SPACES, WORDS)), ANY
)
TEXT = st.lists(PARTS, max_size=14).map("".join)
AT_ONCE = 10
TEXTS = st.lists(st.tuples(TEXT, st.integers(1, 9)), min_size=AT_ONCE, max_size=AT_ONCE)
"""The answers of one conversation, each with the number of characters that its model writes at a time."""
ANALYZER = Analyzer()


# ---------------------------------------------------------------- what a model writes


class Speaker(BaseChatModel):
    """A model that writes a text in pieces of some units of UTF-16, so that characters come in halves."""

    said: str
    size: int
    asked: tuple[str, ...] = ()
    """The messages that it was sent."""

    @property
    def _llm_type(self) -> str:
        return "speaker"

    def _generate(self, messages: list[BaseMessage], *args: Any, **options: Any) -> ModelResult:
        raise NotImplementedError("answers are streamed")

    def _stream(self, messages: list[BaseMessage], *args: Any, **options: Any) -> Iterator[ChatGenerationChunk]:
        self.asked = tuple(str(message.content) for message in messages)
        own = re.search(r"\[p-[0-9a-f]{4}:1\]", self.asked[0])
        assert own is not None
        units = self.said.replace(MARK, own[0]).encode("utf-16-le", "surrogatepass")
        for at in range(0, len(units), 2 * self.size):
            piece = units[at : at + 2 * self.size]
            halves = "".join(piece[n : n + 2].decode("utf-16-le", "surrogatepass") for n in range(0, len(piece), 2))
            yield ChatGenerationChunk(message=AIMessageChunk(halves))
        yield ChatGenerationChunk(message=AIMessageChunk("", response_metadata={"finish_reason": "stop"}))


def answered(speaker: Speaker, *found: Passage) -> tuple[ChatResult, list[Event]]:
    """The answer of a model that says this, and the events of its turn."""
    model = ChatModel(ModelSettings("test:speaker"), given=speaker)
    search = SearchResult(Query("q"), "basic", "none", (), tuple(Hit(each, 1.0, ()) for each in found), ())
    task = AnswerTask(Prompts().answer, "Which row?", "en", lambda citations: Extract("", False))
    events: list[Event] = []
    begun = ChatResult("Which row?", "q", "none", search)
    return Answerer(model, 6_000, ANALYZER).answer(task, begun, events.append, threading.Event()), events


def written_of(texts: Sequence[tuple[str, int]]) -> list[str]:
    """Answers with these texts. One with a mark of the passage, first or last, has no other citations."""
    return [
        f"So {MARK}.\n\n{said} {MARK}" if size % 2 else f"So it is.\n\n{said} {MARK} {MARK}" for said, size in texts
    ]


def plain(text: str) -> str:
    """The text without what makes links, pictures and HTML text."""
    return re.sub(r"\\+(?=!\[)", "", text.replace("&lt;", "<")).replace("] (", "](").replace("] :", "]:")


def meant(said: str) -> str:
    """What is to be stored of it."""
    return literal(whole(said)).replace(MARK, "[1]").strip()


# ---------------------------------------------------------------- what a reader sees


VOID = ("br", "hr", "img", "input")
"""Elements without an end."""


class Text(HTMLParser):
    """The text of HTML, or that of each element of a class."""

    def __init__(self, of: str = "") -> None:
        super().__init__()
        self.texts: list[str] = [] if of else [""]
        self._of = of
        self._open = 0 if of else 1

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if not self._open and self._of in (dict(attrs).get("class") or "").split():
            self.texts.append("")
            self._open = 1
        elif self._open and tag not in VOID:
            self._open += 1

    def handle_endtag(self, tag: str) -> None:
        self._open -= bool(self._open) and tag not in VOID

    def handle_data(self, data: str) -> None:
        if self._open:
            self.texts[-1] += data


def seen_in(page: str, of: str = "") -> list[str]:
    """What a reader sees of each element of this class."""
    reader = Text(of)
    reader.feed(str(page))  # of markup, parts would be markup, too
    reader.close()
    return reader.texts


def seen(page: str) -> str:
    """What a reader sees of it."""
    return seen_in(page)[0]


NAMES_LANGUAGE = re.compile(r"(?:`{3,}|~{3,})[^\S\n]*(?!py\n)\S")
"""What follows a fence on its line names the language, and is not shown."""
NUMBERED = re.compile(r"(?m)^[\s>]*(?:[-*+]\s+)*\d{1,9}[.)](?:\s|$)")
"""The number of an item of a list is drawn by the browser."""
MARKS_OF_MARKDOWN = "*_~#>|+=-\\`<!"


def is_numbered(said: str) -> bool:
    """Whether it has an item of a numbered list, once it is stored: a NUL before a number is not, a CR is a line."""
    return bool(NUMBERED.search(meant(said)))


def shows_every_letter(said: str) -> bool:
    """Whether nothing of it but marks of Markdown is left to the browser, or left out."""
    return not NAMES_LANGUAGE.search(storable(said)) and not is_numbered(said)


def solid(text: str) -> str:
    """The text without spaces and marks of Markdown, which a reader does not see."""
    before = ""
    while text != before:  # an entity is shown as its character, and as it is written where it is code
        before, text = text, html.unescape(text)
    return "".join(text.translate(dict.fromkeys(map(ord, MARKS_OF_MARKDOWN))).split()).replace("py", "")


def visible(text: str) -> str:
    """The text as a prompt has it: without control characters, and whatever is escaped there alike."""
    kept = "".join(character for character in text if character.isprintable() or character in "\n\t\u200c\u200d")
    return kept.translate(dict.fromkeys(map(ord, "\u200c\u200d"))).replace("&lt;", "<").replace("(", "[")


def one_pass(text: str) -> object:
    """All work on an answer that has this text."""
    said = CitationFilter(frozenset({1}), "p-7f3a:").read(whole(text))
    return answer_html(check_links(said))


# ---------------------------------------------------------------- the ways


Copy = Callable[[str], list[str]]
"""From the HTML of a conversation to what a browser copies of each of its answers as text."""


class Desk:
    """An app, its stored conversations, and one passage that answers cite."""

    def __init__(self, braid: Braid) -> None:
        self._braid = braid
        self.app: Flask = make_app(braid)
        here = site_of(self.app)
        self.client: FlaskClient = sign_in(self.app)
        self.store, self.user = here.conversations, here.accounts.all()[0]
        self._key = bearer(self.app, self.user, "read")
        self._dataset = braid.ledger.add_dataset(self.user.id, "notes").id
        self._cited = self._stored_passage("table.md", "The row is in the table.")
        self.read_letter_by_letter = 0
        """How many answers on pages were."""

    def _stored_passage(self, source: str, text: str) -> Passage:
        put = self._braid.ledger.put_document(self._dataset, document(source, text, title="Table"))
        (passage,) = self._braid.ledger.document_passages(put.document_id, [self._dataset])
        return passage

    def check(self, texts: Sequence[tuple[str, int]]) -> None:
        """Each text is the same wherever it goes, as an answer, in pieces of some characters, and as a passage."""
        written = written_of(texts)
        results = [self.answer(text, said, size) for text, (said, size) in zip(written, texts, strict=True)]
        for text, shown in zip(written, answers_on(self.check_stored(results)), strict=True):
            if shows_every_letter(text):
                self.read_letter_by_letter += 1
                assert solid(shown) == solid(plain(meant(text)))

    def check_copied(self, texts: Sequence[tuple[str, int]], copy: Copy) -> None:
        """What is copied of each answer on its page is what a reader sees there."""
        written = written_of(texts)
        results = [
            answered(Speaker(said=text, size=size), self._cited)[0]
            for text, (_, size) in zip(written, texts, strict=True)
        ]
        with self.stored(results) as conversation:
            page = self.client.get(f"/chat/{conversation}").text
        for text, shown, copied in zip(written, answers_on(page), copy(page), strict=True):
            if not is_numbered(text):
                assert solid(copied) == solid(shown)

    def answer(self, written: str, said: str, size: int) -> ChatResult:
        """The answer of a model that writes this, read beside a passage that says the same, with both as citations."""
        passage = self._stored_passage("text.md", f"The pump row is {said} here.")
        assert passage.text == storable(f"The pump row is {said} here.")
        check_quotes(passage, said)
        speaker = Speaker(said=written, size=size)
        result, events = answered(speaker, self._cited, passage)
        assert visible(passage.text) in visible(speaker.asked[1])
        expected = plain(meant(written))
        assert result.marks is not None
        assert re.fullmatch(re.escape(expected) + r"(?:\n[`~]{3,})?", plain(result.text))
        assert [result.text[at : at + 3] for at in result.marks] == ["[1]", "[1]"]
        written_again = max((at for at, event in enumerate(events) if isinstance(event, AnswerWithdrawn)), default=-1)
        pieces = [event for event in events[written_again + 1 :] if isinstance(event, AnswerText)]
        assert plain("".join(piece.text for piece in pieces)).strip().startswith(expected)
        assert sum(len(piece.marks or ()) for piece in pieces) == 2
        assert result_json(result)["text"] == result.text
        self.check_growing(events)
        self.check_sent(result, events, pieces)
        support = check_answer(marked(result.text, result.marks), result.citations, ANALYZER)
        beside = Citation(2, passage, passage.text)
        return replace(result, support=support, citations=(*result.citations, beside))

    @contextmanager
    def stored(self, results: Sequence[ChatResult]) -> Iterator[int]:
        """A conversation with these answers, deleted in the end."""
        conversation = self.store.create(self.user.id).id
        try:
            for result in results:
                self.store.add(conversation, ChatRequest(self.user.id, "Which row?"), result)
            yield conversation
        finally:
            self.store.delete(self.user.id, conversation)

    def check_stored(self, results: Sequence[ChatResult]) -> str:
        """As they are stored, exported, and given out by the API; returns the page on which they are read again."""
        with self.stored(results) as conversation:
            messages = self.store.messages(self.user.id, conversation)[1::2]
            page = f"/chat/{conversation}"
            as_markdown = self.client.get(f"{page}/export.md").text.split("\n## Answer (")[1:]
            as_json = json.loads(self.client.get(f"{page}/export.json").text)
            by_api = self.client.get(f"/api/v1/conversations/{conversation}", headers=self._key).json
            assert by_api is not None
            for at, result in enumerate(results):
                assert messages[at].text == result.text
                assert messages[at].marked_text == marked(result.text, result.marks)
                check_markdown(as_markdown[at].partition("\n## Question (")[0], result)
                for given in (as_json["messages"][1::2][at], by_api["messages"][1::2][at]):
                    assert given["text"] == result.text
                    assert [each["text"] for each in given["citations"]] == [each.text for each in result.citations]
            return self.client.get(page).text

    def check_growing(self, events: Sequence[Event]) -> None:
        """As the page shows it while it is written."""
        growing, shown, text = AnswerSoFar(), "", ""
        for event in events:
            if isinstance(event, AnswerText):
                text += marked(event.text, event.marks)
            elif isinstance(event, AnswerWithdrawn):
                text = ""
            (_, data, *_) = growing.event(text).split("\n")
            new = json.loads(data.removeprefix("data: "))
            kept = shown.encode("utf-16-le")[: 2 * new["keep"]].decode("utf-16-le")
            shown = kept + new["html"]
        assert shown == answer_html(text)

    def check_sent(self, result: ChatResult, events: Sequence[Event], pieces: Sequence[AnswerText]) -> None:
        """As clients of OpenAI's interface have it, behind what was withdrawn."""
        with self.app.test_request_context():
            sent = completion(Head("braid", "en"), result).choices[0].message
            chunks, responses = Chunks(Head("braid", "en")), ResponseEvents(Head("braid", "en"))
            lines = "".join(chunks.event(event) for event in (*events, result))
            newer = "".join(responses.event(event) for event in (*events, result))
        assert unmarked(sent.content, [each.url_citation.start_index for each in sent.annotations]) == result.text
        assert without_footnotes(sent.content) == sent.content.rpartition("\n\n[^1]: ")[0].strip()
        parts = [json.loads(line[6:]) for line in lines.split("\n\n") if line.startswith("data: {")]
        delta = [part["choices"][0]["delta"] for part in parts]
        streamed = "".join(each.get("content") or "" for each in delta)
        places = [each["url_citation"]["start_index"] for each in delta[-1]["annotations"]]
        notice = f"*{say('withdrawn', 'en')}*\n\n"
        begins = streamed.rfind(notice) + len(notice) if notice in streamed else 0
        assert unmarked(streamed[begins:], [at - begins for at in places]) == "".join(piece.text for piece in pieces)
        for sent_events in (lines, newer):
            assert len(sent_events.splitlines()) == sent_events.count("\n"), "an event is one line for every client"
        read = [json.loads(line[6:]) for line in newer.split("\n") if line.startswith("data: {")]
        assert "".join(each["delta"] for each in read if each["type"] == "response.output_text.delta") == streamed
        assert read[-1]["response"]["output"][0]["content"][0]["text"] == streamed


def answers_on(page: str) -> list[str]:
    """What a reader sees of each answer of a conversation's page."""
    return seen_in(page.partition("<template")[0], of="prose")


def check_markdown(exported: str, result: ChatResult) -> None:
    """An answer and the passage that it cites second are what is exported."""
    assert f"\n\n{result.text}\n" in exported
    quoted = exported.rpartition("**[2]**")[2].partition("\n\n")[2].rstrip("\n")
    lines = [line.removeprefix(">").removeprefix(" ") for line in quoted.split("\n")]
    cited = [line.rstrip() for line in result.citations[1].text.splitlines()]
    if len(lines) > len(cited):  # code without an end, which would take in what follows
        assert set(lines.pop()) in ({"`"}, {"~"})
    assert [plain(line) for line in lines] == [plain(line) for line in cited]


def unmarked(content: str, places: Sequence[int]) -> str:
    """An answer as it was before its citations became footnotes."""
    text, notes, _ = content.rpartition("\n\n[^1]: ")
    assert notes
    for at in reversed(places):
        assert text[at : at + 4] == "[^1]"
        text = f"{text[:at]}[1]{text[at + 4 :]}"
    return text


def check_quotes(passage: Passage, said: str) -> None:
    """What is quoted without a model is in the passage, letter by letter."""
    for featured in answer("Which row is the pump?", passage).shown:
        if "|" not in said:  # the cells of tables are quoted with the names of their columns
            for line in featured.text.split("\n"):
                assert "".join(line.split()) in "".join(literal(passage.text).split())
