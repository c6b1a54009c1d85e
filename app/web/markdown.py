"""Renders a model's Markdown as safe HTML. The text is untrusted: the model has read strangers' documents."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup

Href = Callable[[int], str]
"""Number of a citation → address of its passage; empty if there is nothing to link to."""

SCHEMES = ("http", "https", "mailto")
FIRST_HEADING = 3
"""Headings of an answer rank below those of the page."""
_CITATION = re.compile(r"\[(\d{1,4})\]")


def answer_html(text: str, href: Href = lambda number: "") -> Markup:
    """Render text as HTML: without embedded HTML and pictures, with links to web and mail only, and citations as links.

    A citation without an address stays visible, as ``[1]``.
    """
    return Markup(_MARKDOWN.render(text, {"href": href}))


def _is_link(address: str) -> bool:
    """Return whether links to this address are allowed. Addresses without a scheme would lead to Braid's own pages."""
    try:
        return urlsplit(address.strip()).scheme.lower() in SCHEMES
    except ValueError:
        return False


def _cite(state: StateCore) -> None:
    """Replace citations in the text, outside links and code, with tokens of their own."""
    for block in state.tokens:
        if block.type == "inline":
            block.children = list(_link_citations(block.children or []))


def _link_citations(tokens: Sequence[Token]) -> Iterator[Token]:
    within = 0
    for token in tokens:
        within += token.type == "link_open"
        within -= token.type == "link_close"
        if token.type != "text" or within:
            yield token
            continue
        for position, part in enumerate(_CITATION.split(token.content)):
            if position % 2:
                yield Token("citation", "a", 0, content=part)
            elif part:
                yield Token("text", "", 0, content=part)


def _tame(state: StateCore) -> None:
    """Put headings in order below the page's own, and turn inline styles, which are forbidden, into classes."""
    levels = sorted({token.tag for token in state.tokens if token.type == "heading_open"})
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, FIRST_HEADING + levels.index(token.tag))}"
        if style := token.attrs.pop("style", ""):
            token.attrSet("class", str(style).replace("text-align:", "align-"))


def _render_citation(
    renderer: RendererHTML, tokens: Sequence[Token], position: int, options: OptionsDict, env: EnvType
) -> str:
    number = int(tokens[position].content)
    address = env["href"](number)
    if not address:
        return f'<span class="cite">[{number}]</span>'
    return str(
        Markup('<a class="cite" href="{}" data-number="{}">[{}]</a>').format(address, number, number),
    )


def _render_link(
    renderer: RendererHTML, tokens: Sequence[Token], position: int, options: OptionsDict, env: EnvType
) -> str:
    tokens[position].attrSet("rel", "noopener noreferrer nofollow")
    tokens[position].attrSet("target", "_blank")
    return renderer.renderToken(tokens, position, options, env)


class _Markdown(MarkdownIt):
    """CommonMark with tables and strikethrough, restricted to what is safe."""

    def __init__(self) -> None:
        super().__init__("commonmark", {"html": False, "linkify": False, "breaks": True})
        self.enable(["table", "strikethrough"])
        # `[1]: address` would turn every [1] into a link; pictures tell their server who reads what.
        self.disable(["reference", "html_block", "html_inline", "image"])
        self.core.ruler.push("citations", _cite)
        self.core.ruler.push("tame", _tame)
        self.add_render_rule("citation", _render_citation)
        self.add_render_rule("link_open", _render_link)

    def validateLink(self, url: str) -> bool:
        """Return whether this may be a link; if not, it stays text."""
        return _is_link(url)


_MARKDOWN = _Markdown()
