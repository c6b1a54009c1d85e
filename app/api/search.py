"""``POST /search``: searches by free text, or by purpose, materials and methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from braid.app.api.check import SupportShown
from braid.app.api.framework.operations import Answered, Resource
from braid.app.api.framework.requests import KEY_HEADERS, SAYS_SOMETHING
from braid.app.api.request_models import conversation, search_models
from braid.app.api.schemas import DegradedShown, PassageShown, Shown
from braid.app.api.search_options import FILTER_WORDS, FilterWordsGiven, SearchOptionsGiven
from braid.app.auth.access import rule
from braid.app.auth.identity import identity
from braid.app.site import site
from braid.app.user.datasets import readable_datasets
from braid.core.chat.comparison import MAX_INSTRUCTION_CHARS, ThreeFields
from braid.core.chat.types import ChatRequest, result_json
from braid.core.json_form import pick, to_json
from braid.core.types import MAX_QUERY_CHARS, FilterKind, Leg, Mode, ReadWhy

DEPRECATED_AT = "@1764547200"
"""Moment when ``llm_model`` was deprecated, in the syntax of the Deprecation header (RFC 9745)."""
MAX_FIELD_CHARS = 3_000

resource = Resource("search", "Search any datasets that you may read, by meaning and by keyword.", "user")


class TextSearch(SearchOptionsGiven):
    """A search by free text."""

    query: str = Field(
        min_length=1, max_length=MAX_QUERY_CHARS, pattern=SAYS_SOMETHING, examples=["how are the rankings fused?"]
    )
    filter_words: FilterWordsGiven = FILTER_WORDS
    evaluation_mode: bool = Field(False, description="Ignored: a search by free text never writes an answer")


def _at_least_one(schema: dict[str, Any]) -> None:
    names = ("purpose", "materials", "methods")
    schema["anyOf"] = [{"required": [name], "properties": {name: {"pattern": SAYS_SOMETHING}}} for name in names]


class ThreeFieldSearch(SearchOptionsGiven):
    """A search by purpose, materials and methods, at least one of them. They are combined into one query."""

    model_config = ConfigDict(json_schema_extra=_at_least_one)

    purpose: str = Field("", max_length=MAX_FIELD_CHARS)
    materials: str = Field("", max_length=MAX_FIELD_CHARS)
    methods: str = Field("", max_length=MAX_FIELD_CHARS)
    instruction: str = Field("", max_length=MAX_INSTRUCTION_CHARS, description="More instructions for the comparison")
    evaluation_mode: bool = Field(False, description="Stop after the search, without a comparison")


def _form(body: Any) -> str:
    fields = ("purpose", "materials", "methods", "instruction")
    return "=fields" if isinstance(body, dict) and any(name in body for name in fields) else "=text"


SearchBody = Annotated[
    Annotated[TextSearch, Tag("=text")] | Annotated[ThreeFieldSearch, Tag("=fields")], Discriminator(_form)
]


class LegShown(Shown):
    """One leg's part in a hit; ``share`` is its contribution to the hit's score."""

    leg: str
    rank: int
    score: float
    share: float
    query: str


class PlaceShown(Shown):
    """Another place with the same text."""

    chunk_id: str
    dataset_id: int
    source: str
    title: str


class DatasetNamed(Shown):
    """A dataset's id and name."""

    id: int
    name: str


class DatasetCounted(DatasetNamed):
    """A dataset with its number of hits."""

    hits: int


class HitShown(Shown):
    """A passage that was found, with the reasons for its rank."""

    passage: PassageShown
    dataset: DatasetNamed
    score: float
    legs: list[LegShown]
    also_in: list[PlaceShown]
    rerank_score: float | None
    covers: list[str] = Field(description="Passages whose text is part of this one's")
    more_in_document: int = Field(
        0, description="Other passages of the document that were found, with `group_by` `document`"
    )


class CitationShown(Shown):
    """A passage that an answer cites, with the text that the model was given."""

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
    """A comparison of the passages with what was asked for, in Markdown."""

    text: str
    generator: str = Field(description="`extractive`, or the name of a model")
    found: bool
    citations: list[CitationShown]
    support: list[SupportShown] = Field(description="The sentences of the text, and how each agrees with what it cites")


class ReadFilterShown(Shown):
    """A filter that was read from the question."""

    kind: FilterKind
    said: str = Field(description="The words of the question")
    value: str = Field(description="Names of datasets, file types, a value of metadata, or days: `2025-04/2026-03`")
    key: str = Field(description="The key of metadata; empty for the other kinds")
    applied: bool
    why: ReadWhy = Field(
        description="The question asks for it; it was chosen or taken off by `filter_words`; the words may mean "
        "something else; it would leave fewer than `top_k` passages"
    )
    passages: int = Field(description="Passages that are left with it")
    reason: str


