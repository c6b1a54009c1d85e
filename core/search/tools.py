"""The tools of one search: what its strategy may ask of models, indexes and the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeVar

import numpy as np

from braid.core.errors import InvalidInputError, ModelError, Reason, internal
from braid.core.ledger.change_log import ChangeLog
from braid.core.lru import lazy
from braid.core.models.chat import Message
from braid.core.models.embeddings import EmbeddingModel
from braid.core.models.prompts import Prompt, Prompts
from braid.core.search.context import SearchContext, SearchModels
from braid.core.search.state import SearchMemory, SearchTrace
from braid.core.search.strategies.base import QueryVariant, Vectors
from braid.core.search.term_weights import TermWeights
from braid.core.search.vectors import VectorMaker
from braid.core.text.analyzer import Analyzer
from braid.core.text.terms import heads_in, other_forms
from braid.core.types import LEGS_OF_MODE, AddedForm, Passage, Query, Scope
from braid.core.vector import Vector

Answer = TypeVar("Answer")
OTHER_FORM_WEIGHT = 0.4
"""Weight of a word of another form of a name, where one of the query itself has 1."""


class SearchTools:
    """Implements `braid.core.search.strategies.base.Tools` but for the first pass, which `Search` adds.

    With ``replay`` the model is not asked: its reply to the same search is used, if it is remembered.
    """

    def __init__(
        self, context: SearchContext, scope: Scope, query: Query, *, models: SearchModels, replay: bool
    ) -> None:
        self.context = context
        self.scope = scope
        self.query = query
        self.models = models
        self.trace = SearchTrace()
        self.memory = SearchMemory()
        self._model = None if query.generator == "feedback" else models.chat.search
        self._answered = False
        self._replay = replay
        self.forgotten = False
        """Whether ``replay`` needed a reply that is not remembered."""

    # ------------------------------------------------------------ the search model

    @property
    def prompts(self) -> Prompts:
        """The prompts of this search."""
        return self.models.prompts

    @property
    def model_name(self) -> str:
        """The search model that this search may ask; empty when it is to use pseudo-relevance feedback."""
        return self._model.name if self._model else ""

    @property
    def generator(self) -> str:
        """The model's name if one of its replies was usable, else ``feedback``, which is pseudo-relevance feedback."""
        return self.model_name if self._answered else "feedback"

    def ask(self, prompt: Prompt, parse: Callable[[str], Answer | None], **values: object) -> Answer | None:
        """Ask the search model and parse its reply. None, which is reported, without a usable reply."""
        if self._model is None:
            if self.query.generator == "llm":
                reason = internal("no search model is configured (setting search_model)")
                self.missing(Reason("%(reason)s; feedback is used instead", reason=reason))
            return None
        messages = prompt.messages(**values)
        if self._replay:
            return self._recall(messages, parse)
        self.trace.model_calls += 1
        try:
            with self.trace.stage("model"):
                text = self._model.complete(messages)
        except ModelError as error:
            self.context.answers.put(self.scope.user_id, self.model_name, messages, "")
            self.missing(Reason("%(reason)s; feedback is used instead", reason=error))
            return None
        self.context.answers.put(self.scope.user_id, self.model_name, messages, text)
        answer = parse(text)
        if answer is None:
            said = " ".join(text.split())[:80]
            reason = Reason(
                "the model %(model)s gave nothing usable (%(said)s)", model=self.model_name, said=repr(said)
            )
            self.missing(Reason("%(reason)s; feedback is used instead", reason=reason))
        self._answered = self._answered or answer is not None
        return answer

    def _recall(self, messages: Sequence[Message], parse: Callable[[str], Answer | None]) -> Answer | None:
        text = self.context.answers.get(self.scope.user_id, self.model_name, messages)
        self.forgotten = self.forgotten or text is None
        return parse(text) if text else None

    # ------------------------------------------------------------ words and passages

    @lazy
    def added_forms(self) -> tuple[AddedForm, ...]:
        """Other forms of names in the query, which documents or glossaries of the scope say are the same; none for a
        search by meaning alone, and for one that is to rank as LangChain does.
        """
        if "bm25" not in LEGS_OF_MODE[self.query.mode] or self.query.pooling == "none":
            return ()
        with self.trace.stage("scope"):
            terms = self.context.ledger.terms(self.scope.dataset_ids, heads_in(self.query.text))
        return tuple(AddedForm(said, added) for said, added in other_forms(self.query.text, terms))

    @lazy
    def original(self) -> QueryVariant:
        """The query as it is; by keyword, the other forms of its names are searched, too, and weigh less."""
        if not self.added_forms:
            return QueryVariant(self.query.text)
        tokens = self.analyzer.tokens
        terms = {term: float(count) for term, count in Counter(tokens(self.query.text)).items()}
        added = {token: OTHER_FORM_WEIGHT for form in self.added_forms for token in tokens(form.added)}
        return QueryVariant(self.query.text, terms={**added, **terms})

    @property
    def analyzer(self) -> Analyzer:
        """The analyzer of the keyword index."""
        return self.context.analyzer

    def idf(self, terms: Collection[str]) -> Mapping[str, float]:
        """Return the idf of each term over all collections in scope whose keyword index answers."""
        return TermWeights(self.context.bm25, self.context.analyzer, self.context.ledger, self.scope).idf(terms)

    def neighbours(self, passage: Passage, reach: int) -> Sequence[Passage]:
        """Return passages of the same document around this one. Filters of documents let all of them pass."""
        offset = max(0, passage.position - reach)
        limit = passage.position + reach + 1 - offset
        with self.trace.stage("read"):
            return self.context.ledger.document_passages(
                passage.document_id, self.scope.dataset_ids, limit=limit, offset=offset
            )

    # ------------------------------------------------------------ vectors

    def query_vectors(self) -> Vectors:
        """Embed the query with each model in scope; a model that fails is left out."""
        maker, models = self._vector_maker(), self._embedding_models()
        with self.trace.stage("embed"):
            maker.collect(maker.start((self.original,), models.values()))
        vectors = {fingerprint: maker.vector(self.original, fingerprint) for fingerprint in models}
        return {fingerprint: vector for fingerprint, vector in vectors.items() if vector is not None}

    def variant_near(self, given: Sequence[float]) -> QueryVariant:
        """Return a variant that searches by meaning for a vector. Raises InvalidInputError for one that is no vector of
        the models in scope.
        """
        models, changes = self._embedding_models(), ChangeLog(self.context.ledger.database)
        try:
            vector = np.asarray(given, dtype=np.float32)
        except (TypeError, ValueError):
            vector = np.zeros(0, dtype=np.float32)
        length = float(np.linalg.norm(vector))
        if vector.ndim != 1 or not np.isfinite(length) or not length:
            raise InvalidInputError("the vector is empty, zero, or has what is no number", field="vector")
        for collection in self.scope.collections:
            model = self.context.model_of(collection.collection).fingerprint
            size = changes.dimension(collection.collection, model)
            if size is not None and size != vector.size:
                raise InvalidInputError(
                    f"the vector has {vector.size} dimensions, and those of {collection.collection} have {size}",
                    field="vector",
                )
        return QueryVariant(self.query.text, legs=("dense",), vectors=dict.fromkeys(models, vector / length))

    def passage_vectors(self, passages: Sequence[Passage]) -> Mapping[str, Vector]:
        """Return stored vectors by chunk id."""
        of_model: dict[str, list[str]] = {}
        for passage in passages:
            of_model.setdefault(self.fingerprint(passage), []).append(passage.chunk_id)
        vectors: dict[str, Vector] = {}
        with self.trace.stage("read"):
            for fingerprint, chunk_ids in of_model.items():
                vectors.update(self.context.ledger.embeddings(fingerprint, chunk_ids))
        return vectors

    def fingerprint(self, passage: Passage) -> str:
        """Return the fingerprint of the embedding model of the passage's collection."""
        return self.context.model_of(passage.collection).fingerprint

    def embed_passages(self, texts: Mapping[str, Sequence[str]]) -> Vectors:
        """Embed texts; texts and vectors are by fingerprint. One batch per model, in parallel."""
        with self.trace.stage("embed"):
            return self._vector_maker().embed_passages(self._embedding_models(), texts)

    def _vector_maker(self) -> VectorMaker:
        return VectorMaker(self.context, self.trace, self.memory, self.scope.user_id)

    def _embedding_models(self) -> dict[str, EmbeddingModel]:
        models = [self.context.model_of(scope.collection) for scope in self.scope.collections]
        return {model.fingerprint: model for model in models}

    # ------------------------------------------------------------ reports

    def missing(self, reason: str) -> None:
        """Report what failed."""
        self.trace.report_missing("model", "", reason)

    def note(self, text: str) -> None:
        """Report what a limit left out."""
        self.trace.note(text)
