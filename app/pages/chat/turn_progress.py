"""A turn's progress as server-sent events: what is done now, the answer so far, and signs of life."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from flask_babel import gettext as _

from braid.app.web.event_stream import HEARTBEAT, HEARTBEAT_S, event
from braid.app.web.markdown import answer_html
from braid.core.chat.live_turn import LiveTurn
from braid.core.chat.types import AnswerText, AnswerWithdrawn, Event, Stage

RENDER_EVERY_S = 0.2
"""The answer so far is rendered anew at most this often."""


@dataclass
class _Draft:
    """The answer so far, and whether all of it has been shown."""

    text: str = ""
    shown_at: float = 0.0
    unshown: bool = False

    def take(self, happened: Event) -> None:
        """Add what the event adds, or forget it all."""
        if isinstance(happened, AnswerText):
            self.text, self.unshown = self.text + happened.text, True
        elif isinstance(happened, AnswerWithdrawn):
            self.text, self.unshown = "", True

    @property
    def due(self) -> bool:
        """Whether it is time to show it."""
        return self.unshown and time.monotonic() - self.shown_at >= RENDER_EVERY_S

    def shown(self) -> str:
        """The event that shows it."""
        self.unshown, self.shown_at = False, time.monotonic()
        return event("text", {"html": answer_html(self.text)})


def progress(live: LiveTurn, told: Callable[[Event], Iterator[str]]) -> Iterator[str]:
    """The turn's events as text: those that ``told`` makes of them, the answer so far (``text``), and a comment after
    each 15 seconds of silence. Raises what the turn raises.
    """
    draft, spoke_at = _Draft(), time.monotonic()
    for happened in live.events(RENDER_EVERY_S):
        if happened is not None:
            draft.take(happened)
        said = [draft.shown()] if draft.due else []
        if happened is not None:
            said += told(happened)
        if not said and time.monotonic() - spoke_at >= HEARTBEAT_S:
            said.append(HEARTBEAT)
        if said:
            spoke_at = time.monotonic()
            yield "".join(said)


def stage_text(stage: Stage, *, of_fields: bool = False) -> str:
    """What is done in this stage, in the page's language."""
    texts: dict[Stage, str] = {
        "normalize": _("Reading the fields …") if of_fields else _("Reading the question …"),
        "generate_query": _("Writing the query …"),
        "search": _("Searching …"),
        "answer": _("Writing the answer …"),
        "compare": _("Comparing …"),
    }
    return texts[stage]
