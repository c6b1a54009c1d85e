"""What a model wrote is what is stored, shown, exported and sent, and what a passage says is what a prompt and a quote
have: the same text but for the marks that were meant, and for links, pictures and HTML, which are text.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from typing import Any

import pytest
from flask import Flask
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.outputs import ChatResult as ModelResult

from braid.app.openai_api.completions import Chunks, Head, completion
from braid.app.openai_api.footnotes import without_footnotes
from braid.app.web.markdown import answer_html
from braid.app.web.turn_progress import AnswerSoFar
from braid.core.braid import Braid
from braid.core.chat.answering import Answerer, AnswerTask
from braid.core.chat.export import as_json, as_markdown
from braid.core.chat.marks import literal, marked
from braid.core.chat.passage_block import passage_block
from braid.core.chat.quoting.extractive import Extract
from braid.core.chat.types import AnswerText, ChatRequest, ChatResult, Event, result_json
from braid.core.models.chat import ChatModel, ModelSettings
from braid.core.models.prompts import Prompts
from braid.core.models.whole_text import whole
from braid.core.text.analyzer import Analyzer
from braid.core.types import Hit, Passage, Query, SearchResult
from tests.core.chat.test_extractive import passage
from tests.core.chat.test_featured import answer
from tests.web import make_app, site_of
from tests.worlds import document

SHORT, LONG = 250, 10_000
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


class Speaker(BaseChatModel):
    """A model that writes a text in pieces of some units of UTF-16, so that characters come in halves."""

    said: str
    size: int

    @property
    def _llm_type(self) -> str:
        return "speaker"

    def _generate(self, messages: list[BaseMessage], *args: Any, **options: Any) -> ModelResult:
        raise NotImplementedError("answers are streamed")

    def _stream(self, messages: list[BaseMessage], *args: Any, **options: Any) -> Iterator[ChatGenerationChunk]:
        own = re.search(r"\[p-[0-9a-f]{4}:1\]", str(messages[0].content))
        assert own is not None
        units = self.said.replace(MARK, own[0]).encode("utf-16-le", "surrogatepass")
        for at in range(0, len(units), 2 * self.size):
            piece = units[at : at + 2 * self.size]
            halves = "".join(piece[n : n + 2].decode("utf-16-le", "surrogatepass") for n in range(0, len(piece), 2))
            yield ChatGenerationChunk(message=AIMessageChunk(halves))
        yield ChatGenerationChunk(message=AIMessageChunk("", response_metadata={"finish_reason": "stop"}))


def answered(said: str, size: int, found: Passage) -> tuple[ChatResult, list[Event]]:
    """The answer of a model that says this, and the events of its turn."""
    model = ChatModel(ModelSettings("test:speaker"), given=Speaker(said=said, size=size))
    search = SearchResult(Query("q"), "basic", "none", (), (Hit(found, 1.0, ()),), ())
    task = AnswerTask(Prompts().answer, "Which row?", "en", lambda citations: Extract("", False))
    events: list[Event] = []
    begun = ChatResult("Which row?", "q", "none", search)
    return Answerer(model, 6_000, Analyzer()).answer(task, begun, events.append, threading.Event()), events


def plain(text: str) -> str:
    """The text without what makes links, pictures and HTML text."""
    return re.sub(r"\\+(?=!\[)", "", text.replace("&lt;", "<")).replace("] (", "](").replace("] :", "]:")


def meant(said: str) -> str:
    """What is to be stored of it."""
    return literal(whole(said)).replace(MARK, "[1]").strip()


class Text(HTMLParser):
    """The text of HTML."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []

    def handle_data(self, data: str) -> None:
        self.parts.append(data)


def seen(html: str) -> str:
    """What a reader sees."""
    reader = Text()
    reader.feed(html)
    reader.close()
    return "".join(reader.parts)