class AddedFormShown(Shown):
    """Another form of a name in the query, which was searched by keyword, too."""

    said: str
    added: str


class SearchAnswer(BaseModel):
    """The hits, best first, and how they were found."""

    query: str = Field(description="The query that was searched")
    search_mode: Mode
    strategy: str
    parameters: dict[str, float] = Field(description="The strategy's parameters as they were in this search")
    generator: str = Field(description="What wrote the query variants: `none`, `feedback` or the name of a model")
    queries: list[str]
    collections: list[str]
    hits: list[HitShown]
    hits_by_dataset: list[DatasetCounted] = Field(
        description="How many of the hits each dataset gave, the most first; those without a hit are left out"
    )
    degraded: list[DegradedShown] = Field(description="Parts missing from the answer, and why")
    answered: list[Leg] = Field([], description="Ways of searching that answered for at least one collection")
    did_you_mean: str = Field(
        "", description="The query with near words of your documents in place of those that none of them has"
    )
    read_filters: list[ReadFilterShown] = Field(
        [], description="Filters that were read from the question, where `question_filters` is `on`"
    )
    added_forms: list[AddedFormShown] = Field(
        [],
        description="Other forms of names in the query, by documents and glossaries, searched by keyword, too",
    )
    notes: list[str] = Field(
        description="What a limit left out, though nothing failed, and what was given and did nothing"
    )
    unresolved_dataset_ids: list[int] = Field(description="Datasets that do not exist or that you may not read")
    timings_ms: dict[str, float]
    answer: Comparison | None = Field(description="The comparison, in a search by three fields")


@resource.post("/search", SearchAnswer, repeatable=False, headers=tuple(KEY_HEADERS.values()))
@rule("user", "read", limited=True)
def search(body: SearchBody) -> Answered:
    """Search datasets.

    Takes free text (`query`), or three fields (`purpose`, `materials`, `methods`), which are combined into one query
    and, unless in evaluation mode, compared with the passages found. The default mode is `hybrid`, and `semantic` for
    three fields.
    """
    account, here = identity().account, site()
    body.require_embedding_model(account.id)
    here.usage.count(account.id, "search")
    if isinstance(body, TextSearch):
        options = body.options("hybrid")
        result = here.braid.manager.search(
            body.query,
            user_id=account.id,
            dataset_ids=body.dataset_ids,
            within=identity().dataset_ids,
            strategy=body.strategy,
            models=search_models(body, options),
            filter_words=body.filter_words,
            **options,
        )
        here.metrics.count_search(result)
        answer = show_search(to_json(result), notes=body.notes("hybrid"))
    else:
        answer = _compare(body)
    return Answered(answer, {"Deprecation": DEPRECATED_AT} if body.llm_model is not None else {})


def _compare(body: ThreeFieldSearch) -> SearchAnswer:
    options = body.options("semantic")
    asked = ChatRequest(
        user_id=identity().account.id,
        fields=ThreeFields(body.purpose, body.materials, body.methods, body.instruction),
        dataset_ids=body.dataset_ids,
        within=identity().dataset_ids,
        strategy=body.strategy,
        options=options,
        evaluation_mode=body.evaluation_mode,
    )
    result = conversation(body, options).ask(asked)
    site().metrics.count_search(result.search, result.degraded)
    form = result_json(result)
    comparison = None if body.evaluation_mode else form
    return show_search({**form["search"], **pick(form, "degraded", "notes")}, comparison, notes=body.notes("semantic"))


def show_search(
    form: dict[str, Any], comparison: dict[str, Any] | None = None, *, notes: Sequence[str] = ()
) -> SearchAnswer:
    """Return a search in the form that callers see; ``form`` is a SearchResult as JSON, ``comparison`` a ChatResult.

    ``notes`` are added to those of the search.
    """
    names = {dataset.id: dataset.name for dataset in readable_datasets(identity().account).all}

    def name(dataset_id: int) -> dict[str, Any]:
        return {"id": dataset_id, "name": names.get(dataset_id, "")}

    return SearchAnswer.model_validate(
        {
            **form,
            "query": form["query"]["text"],
            "search_mode": form["query"]["mode"],
            "parameters": form["query"]["parameters"],
            "hits": [{**hit, "dataset": name(hit["passage"]["dataset_id"])} for hit in form["hits"]],
            "hits_by_dataset": [{**name(int(id)), "hits": hits} for id, hits in form["hits_by_dataset"].items()],
            "notes": [*form["notes"], *notes],
            "answer": comparison,
        }
    )
