"""Assistants as the user of a request may use them: at each question within what that user may read just then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from werkzeug.exceptions import Forbidden

from braid.app.auth.identity import Identity, identity
from braid.app.site import Site, site
from braid.app.user.datasets import Readable, UserDatasets, readable_datasets
from braid.app.user.models import NO_MODEL, ChosenModels, choose_models, offered_models
from braid.core.chat.types import ChatRequest, ChatResult, Event
from braid.core.datasets.assistants import Assistant, OpenAssistant
from braid.core.errors import InvalidInputError, NotFoundError, Reason
from braid.core.options import used_options

CLOSED = Reason("this assistant is no longer open to you; choose another one, or datasets of your own selection")
NONE_OPEN = Reason("none of the datasets of this assistant is open to you; ask for access on its page")


@dataclass(frozen=True, slots=True)
class UsableAssistant(OpenAssistant):
    """An assistant, with those of its datasets that the user may read just now, and the others that there are, of which
    the user is told the number alone.
    """

    dataset_ids: tuple[int, ...]
    closed_ids: frozenset[int]

    @property
    def closed(self) -> int:
        """The number of its datasets that the user may not read."""
        return len(self.closed_ids)

    @property
    def notes(self) -> tuple[str, ...]:
        """What of the assistant is not used for this user."""
        total, model = len(self.dataset_ids) + self.closed, self.assistant.model
        notes = (
            [
                Reason(
                    "not open to you: %(count)s of the %(total)s datasets of this assistant",
                    count=self.closed,
                    total=total,
                )
            ]
            if self.closed
            else []
        )
        if model and not self.model:
            notes.append(
                Reason("the assistant's model %(model)s is not offered any more; yours is used instead", model=model)
            )
        return tuple(notes)

    @property
    def model(self) -> str:
        """The model that answers; empty for the user's."""
        model = self.assistant.model
        return model if model in (*offered_models().summary, NO_MODEL) else ""

    def require_open(self) -> UsableAssistant:
        """Return the assistant itself. Raises InvalidInputError if the user may read none of its datasets."""
        if not self.dataset_ids:
            raise InvalidInputError(NONE_OPEN, field="assistant")
        return self

    def options(self, of_site: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of its searches; ``of_site`` are those of a search that names none."""
        return used_options(self.assistant.options, of_site)

    def request(self, asked: ChatRequest, *also: int) -> ChatRequest:
        """Return a question as one to this assistant; ``also`` are datasets that are searched besides its own."""
        return replace(
            asked,
            dataset_ids=(*self.require_open().dataset_ids, *also),
            everything=False,
            strategy=self.assistant.strategy,
            options=self.options(site().options),
            instruction="\n\n".join(filter(None, (self.assistant.instruction, asked.instruction))),
            assistant_id=self.assistant.id,
        )

    def models(self) -> ChosenModels:
        """Return the models that answer this user."""
        return choose_models(identity().account, summary_model=self.model or None)


def assistant_of(assistant_id: int, here: Site | None = None, me: Identity | None = None) -> UsableAssistant:
    """Return an assistant that a user may use, with what it may read for them. Raises NotFoundError.

    The site and the user are those of the request, unless they are given.
    """
    here, me = here or site(), me or identity()
    found = here.assistants.get(me.account.id, assistant_id)
    return _usable(here, found, UserDatasets(here.braid, me.account.id, within=me.dataset_ids).readable())


def asked_assistant(assistant_id: int) -> UsableAssistant:
    """Return the assistant of a question from an open page. Raises InvalidInputError for one that was taken back, and
    where the user may read none of its datasets.
    """
    try:
        return assistant_of(assistant_id).require_open()
    except NotFoundError:
        raise InvalidInputError(CLOSED, field="assistant") from None


def own_assistant(assistant_id: int) -> Assistant:
    """Return an assistant of the user. Raises NotFoundError, and Forbidden for one that somebody else shares."""
    found = assistant_of(assistant_id)
    if found.owner:
        raise Forbidden(Reason("only its owner, %(name)s, may do this with the assistant", name=found.owner))
    return found.assistant


def editable_assistant(assistant_id: int) -> UsableAssistant:
    """Return an assistant that the user may change. Raises NotFoundError, and Forbidden for one only to be used."""
    found = assistant_of(assistant_id)
    if not found.may_edit:
        raise Forbidden(Reason("%(name)s lets you use this assistant, but not change it", name=found.owner))
    return found


def its_datasets(chosen: Sequence[int], before: Assistant | None) -> tuple[int, ...]:
    """Return the datasets that an assistant gets: those chosen, and those that it had and the user may not read, whom
    they are hidden from. Raises InvalidInputError for one that the user may not read.
    """
    readable = {dataset.id for dataset in readable_datasets(identity().account).all}
    if unknown := [str(each) for each in chosen if each not in readable]:
        told = f"there is no dataset {', '.join(unknown)[:200]} that you may read; choose others"
        raise InvalidInputError(told, field="dataset_ids")
    return (*chosen, *(each for each in before.dataset_ids if each not in readable)) if before else tuple(chosen)


def its_model(model: str, before: Assistant | None) -> str:
    """Return the model that an assistant gets, which may be the one that it has. Raises InvalidInputError for one that
    is not offered.
    """
    offered = (*offered_models().summary, NO_MODEL)
    if model and model not in offered and not (before and model == before.model):
        told = f"the model {model[:100]!r} is not offered here; choose one of {', '.join(offered)}"
        raise InvalidInputError(told, field="summary_llm_model")
    return model


def usable_assistants(readable: Readable) -> list[UsableAssistant]:
    """Return the assistants that the user may use, their own first."""
    here = site()
    return [_usable(here, each, readable) for each in here.assistants.of_user(identity().account.id)]


def _usable(here: Site, found: OpenAssistant, readable: Readable) -> UsableAssistant:
    wanted, mine = found.assistant.dataset_ids, {dataset.id for dataset in readable.all}
    is_open = tuple(each for each in wanted if each in mine)
    closed = here.assistants.existing(set(wanted) - mine) if len(is_open) < len(wanted) else frozenset[int]()
    return UsableAssistant(found.assistant, found.owner, found.may_edit, is_open, closed)


def noting(events: Iterator[Event], notes: Sequence[str]) -> Iterator[Event]:
    """Yield the events of a turn, with further notes in its result."""
    for each in events:
        yield replace(each, notes=(*each.notes, *notes)) if isinstance(each, ChatResult) else each