class Desk:
    """An app, its stored conversations, and one passage that answers cite."""

    def __init__(self, braid: Braid) -> None:
        self.app: Flask = make_app(braid)
        here = site_of(self.app)
        self.store, self.user = here.conversations, here.accounts.all()[0].id
        dataset = braid.ledger.add_dataset(self.user, "notes").id
        put = braid.ledger.put_document(dataset, document("table.md", "The row is in the table.", title="Table"))
        (self.passage,) = braid.ledger.document_passages(put.document_id, [dataset])

    def check(self, said: str, size: int) -> None:
        """The text is the same wherever it goes."""
        written = f"So {MARK}.\n\n{said} {MARK}"  # an answer with one such mark has no others
        result, events = answered(written, size, self.passage)
        expected = plain(meant(written))
        assert result.marks is not None
        assert re.fullmatch(re.escape(expected) + r"(?:\n[`~]{3,})?", plain(result.text))
        assert [result.text[at : at + 3] for at in result.marks] == ["[1]", "[1]"]
        pieces = [event for event in events if isinstance(event, AnswerText)]
        assert plain("".join(piece.text for piece in pieces)).strip().startswith(expected)
        assert sum(len(piece.marks or ()) for piece in pieces) == 2
        assert result_json(result)["text"] == result.text
        self.check_stored(result)
        self.check_sent(result, pieces)

    def check_stored(self, result: ChatResult) -> None:
        """As it is stored, exported, and shown when it is read again."""
        conversation = self.store.create(self.user)
        stored = self.store.add(conversation.id, ChatRequest(self.user, "Which row?"), result)
        (question, message) = self.store.messages(self.user, stored.conversation_id)
        assert message.text == result.text
        assert message.marked_text == marked(result.text, result.marks)
        assert f"\n\n{result.text}\n" in "".join(as_markdown(conversation, [question, message]))
        exported = json.loads("".join(as_json(conversation, [question, message])))
        assert exported["messages"][1]["text"] == result.text

    def check_sent(self, result: ChatResult, pieces: Sequence[AnswerText]) -> None:
        """As the page shows it while it grows, and as clients of OpenAI's interface have it."""
        growing, shown, text = AnswerSoFar(), "", ""
        for piece in pieces:
            text += marked(piece.text, piece.marks)
            (_, data, *_) = growing.event(text).split("\n")
            new = json.loads(data.removeprefix("data: "))
            kept = shown.encode("utf-16-le")[: 2 * new["keep"]].decode("utf-16-le")
            shown = kept + new["html"]
        assert shown == answer_html(text)
        with self.app.test_request_context():
            sent = completion(Head("braid", "en"), result).choices[0].message
            chunks = Chunks(Head("braid", "en"))
            lines = "".join(chunks.event(event) for event in (*pieces, result))
        assert unmarked(sent.content, [each.url_citation.start_index for each in sent.annotations]) == result.text
        assert without_footnotes(sent.content) == sent.content.rpartition("\n\n[^1]: ")[0].strip()
        parts = [json.loads(line[6:]) for line in lines.split("\n\n") if line.startswith("data: {")]
        delta = [part["choices"][0]["delta"] for part in parts]
        streamed = "".join(each.get("content") or "" for each in delta)
        places = [each["url_citation"]["start_index"] for each in delta[-1]["annotations"]]
        assert unmarked(streamed, places) == "".join(piece.text for piece in pieces)
        assert len(lines.splitlines()) == lines.count("\n"), "an event is one line for every client"


def unmarked(content: str, places: Sequence[int]) -> str:
    """An answer as it was before its citations became footnotes."""
    text, notes, _ = content.rpartition("\n\n[^1]: ")
    assert notes
    for at in reversed(places):
        assert text[at : at + 4] == "[^1]"
        text = f"{text[:at]}[1]{text[at + 4 :]}"
    return text


@pytest.fixture(scope="module")
def desk(shelf: Braid) -> Desk:
    return Desk(shelf)


def many(is_long: bool) -> settings:
    return settings(
        max_examples=LONG if is_long else SHORT, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )


def test_an_answer_is_one_text_wherever_it_goes(desk: Desk, is_long: bool) -> None:
    @many(is_long)
    @example("\ud83d\ude00 and half \ud83d", 1)
    @example("a\r\n```\r\nx[1]\r\n```\r\nb\x00c", 1)
    @example("[^1]{3} in `[^1]` and\n[^1]: no note", 3)
    @given(TEXT, st.integers(1, 9))
    def check(said: str, size: int) -> None:
        desk.check(said, size)

    check()


# ---------------------------------------------------------------- the page

SEEN = (
    *BRACKETS,
    *SCRIPTS[:-1],
    *EMOJI[:-2],
    *WORDS,
    *TABLES,
    "**",
    "*",
    "_",
    "~~",
    "> ",
    "- ",
    "\n\n",
    "\n",
    " ",
    "#",
)
IN_PROSE = st.lists(st.sampled_from([*SEEN, *HTML[:6], *FORMULAS]), max_size=14).map("".join)
WITH_CODE = st.lists(st.sampled_from([*SEEN, *(each for each in CODE if each != "```\n")]), max_size=14).map("".join)
NAMES_LANGUAGE = re.compile(r"(?:`{3,}|~{3,})[^\S\n]*(?!py\n)\S")
"""What follows a fence on its line names the language, and is not shown."""
MARKS_OF_MARKDOWN = "*_~#>|+=-\\`<!"


