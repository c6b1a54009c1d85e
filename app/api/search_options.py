"""Options, models and prompts of one search or chat request."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import ConfigDict, Discriminator, Field, Tag, create_model

from braid.app.api.framework.requests import ISO_8601, SAYS_SOMETHING, WHOLE, Given
from braid.app.api.schemas import DatasetId
from braid.app.auth.identity import identity
from braid.app.site import site
from braid.app.user.option_fields import API_OPTIONS, type_of_option
from braid.core.datasets.scope import MAX_DATASET_IDS
from braid.core.errors import InvalidInputError
from braid.core.options import (
    ABOUT,
    ALL,
    DEFAULTS,
    MAX_K,
    OF_SITE,
    All,
    ChunkKind,
    Filters,
    Mode,
    used_options,
)
from braid.core.options import SearchOptions as CoreOptions
from braid.core.search.strategies import strategies
from braid.core.types import MAX_NAME_CHARS

MAX_PROMPT_CHARS = 10_000
MAX_PARAMETERS = 100
PROMPTS = Literal[
    "multi_query",
    "hyde",
    "step_back",
    "compression",
    "normalize",
    "normalize_fields",
    "generate_query",
    "answer",
    "compare",
]


ChosenDatasets = Annotated[
    Annotated[list[DatasetId], Field(max_length=MAX_DATASET_IDS), Tag("=list")] | Annotated[All, Tag("=all")],
    Discriminator(
        lambda given: "=all" if given == ALL else "=list" if isinstance(given, list | tuple) else None,
        custom_error_type="dataset_ids_type",
        custom_error_message="Input should be a list of ids, or 'all'",
    ),
]
"""Ids of datasets, or ``all``."""


PromptText = Annotated[str, Field(min_length=1, max_length=MAX_PROMPT_CHARS, pattern=SAYS_SOMETHING)]


class PromptGiven(Given):
    """A prompt that replaces a built-in one: one message of it, or both."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    system: str = Field("", max_length=MAX_PROMPT_CHARS)
    user: str = Field("", max_length=MAX_PROMPT_CHARS, description="Must keep the replaced prompt's placeholders")


CustomPrompt = Annotated[
    Annotated[PromptGiven, Tag("=messages")] | Annotated[PromptText, Tag("=text")],
    Discriminator(
        lambda given: (
            "=text" if isinstance(given, str) else "=messages" if isinstance(given, dict | PromptGiven) else None
        ),
        custom_error_type="prompt_type",
        custom_error_message="Input should be a text, or an object with system or user",
    ),
]


FilterWordsGiven = Annotated[dict[str, bool], Field(max_length=20)]
FILTER_WORDS: dict[str, bool] = Field(
    {},
    description="Which words of the question are a filter and which are not, as `said` of `read_filters` has them; for "
    "`question_filters` `on`",
    examples=[{"in the spreadsheets": False}],
)


class FiltersGiven(Given):
    """Restrictions on documents, and on kinds of passages."""

    file_types: list[str] = Field([], max_length=100, examples=[["pdf", "md"]])
    source_prefix: str = Field("", max_length=1_000, description="Beginning of the source (path or URL)")
    date_from: str | None = Field(None, pattern=ISO_8601, description="ISO 8601; UTC where no offset is given")
    date_to: str | None = Field(None, pattern=ISO_8601, description="Inclusive; a day means its end")
    metadata: dict[str, Any] = Field(
        {},
        description="Conditions on the documents' metadata, see docs/own-data.md. Operators: $eq, $ne, $gt, $gte, $lt, "
        '$lte, $in, $nin, $contains, $exists, $and, $or, $not. A date is written {"$date": "2026-01-31"}',
        examples=[{"tenant": "x", "year": {"$gte": 2024}, "tags": {"$contains": "a"}}],
    )

    chunk_kinds: list[ChunkKind] = Field(
        [], max_length=10, description="Only these parts of programs; `module` is the rest of a file"
    )

    def filters(self) -> Filters:
        """Return the filters as core has them. Raises InvalidInputError for a day that does not exist."""
        return Filters(
            frozenset(self.file_types),
            self.source_prefix,
            _seconds("filters.date_from", self.date_from, end=False),
            _seconds("filters.date_to", self.date_to, end=True),
            self.metadata,
            frozenset(self.chunk_kinds),
        )


def _field(name: str) -> tuple[Any, Any]:
    """Return the type and the field of an option; where a site has a setting of the name, null stands for that."""
    kind = type_of_option(name)
    kind = Annotated[kind, WHOLE] if ABOUT[name].kind == "depth" else kind
    default = None if name in OF_SITE else getattr(DEFAULTS, name)
    return (kind | None if default is None else kind), Field(
        default, description=ABOUT[name].help.replace("`k`", "`top_k`")
    )


if TYPE_CHECKING:
    _Plain = Given
else:
    _Plain = create_model("_Plain", __base__=Given, **{name: _field(name) for name in API_OPTIONS})


