"""A turn's progress on a page: its stage in words, and what is new of the answer's HTML."""

from __future__ import annotations

from collections.abc import Sequence

from flask_babel import gettext as _

from braid.app.web.event_stream import event
from braid.app.web.markdown import Span, checked_html
from braid.app.words.searches import with_lead
from braid.core.chat.marks import shown
from braid.core.chat.types import Stage

RENDER_EVERY_S = 0.2
"""Shortest time between two renderings of the answer so far."""


class AnswerSoFar:
    """The HTML of an answer as far as one page has it. The page is sent what differs, at the end of it."""

    def __init__(self) -> None:
        self._sent = ""

    def event(self, text: str, spans: Sequence[Span] = ()) -> str:
        """Return the event that shows this marked text: ``html``, and how much of what was sent it follows (``keep``).

        ``spans`` are the parts to be marked, in characters of the shown text.

        ``keep`` counts the units of a script's strings, two for an emoji. It is 0 in the first event.
        """
        plain, marks = shown(text)
        html = str(with_lead(checked_html(plain, marks, spans, lambda: lambda number: ""), plain))
        same = _common(self._sent, html)
        kept_units, self._sent = len(html[:same].encode("utf-16-le")) // 2, html
        return event("text", {"keep": kept_units, "html": html[same:]})


def _common(one: str, other: str) -> int:
    """Return the number of characters that both texts begin with."""
    least, most = 0, min(len(one), len(other))
    while least < most:
        middle = (least + most + 1) // 2
        if one[least:middle] == other[least:middle]:
            least = middle
        else:
            most = middle - 1
    return least


def stage_text(stage: Stage, *, of_fields: bool = False) -> str:
    """Return the description of this stage, in the page's language."""
    texts: dict[Stage, str] = {
        "normalize": _("Reading the fields…") if of_fields else _("Reading the question…"),
        "generate_query": _("Writing the query…"),
        "search": _("Searching…"),
        "answer": _("Writing the answer…"),
        "compare": _("Comparing…"),
    }
    return texts[stage]