def solid(text: str) -> str:
    """The text without spaces and marks of Markdown, which a reader does not see."""
    return "".join(text.translate(dict.fromkeys(map(ord, MARKS_OF_MARKDOWN))).split())


def test_a_page_shows_every_letter_digit_and_bracket(is_long: bool) -> None:
    @many(is_long)
    @example("| a | b |\n|---|---|\n| 1 | 2 | 3 |\n")
    @given(st.one_of(IN_PROSE, WITH_CODE))
    def check(said: str) -> None:
        assume(not NAMES_LANGUAGE.search(f"x {said} {MARK}."))
        result, _ = answered(f"x {said} {MARK}.", 50, passage("The row is in the table."))
        html = answer_html(marked(result.text, result.marks))
        shown = solid(seen(html)).replace("py", "")
        assert shown == solid(plain(meant(f"x {said} {MARK}."))).replace("py", "")

    check()


IN_FORMULAS = (
    "x_1",
    "*",
    "^2",
    "{a}",
    " ",
    "\\frac",
    "<",
    "b",
    ">",
    "&",
    "_",
    "[1]",
    "|",
    "語",
    "- ",
    "+ ",
    "\\\\",
    "#",
)
FORMULA = st.lists(st.sampled_from(IN_FORMULAS), max_size=9).map("".join)
AROUND = (("\\(", "\\)"), ("\\[", "\\]"), ("$$", "$$"), ("$", "$"))


@settings(max_examples=300, deadline=None)
@given(FORMULA, st.sampled_from(AROUND))
def test_a_formula_is_shown_to_the_letter(inner: str, around: tuple[str, str]) -> None:
    formula = f"{around[0]}{inner.strip() or 'x'}{around[1]}"
    result, _ = answered(f"It is {formula} {MARK}.", 7, passage("It is so."))
    assert f"It is {formula} [1]." in seen(answer_html(marked(result.text, result.marks)))


@settings(max_examples=300, deadline=None)
@example("a\n- b\n+ c\n> d\n# e\n1. f", AROUND[1], "> ")
@given(
    st.lists(FORMULA, min_size=1, max_size=4).map("\n".join), st.sampled_from(AROUND[1:3]), st.sampled_from(["", "> "])
)
def test_the_lines_of_a_formula_are_shown_to_the_letter(inner: str, around: tuple[str, str], before: str) -> None:
    lines = [around[0], *(line.strip() or "x" for line in inner.split("\n")), around[1]]
    written = "".join(f"{before}{line}\n" for line in ("It is", *lines, "so."))
    result, _ = answered(f"{written}\n\n{MARK}", 7, passage("It is so."))
    shown = seen(answer_html(marked(result.text, result.marks)))
    assert [line.strip() for line in shown.split("\n") if line.strip()] == ["It is", *lines, "so.", "[1]"]


@pytest.mark.parametrize("text", ["It costs $1,200 to **$3,450** and *5$*.", "From $5 *to* $6.", "$HOME and *$PATH*"])
def test_prices_are_no_formulas(text: str) -> None:
    assert seen(answer_html(text)).strip() == text.replace("*", "")


# ---------------------------------------------------------------- passages

VISIBLE = st.one_of(
    *map(st.sampled_from, (CODE, FORMULAS, BRACKETS, SCRIPTS, EMOJI[:5], HTML, MARKUP, TABLES, WORDS, (" ", "\n")))
)


def test_a_passage_is_one_text_in_the_prompt_and_in_quotes(is_long: bool) -> None:
    @many(is_long)
    @given(st.lists(VISIBLE, min_size=1, max_size=14).map("".join))
    def check(said: str) -> None:
        text = f"The pump row is {said} here."
        block = passage_block([passage(text)], tokens=5_000)
        assert text.replace("&lt;", "<") in block.text.replace("&lt;", "<"), "what looks like a delimiter is escaped"
        assert block.citations[0].text == text
        for featured in answer("Which row is the pump?", passage(text)).shown:
            if "|" not in said:  # the cells of tables are quoted with the names of their columns
                for line in featured.text.split("\n"):
                    assert "".join(line.split()) in "".join(literal(text).split())

    check()
