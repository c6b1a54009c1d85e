"""A turn's progress as server-sent events: the current stage, the answer so far, and heartbeats."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from flask_babel import gettext as _

from braid.app.web.event_stream import HEARTBEAT, HEARTBEAT_S, event
from braid.app.web.markdown import answer_html
from braid.core.chat.live_turn import LiveTurn
from braid.core.chat.marks import marked
from braid.core.chat.types import AnswerText, AnswerWithdrawn, Event, Stage

RENDER_EVERY_S = 0.2
"""Shortest time between two renderings of the answer so far."""


@dataclass
class _Draft:
    """The answer so far, a marked text, and whether it has been sent."""

    text: str = ""
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
        return self.unsent and time.monotonic() - self.sent_at >= RENDER_EVERY_S

    def render(self) -> str:
        """Return the event that shows the answer so far."""
        self.unsent, self.sent_at = False, time.monotonic()
        return event("text", {"html": answer_html(self.text)})


def progress(live: LiveTurn, describe: Callable[[Event], Iterator[str]]) -> Iterator[str]:
    """Yield the turn's events as text: what ``describe`` makes of each, and the answer so far (``text``).

    A comment follows each 15 seconds of silence. Raises what the turn raises.
    """
    draft, last_sent_at = _Draft(), time.monotonic()
    for happened in live.events(RENDER_EVERY_S):
        if happened is not None:
            draft.take(happened)
        parts = [draft.render()] if draft.due else []
        if happened is not None:
            parts += describe(happened)
        if not parts and time.monotonic() - last_sent_at >= HEARTBEAT_S:
            parts.append(HEARTBEAT)
        if parts:
            last_sent_at = time.monotonic()
            yield "".join(parts)


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
