"""What users share, for pages and API alike: links of conversations, requests for access, datasets handed over."""

from __future__ import annotations

from collections.abc import Sequence

from flask_babel import get_locale

from braid.app.auth.identity import identity
from braid.app.mounted import url_for
from braid.app.site import site
from braid.core.accounts.transfer import give_assistant, transfer_datasets
from braid.core.chat.store import StoredMessage
from braid.core.chat.texts import Language
from braid.core.chat.turns.shared import SharedConversation
from braid.core.chat.types import LANGUAGES
from braid.core.datasets.assistants import MOST_OF_USER, Assistant
from braid.core.errors import InvalidInputError, NotFoundError, Reason
from braid.core.ledger.quota import documents_in, documents_of
from braid.core.types import Dataset


def hand_over(dataset: Dataset, name: str) -> None:
    """Make the user with this name the owner of a personal dataset; the owner until then may not read it any more.

    Raises InvalidInputError for nobody who can sign in, and when the user has too many datasets or documents.
    """
    here, name = site(), name.strip()
    ledger, settings = here.braid.ledger, here.settings
    user_id = here.shares.user_named(name)
    moved = documents_in(dataset.id)
    documents = ledger.database.value(moved) + ledger.database.value(documents_of(user_id))
    if len(ledger.datasets(user_id)) >= settings.max_user_datasets or documents > settings.max_user_documents:
        raise InvalidInputError(
            Reason(
                "%(name)s would have more than %(datasets)s datasets or %(documents)s documents, which "
                "are the limits; an administrator can raise them",
                name=name,
                datasets=format(settings.max_user_datasets, ","),
                documents=format(settings.max_user_documents, ","),
            ),
            field="name",
        )
    with here.whole():
        transfer_datasets(ledger, dataset.user_id or 0, user_id, [dataset.id])
        here.audit.add(identity().account.name, "dataset.transferred", name, f"{dataset.id} {dataset.name}")
    here.braid.wake()


def hand_over_all(user_id: int, heir_id: int, dataset_ids: Sequence[int] | None = None) -> list[int]:
    """Give datasets of a user to another, or all of them with the assistants; return the ids of the datasets.

    Raises InvalidInputError for one user twice, and NotFoundError for a dataset of somebody else.
    """
    here = site()
    account, heir = here.accounts.get(user_id), here.accounts.get(heir_id)
    with here.whole():
        moved = transfer_datasets(here.braid.ledger, account.id, heir.id, dataset_ids)
        detail = f"{len(moved)} datasets of {account.name}"
        here.audit.add(identity().account.name, "dataset.transferred", heir.name, detail)
    here.braid.wake()
    return moved


def hand_over_assistant(assistant: Assistant, name: str) -> None:
    """Make the user with this name the owner of an assistant. Raises InvalidInputError for nobody who can sign in, for
    the owner, and when that user has too many.
    """
    here, name = site(), name.strip()
    user_id = here.shares.user_named(name)
    if user_id == assistant.user_id:
        raise InvalidInputError(f"{name!r} is the owner of this assistant; name another", field="name")
    if len([each for each in here.assistants.of_user(user_id) if not each.owner]) >= MOST_OF_USER:
        raise InvalidInputError(
            Reason("%(name)s would have more than %(most)s assistants, the limit", name=name, most=MOST_OF_USER),
            field="name",
        )
    with here.braid.ledger.database.write() as connection:
        give_assistant(connection, assistant.id, user_id)
        here.audit.add(identity().account.name, "assistant.transferred", name, f"{assistant.id} {assistant.name}")


def make_link(conversation_id: int) -> None:
    """Share one of the user's conversations as it is now by a new link. Raises NotFoundError and InvalidInputError."""
    me = identity().account
    with site().whole():
        site().conversations.links.share(me.id, conversation_id)
        site().audit.add(me.name, "conversation.shared", str(conversation_id))


def end_link(conversation_id: int) -> None:
    """Take the link of one of the user's conversations back, if there is one. Raises NotFoundError."""
    me = identity().account
    with site().whole():
        if site().conversations.links.end(me.id, conversation_id):
            site().audit.add(me.name, "conversation.unshared", str(conversation_id))


def link_of(conversation_id: int) -> str:
    """Return the whole address of the link of one of the user's conversations; empty without one."""
    token = site().conversations.links.token(identity().account.id, conversation_id)
    return url_for("braid.chat.read_shared", token=token, _external=True) if token else ""


def read_by_link(found: SharedConversation, ids: Sequence[int]) -> list[StoredMessage]:
    """Return messages of a shared conversation, as far as the user may read what its answers are from."""
    store, reader = site().conversations, identity().account.id
    return store.messages(found.user_id, found.conversation_id, ids=ids, reader_id=reader, language=_language())


def copy_shared(found: SharedConversation) -> int:
    """Copy a shared conversation to one of the user's own, and return its id. Raises InvalidInputError."""
    most = site().settings.max_user_conversations
    return site().conversations.copy(identity().account.id, found, language=_language(), most=most).id


def _language() -> Language:
    page = str(get_locale() or "en")[:2]
    return next((each for each in LANGUAGES if each == page), "en")


def ask_for_access(messages: Sequence[StoredMessage], number: int | None) -> None:
    """Ask for access to the dataset of a citation that the user may not read. Raises NotFoundError for any other."""
    for message in messages:
        for citation in message.citations:
            if citation.number == number and citation.fate == "withheld":
                site().shares.ask(identity().account.id, citation.dataset_id)
                return
    raise NotFoundError(f"the answer has no citation {number} that you may not read")