class SearchOptionsGiven(_Plain):
    """Options of a search, those of `API_OPTIONS` among them. The site's settings replace what is left out."""

    dataset_ids: ChosenDatasets = Field(
        [],
        description="Ids; `all`: everything that you may read, personal and shared; none: all personal datasets",
        examples=[[1, -1], ALL],
    )
    strategy: str = Field("basic", json_schema_extra=lambda schema: schema.update(enum=list(strategies())))
    search_mode: Mode | None = None
    hybrid_alpha: float | None = Field(
        None,
        ge=0.0,
        le=1.0,
        description="Weight of the search by meaning in hybrid mode, which then fuses by weighted scores whatever"
        " `fusion` is (0.7 unless set)",
    )
    top_k: Annotated[int, Field(ge=1, le=MAX_K), WHOLE] | None = None
    filters: FiltersGiven = FiltersGiven.model_validate({})
    reranker: str | None = Field(
        None,
        max_length=MAX_NAME_CHARS,
        description="The site's; `cohere:MODEL`, `jina:MODEL` or `voyage:MODEL` with your own key in "
        "`X-Reranker-Key`; or empty for none",
    )
    parameters: dict[str, float] = Field(
        {},
        max_length=MAX_PARAMETERS,
        description="Parameters of the strategy, see GET /strategies",
        examples=[{"feedback_passages": 5}],
    )
    search_llm_model: str | None = Field(
        None,
        max_length=MAX_NAME_CHARS,
        description="`provider:model` that writes queries; one of GET /models, or any "
        "of a provider that your key in `X-Search-Model-Key` is for; `none` for none",
    )
    summary_llm_model: str | None = Field(
        None, max_length=MAX_NAME_CHARS, description="`provider:model` that writes answers; key: `X-Summary-Model-Key`"
    )
    llm_model: str | None = Field(
        None,
        max_length=MAX_NAME_CHARS,
        description="Used for both models if they are left out",
        json_schema_extra={"deprecated": True},
    )
    embedding_model: str | None = Field(
        None, max_length=MAX_NAME_CHARS, description="Must be the model that the collections were embedded with"
    )
    custom_prompts: dict[PROMPTS, CustomPrompt] = Field(
        {},
        description="A text for the user message, or messages; see docs/conversation.md",
        examples=[{"hyde": "Write a passage of a handbook that answers: {question}"}],
    )

    def options(self, default_mode: Mode) -> dict[str, Any]:
        """Return the values of the fields of `braid.core.types.SearchOptions`, without those that would do nothing."""
        return used_options({}, self._values(default_mode))

    def notes(self, default_mode: Mode) -> tuple[str, ...]:
        """Return what is given and does nothing, each with the reason."""
        unused = CoreOptions(**self._values(default_mode)).unused()
        names = {"alpha": "hybrid_alpha", "reranker_depth": "reranker_depth"}
        given = {name: field for name, field in names.items() if getattr(self, field) is not None}
        return tuple(f"{given[name]} did nothing: {reason}" for name, reason in unused.items() if name in given)

    def _values(self, default_mode: Mode) -> dict[str, Any]:
        plain = {name: value for name in API_OPTIONS if (value := getattr(self, name)) is not None}
        of_site = site().options
        values = {
            **of_site,
            **plain,
            "mode": self.search_mode or default_mode,
            "k": self.top_k or of_site["k"],
            "filters": self.filters.filters(),
            "parameters": self.parameters,
            "reranker": of_site["reranker"] if self.reranker is None else self.reranker,
        }
        if self.hybrid_alpha is not None:
            return {**values, "fusion": "weighted", "alpha": self.hybrid_alpha}
        return values if values["fusion"] == "weighted" else {**values, "alpha": None}

    def require_embedding_model(self, user_id: int) -> None:
        """Raise InvalidInputError if a collection in scope has another embedding model than the caller names."""
        if self.embedding_model is None:
            return
        braid, wanted = site().braid, self.embedding_model
        scope = braid.manager.check(user_id=user_id, dataset_ids=self.dataset_ids, within=identity().dataset_ids)
        for part in scope.collections:
            entry = next((e for e in braid.registry.entries() if e.collection_name == part.collection), None)
            named = (entry and entry.embedding_model) or site().settings.embedding_model
            used = braid.model_of(part.collection).fingerprint
            if wanted not in (named, used):
                raise InvalidInputError(
                    f"embedding_model is {wanted!r}, but the collection {part.collection} is embedded with {used!r}; "
                    "leave it out, or name that model",
                    field="embedding_model",
                )


def _seconds(field: str, text: str | None, *, end: bool) -> float | None:
    if text is None:
        return None
    try:
        if len(text) == len("2026-01-31"):
            day = datetime.combine(date.fromisoformat(text), time.max if end else time.min, UTC)
            return day.timestamp()
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise InvalidInputError(f"{field} is {text!r}, a time that does not exist", field=field) from None
