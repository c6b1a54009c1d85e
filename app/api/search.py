"""``POST /search``: free text, or purpose, materials and methods."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from braid.app.api.framework.operations import Answered, Resource
from braid.app.api.framework.requests import KEY_HEADERS, SAYS_SOMETHING
from braid.app.api.request_models import conversation, search_models
from braid.app.api.schemas import DegradedShown, PassageShown, Shown
from braid.app.api.search_options import SearchOptions
from braid.app.auth.access import rule
from braid.app.auth.identity import identity
from braid.app.site import site
from braid.app.user.datasets import readable_datasets
from braid.core.chat.comparison import MAX_INSTRUCTION_CHARS, ThreeFields
from braid.core.chat.types import ChatRequest, result_json
from braid.core.json_form import pick, to_json
from braid.core.types import MAX_QUERY_CHARS, Mode

DEPRECATED_AT = "@1764547200"
"""When ``llm_model`` was deprecated, as the Deprecation header has it (RFC 9745)."""
MAX_FIELD_CHARS = 3_000

resource = Resource("search", "Search any datasets that you may read, by meaning and by keyword.")


class TextSearch(SearchOptions):
    """A search by free text."""

    query: str = Field(
        min_length=1, max_length=MAX_QUERY_CHARS, pattern=SAYS_SOMETHING, examples=["how are the rankings fused?"]
    )
    evaluation_mode: bool = Field(False, description="Of no account here: free text is not answered, only found")


def _at_least_one(schema: dict[str, Any]) -> None:
    names = ("purpose", "materials", "methods")
    schema["anyOf"] = [{"required": [name], "properties": {name: {"pattern": SAYS_SOMETHING}}} for name in names]


class ThreeFieldSearch(SearchOptions):
    """A search by what is done, with what, and how; at least one of the three. They become one query."""

    model_config = ConfigDict(json_schema_extra=_at_least_one)

    purpose: str = Field("", max_length=MAX_FIELD_CHARS)
    materials: str = Field("", max_length=MAX_FIELD_CHARS)
    methods: str = Field("", max_length=MAX_FIELD_CHARS)
    instruction: str = Field("", max_length=MAX_INSTRUCTION_CHARS, description="What else the comparison should heed")
    evaluation_mode: bool = Field(False, description="Stop after the search, without a comparison")


def _form(body: Any) -> str:
    fields = ("purpose", "materials", "methods", "instruction")
    return "=fields" if isinstance(body, dict) and any(name in body for name in fields) else "=text"


SearchBody = Annotated[
    Annotated[TextSearch, Tag("=text")] | Annotated[ThreeFieldSearch, Tag("=fields")], Discriminator(_form)
]


class LegShown(Shown):
    """Why a leg put a hit where it is; ``share`` is what it adds to the hit's score."""

    leg: str
    rank: int
    score: float
    share: float
    query: str


class PlaceShown(Shown):
    """Another place where the same text stands."""

    chunk_id: str
    dataset_id: int
    source: str
    title: str


class DatasetNamed(Shown):
    """A dataset by its name."""

    id: int
    name: str


class HitShown(Shown):
    """A passage that was found, with the reasons for its place."""

    passage: PassageShown
    dataset: DatasetNamed
    score: float
    legs: list[LegShown]
    also_in: list[PlaceShown]
    rerank_score: float | None
    covers: list[str] = Field(description="Passages whose text is part of this one's")


class CitationShown(Shown):
    """A passage that an answer cites, with its text as the model was given it."""

    number: int
    chunk_id: str
    document_id: int
    dataset_id: int
    source: str
    title: str
    heading_path: str
    page: int | None
    line: int | None
    text: str


class Comparison(Shown):
    """How the passages compare with what was asked for, in Markdown."""

    text: str
    generator: str = Field(description="`extractive`, or the name of a model")
    found: bool
    citations: list[CitationShown]


class SearchAnswer(BaseModel):
    """The hits, best first, and how they were found."""

    query: str = Field(description="What was searched for")
    search_mode: Mode
    strategy: str
    generator: str = Field(description="Who wrote the query variants: `none`, `feedback` or the name of a model")
    queries: list[str]
    collections: list[str]
    hits: list[HitShown]
    degraded: list[DegradedShown] = Field(description="What is missing from the answer, and why")
    notes: list[str] = Field(description="What a limit left out though nothing failed")
    unresolved_dataset_ids: list[int] = Field(description="Datasets that do not exist, or are not yours to read")
    timings_ms: dict[str, float]
    answer: Comparison | None = Field(description="Of a search by three fields")


@resource.post("/search", SearchAnswer, repeatable=False, headers=tuple(KEY_HEADERS.values()))
@rule("user", "read")
def search(body: SearchBody) -> Answered:
    """Search datasets.

    With free text (`query`), or in the form of three fields (`purpose`, `materials`, `methods`), which become one
    query and, unless in evaluation mode, are compared with what was found. The mode is `hybrid` unless given, and
    `semantic` in the form of three fields.
    """
    account, here = identity().account, site()
    body.require_embedding_model(account.id)
    here.usage.count(account.id, "search")
    if isinstance(body, TextSearch):
        options = body.options("hybrid")
        result = here.braid.manager.search(
            body.query,
            user_id=account.id,
            dataset_ids=body.dataset_ids or None,
            strategy=body.strategy,
            models=search_models(body, options),
            **options,
        )
        here.metrics.count_search(result)
        answer = show_search(to_json(result))
    else:
        answer = _compare(body)
    return Answered(answer, {"Deprecation": DEPRECATED_AT} if body.llm_model is not None else {})


def _compare(body: ThreeFieldSearch) -> SearchAnswer:
    options = body.options("semantic")
    asked = ChatRequest(
        user_id=identity().account.id,
        fields=ThreeFields(body.purpose, body.materials, body.methods, body.instruction),
        dataset_ids=body.dataset_ids or None,
        strategy=body.strategy,
        options=options,
        evaluation_mode=body.evaluation_mode,
    )
    result = conversation(body, options).ask(asked)
    site().metrics.count_search(result.search, result.degraded)
    form = result_json(result)
    return show_search({**form["search"], **pick(form, "degraded", "notes")}, None if body.evaluation_mode else form)


def show_search(form: dict[str, Any], comparison: dict[str, Any] | None = None) -> SearchAnswer:
    """Return a search as callers see it; ``form`` is a SearchResult as JSON, ``comparison`` a ChatResult."""
    names = {dataset.id: dataset.name for dataset in readable_datasets(identity().account).all}

    def name_dataset(hit: dict[str, Any]) -> dict[str, Any]:
        dataset_id = hit["passage"]["dataset_id"]
        return {**hit, "dataset": {"id": dataset_id, "name": names.get(dataset_id, "")}}

    return SearchAnswer.model_validate(
        {
            **form,
            "query": form["query"]["text"],
            "search_mode": form["query"]["mode"],
            "hits": [name_dataset(hit) for hit in form["hits"]],
            "answer": comparison,
        }
    )
