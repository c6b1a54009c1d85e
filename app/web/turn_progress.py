"""A turn's progress as server-sent events: the current stage, the answer so far, and heartbeats."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from flask_babel import gettext as _

from braid.app.web.event_stream import HEARTBEAT_S, event
from braid.app.web.markdown import Span, checked_html
from braid.core.chat.live_turn import LiveTurn
from braid.core.chat.marks import marked, shown
from braid.core.chat.turns.bell import Pause
from braid.core.chat.types import AnswerText, AnswerWithdrawn, Event, Stage

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
        html = str(checked_html(*shown(text), spans, lambda: lambda number: ""))
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


@dataclass
class _Draft:
    """The answer so far, a marked text, and whether it has been sent."""

    text: str = ""
    shown: AnswerSoFar = field(default_factory=AnswerSoFar)
    sent_at: float = 0.0
    unsent: bool = False

    def take(self, happened: Event) -> None:
        """Add the event's text, or forget the text if it is withdrawn."""
        if isinstance(happened, AnswerText):
            self.text, self.unsent = self.text + marked(happened.text, happened.marks), True
        elif isinstance(happened, AnswerWithdrawn):
            self.text, self.unsent = "", True

    @property
    def due(self) -> bool:
        """Whether it is time to send the text again."""
        return self.unsent and self.due_in_s <= 0

    @property
    def due_in_s(self) -> float:
        """Seconds until the text is to be sent again; `HEARTBEAT_S` if it has not changed."""
        return self.sent_at + RENDER_EVERY_S - time.monotonic() if self.unsent else HEARTBEAT_S

    def render(self) -> str:
        """Return the event that shows the answer so far."""
        self.unsent, self.sent_at = False, time.monotonic()
        return self.shown.event(self.text)


def progress(live: LiveTurn[Event], describe: Callable[[Event], Iterator[str]]) -> Iterator[str | Pause]:
    """Yield the turn's events as text: what ``describe`` makes of each, and the answer so far (``text``).

    Where there is nothing new it yields a pause. Raises what the turn raises.
    """
    draft = _Draft()
    for happened in live.events(HEARTBEAT_S):
        if isinstance(happened, Pause):
            yield draft.render() if draft.due else replace(happened, seconds=draft.due_in_s)
            continue
        draft.take(happened)
        yield "".join([draft.render()] if draft.due else []) + "".join(describe(happened))


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
