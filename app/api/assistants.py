"""``/assistants``: datasets, instructions and a way to search under a name, and with whom they are shared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

from braid.app.api.framework.operations import Answered, Resource
from braid.app.api.framework.requests import SAYS_SOMETHING, Given
from braid.app.api.schemas import DatasetId, Page, PageQuery, page_of, slice_rows
from braid.app.api.search_options import FiltersGiven
from braid.app.api.shares import Named, ShareGiven, ShareNamed, ShareShown
from braid.app.auth.access import rule
from braid.app.auth.identity import identity
from braid.app.mounted import url_for
from braid.app.site import site
from braid.app.user.assistants import (
    UsableAssistant,
    assistant_of,
    editable_assistant,
    its_datasets,
    its_model,
    own_assistant,
    usable_assistants,
)
from braid.app.user.datasets import readable_datasets
from braid.app.user.sharing import hand_over_assistant
from braid.core.datasets.assistants import (
    MAX_ASSISTANT_INSTRUCTION_CHARS,
    MAX_DESCRIPTION_CHARS,
    MAX_QUESTION_CHARS,
    MAX_SIGN_CHARS,
    MOST_DATASETS,
    MOST_QUESTIONS,
    Assistant,
)
from braid.core.datasets.shares import Share
from braid.core.json_form import to_json
from braid.core.search.strategies import strategies, strategy_named
from braid.core.types import MAX_K, MAX_NAME_CHARS, Filters, Mode

Color = Literal["blue", "green", "amber", "red", "purple", "gray"]
resource = Resource(
    "assistants",
    "Datasets, instructions and a way to search under a name. Who asks one finds what they may read themselves.",
    "user",
)
ONE = "/assistants/<int:assistant_id>"


class AssistantShown(BaseModel):
    """An assistant that you may use."""

    id: int
    name: str
    description: str
    sign: str = Field(description="Its picture: an emoji or a letter")
    color: Color
    questions: list[str] = Field(description="Questions to begin with")
    dataset_ids: list[int] = Field(description="Those of its datasets that you may read")
    closed_datasets: int = Field(description="Number of its datasets that are not open to you")
    instruction: str | None = Field(description="Null where its owner shows it to editors alone")
    shows_instruction: bool = Field(description="Whether those who use it may read the instruction")
    strategy: str
    search_mode: Mode | None
    top_k: int | None
    filters: dict[str, Any] | None
    summary_llm_model: str = Field(description="`provider:model` that answers; empty for that of who asks")
    owner: str = Field(description="Name of the user who shares it with you; else empty")
    may_edit: bool
    model: str = Field(description="Its id in OpenAI's interface")


class AssistantChanges(Given):
    """What is to change; what is left out stays. Datasets that you may not read stay in it."""

    name: str | None = Field(None, min_length=1, max_length=MAX_NAME_CHARS, pattern=SAYS_SOMETHING)
    dataset_ids: list[DatasetId] | None = Field(None, max_length=MOST_DATASETS)
    description: str | None = Field(None, max_length=MAX_DESCRIPTION_CHARS)
    sign: str | None = Field(None, max_length=MAX_SIGN_CHARS, description="An emoji or a letter")
    color: Color | None = None
    instruction: str | None = Field(
        None,
        max_length=MAX_ASSISTANT_INSTRUCTION_CHARS,
        description="What the language model is told, beside the rules for citations",
    )
    shows_instruction: bool | None = Field(None, description="Whether those who use it may read the instruction")
    questions: list[str] | None = Field(
        None, max_length=MOST_QUESTIONS, description=f"Of up to {MAX_QUESTION_CHARS} characters each"
    )
    strategy: str | None = Field(None, json_schema_extra=lambda schema: schema.update(enum=[*strategies(), None]))
    search_mode: Mode | None = None
    top_k: int | None = Field(None, ge=1, le=MAX_K)
    filters: FiltersGiven | None = None
    summary_llm_model: str | None = Field(
        None, max_length=MAX_NAME_CHARS, description="One of GET /models, `none`, or empty for that of who asks"
    )

    def values(self, before: Assistant | None = None) -> dict[str, Any]:
        """Return the fields of an assistant that are given. Raises InvalidInputError."""
        plain = ("name", "description", "sign", "color", "instruction", "shows_instruction", "strategy")
        values: dict[str, Any] = {name: value for name in plain if (value := getattr(self, name)) is not None}
        if self.questions is not None:
            values["questions"] = tuple(self.questions)
        if self.dataset_ids is not None:
            values["dataset_ids"] = its_datasets(self.dataset_ids, before)
        if self.strategy is not None:
            strategy_named(self.strategy)
        if self.summary_llm_model is not None:
            values["model"] = its_model(self.summary_llm_model, before)
        return {**values, "options": self._options(before.options if before else {})}

    def _options(self, before: Mapping[str, Any]) -> dict[str, Any]:
        given: dict[str, Any] = {"mode": self.search_mode, "k": self.top_k}
        if self.filters is not None:
            given["filters"] = self.filters.filters()
        named = {"mode": "search_mode", "k": "top_k", "filters": "filters"}
        kept = {name: value for name, value in before.items() if named.get(name) not in self.model_fields_set}
        return {**kept, **{name: value for name, value in given.items() if value}}


class AssistantGiven(AssistantChanges):
    """A new assistant."""

    name: str = Field(min_length=1, max_length=MAX_NAME_CHARS, pattern=SAYS_SOMETHING, examples=["Pumps"])
    dataset_ids: list[DatasetId] = Field(min_length=1, max_length=MOST_DATASETS, examples=[[1, -1]])


class AssistantSharing(BaseModel):
    """With whom an assistant is shared."""

    shares: list[ShareShown]


@resource.get("/assistants", Page[AssistantShown])
@rule("user", limited=True)
def list_assistants(query: PageQuery) -> Answered:
    """List the assistants that you may use, your own first."""
    found = usable_assistants(readable_datasets(identity().account))
    return page_of(Page[AssistantShown], query, slice_rows(found), _show)


@resource.post("/assistants", AssistantShown, status=201)
def add_assistant(body: AssistantGiven) -> Answered:
    """Make an assistant."""
    me = identity().account
    added = site().assistants.add(me.id, Assistant(**body.values()))
    return Answered(
        _show(assistant_of(added.id)), {"Location": url_for("braid.api.get_assistant", assistant_id=added.id)}
    )


@resource.get(ONE, AssistantShown)
@rule("user", limited=True)
def get_assistant(assistant_id: int) -> AssistantShown:
    """Get an assistant that you may use."""
    return _show(assistant_of(assistant_id))


@resource.patch(ONE, AssistantShown)
def change_assistant(assistant_id: int, body: AssistantChanges) -> AssistantShown:
    """Change an assistant of yours, or one that is shared with you to be changed."""
    before = editable_assistant(assistant_id).assistant
    site().assistants.change(before, replace(before, **body.values(before)))
    return _show(assistant_of(assistant_id))


@resource.delete(ONE)
def delete_assistant(assistant_id: int) -> None:
    """Delete your assistant. Its datasets, and conversations with it, stay."""
    site().assistants.remove(own_assistant(assistant_id).id)


@resource.get(f"{ONE}/shares", AssistantSharing)
def list_assistant_shares(assistant_id: int) -> AssistantSharing:
    """List with whom your assistant is shared."""
    return _show_sharing(own_assistant(assistant_id))


@resource.post(f"{ONE}/shares", AssistantSharing)
def share_assistant(assistant_id: int, body: ShareGiven) -> AssistantSharing:
    """Share your assistant with a user or a group, or change what they may do. It opens no dataset to them."""
    found = own_assistant(assistant_id)
    site().shares.put(found, Share(body.kind, body.name.strip(), body.may_write), by=identity().account.name)
    return _show_sharing(found)


@resource.post(f"{ONE}/shares/delete", AssistantSharing)
def unshare_assistant(assistant_id: int, body: ShareNamed) -> AssistantSharing:
    """Take back what was shared, with effect from the next question."""
    found = own_assistant(assistant_id)
    site().shares.remove(found, body.kind, body.name.strip(), by=identity().account.name)
    return _show_sharing(found)


@resource.post(f"{ONE}/hand-over")
def give_assistant(assistant_id: int, body: Named) -> None:
    """Give your assistant to another user. You may not use it any more, unless they share it with you."""
    hand_over_assistant(own_assistant(assistant_id), body.name)


def _show(found: UsableAssistant) -> AssistantShown:
    one = found.assistant
    filters: Filters | None = one.options.get("filters")
    return AssistantShown(
        id=one.id,
        name=one.name,
        description=one.description,
        sign=one.sign,
        color=one.color,  # type: ignore[arg-type]  # one of them
        questions=list(one.questions),
        dataset_ids=list(found.dataset_ids),
        closed_datasets=found.closed,
        instruction=one.instruction if found.may_edit or one.shows_instruction else None,
        shows_instruction=one.shows_instruction,
        strategy=one.strategy,
        search_mode=one.options.get("mode"),
        top_k=one.options.get("k"),
        filters=_show_filters(filters) if filters else None,
        summary_llm_model=one.model,
        owner=found.owner,
        may_edit=found.may_edit,
        model=f"braid:assistant:{one.id}",
    )


def _show_filters(filters: Filters) -> dict[str, Any]:
    """Return filters in the form in which they are given."""
    shown = {name: value for name, value in to_json(filters).items() if value}
    for name in ("date_from", "date_to"):
        if name in shown:
            shown[name] = datetime.fromtimestamp(shown[name], UTC).isoformat()
    return shown


def _show_sharing(assistant: Assistant) -> AssistantSharing:
    return AssistantSharing(shares=[ShareShown.model_validate(each) for each in site().shares.of(assistant)])
