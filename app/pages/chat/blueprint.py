"""The blueprint of the chat pages, and the data that a view needs besides the messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from babel.lists import format_list
from flask_babel import get_locale

from braid.app.auth.access import Routes
from braid.app.auth.identity import identity
from braid.app.pages.chat.view import Shelf
from braid.app.site import site
from braid.app.user.datasets import Readable
from braid.app.user.models import choose_model
from braid.app.words.values import FAULTS, person
from braid.core.accounts.account_list import administrators
from braid.core.chat.feedback import MAX_COMMENT_CHARS
from braid.core.chat.store import StoredMessage

SHOWN_ADMINISTRATORS = 3

chat = Routes("chat", __name__, "user", url_prefix="/chat")


@dataclass(frozen=True, slots=True)
class ModelAdvice:
    """How somebody whose answers are quoted gets a model: connect one, choose one, or ask one of those in ``names``."""

    connect: bool = False
    choose: bool = False
    names: str = ""


@chat.context_processor
def in_templates() -> dict[str, object]:
    """Return what the templates of a conversation need besides what they are given."""
    return {"model_advice": model_advice, "faults": FAULTS, "max_comment_chars": MAX_COMMENT_CHARS}


def model_advice() -> ModelAdvice | None:
    """Say how the user gets a model that writes answers; None where one does."""
    here, me = site(), identity()
    if here.models.menu("summary"):
        return None if choose_model(me.account, "summary") else ModelAdvice(choose=True)
    if me.is_admin:
        return ModelAdvice(connect=True)
    if not here.standalone:
        return ModelAdvice()
    admins = list(map(person, administrators(here.braid.ledger.database)[:SHOWN_ADMINISTRATORS]))
    return ModelAdvice(names=format_list(admins, "or", locale=get_locale()))


def make_shelf(conversation_id: int, messages: Sequence[StoredMessage], readable: Readable) -> Shelf:
    """Return the data that a view of the messages needs besides them."""
    cited = sorted({citation.chunk_id for message in messages for citation in message.citations})
    thumbs = site().feedback.current_thumbs(identity().account.id, cited)
    return Shelf(conversation_id, readable.by_id, thumbs, asked=asked_by(messages))


def asked_by(messages: Sequence[StoredMessage]) -> frozenset[int]:
    """Return the datasets that the user has asked for, where one of the messages cites what they may not read."""
    hides = any(citation.fate == "withheld" for message in messages for citation in message.citations)
    return site().shares.asked_by(identity().account.id) if hides else frozenset()
