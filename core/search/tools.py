"""What a strategy may use of the search that it is part of."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from braid.core.errors import EmbeddingError, IndexUnavailableError, ModelError
from braid.core.models.chat import Message
from braid.core.models.embeddings import EmbeddingModel, embed_passages
from braid.core.models.prompts import Prompt, Prompts
from braid.core.search import fusion
from braid.core.search.gather import Log
from braid.core.search.legs import LegRetriever
from braid.core.search.strategies.base import Variant, Vectors
from braid.core.text.analyzer import Analyzer
from braid.core.types import Hit, Passage, Query, Vector

if TYPE_CHECKING:
    from braid.core.search.pipeline import Fused, SearchRequest

Answer = TypeVar("Answer")


class SearchTools:
    """The tools of one search; see `braid.core.search.strategies.base.Tools`.

    With ``replay`` the model is not asked: what it wrote for the same search before is taken, if it is remembered.
    """

    def __init__(
        self,
        request: SearchRequest,
        query: Query,
        retrievers: Sequence[LegRetriever],
        log: Log,
        *,
        replay: bool = False,
    ) -> None:
        self.original = Variant(query.text)
        self._request = request
        self._context = request.context
        self._query = query
        self._retrievers = retrievers
        self._log = log
        self._model = None if query.generator == "feedback" else request.context.models.search
        self._replay = replay
        self._answered = False
        self.forgotten = False
        """An answer that was wanted again is not remembered."""
        self._first: Fused | None = None
        self._first_hits: dict[int, Sequence[Hit]] = {}

    @property
    def prompts(self) -> Prompts:
        """The prompts in force."""
        return self._context.prompts

    @property
    def analyzer(self) -> Analyzer:
        """Text to tokens."""
        return self._context.analyzer

    @property
    def model_name(self) -> str:
        """The search model that this request may ask."""
        return self._model.name if self._model else ""

    @property
    def generator(self) -> str:
        """Who has answered: the model if it gave something usable, else feedback."""
        return self.model_name if self._answered else "feedback"

    def ask(self, prompt: Prompt, parse: Callable[[str], Answer | None], **values: object) -> Answer | None:
        """The search model's answer, parsed."""
        if self._model is None:
            if self._query.generator == "llm":
                self.missing("no search model is configured (setting search_model); feedback is used instead")
            return None
        messages = prompt.messages(**values)
        if self._replay:
            return self._replayed(messages, parse)
        self._log.model_calls += 1
        try:
            with self._log.stage("model"):
                text = self._model.complete(messages)
        except ModelError as error:
            self._context.answers.put(self.model_name, messages, "")
            self.missing(f"{error}; feedback is used instead")
            return None
        self._context.answers.put(self.model_name, messages, text)
        answer = parse(text)
        if answer is None:
            said = " ".join(text.split())[:80]
            self.missing(f"the model {self.model_name} gave nothing usable ({said!r}); feedback is used instead")
        self._answered = self._answered or answer is not None
        return answer

    def _replayed(self, messages: Sequence[Message], parse: Callable[[str], Answer | None]) -> Answer | None:
        text = self._context.answers.get(self.model_name, messages)
        self.forgotten = self.forgotten or text is None
        return parse(text) if text else None

    # ------------------------------------------------------------ the first pass

    def first_pass(self, k: int) -> Sequence[Hit]:
        """The best hits of the query as it is."""
        if self._first is None:
            self._first = self._request.fused(self._query, (self.original,), self._retrievers, self._log)
        if k not in self._first_hits:
            plain = replace(self._query, k=k, reranker="", min_score=None)
            with self._log.stage("read"):
                self._first_hits[k] = self._request.candidates(plain, self._first)
        return self._first_hits[k]

    def idf(self, terms: Collection[str]) -> Mapping[str, float]:
        """Over all collections in scope that can be asked."""
        statistics = []
        for scope in self._request.scope.collections:
            try:
                statistics.append(self._context.bm25.statistics(scope.collection, terms))
            except IndexUnavailableError:  # the search itself says so
                continue
        documents = sum(s.documents for s in statistics)
        having = {term: sum(s.document_frequency.get(term, 0) for s in statistics) for term in terms}
        return {term: fusion.bm25_idf(documents, having[term]) for term in terms if having[term]}

    # ------------------------------------------------------------ vectors

    def query_vectors(self) -> Vectors:
        """The query's vector under each model in scope."""
        self._request.embed(self._models().values(), (self.original,), self._log)
        key = self.original.search_key("dense")
        found = {fingerprint: self._log.vectors.get((fingerprint, *key)) for fingerprint in self._models()}
        return {fingerprint: vector for fingerprint, vector in found.items() if vector is not None}

    def passage_vectors(self, passages: Sequence[Passage]) -> Mapping[str, Vector]:
        """Stored vectors by chunk id."""
        of_model: dict[str, list[str]] = {}
        for passage in passages:
            of_model.setdefault(self.fingerprint(passage), []).append(passage.chunk_id)
        found: dict[str, Vector] = {}
        with self._log.stage("read"):
            for fingerprint, chunk_ids in of_model.items():
                found.update(self._context.ledger.embeddings(fingerprint, chunk_ids))
        return found

    def fingerprint(self, passage: Passage) -> str:
        """The embedding model of the passage's collection."""
        return self._context.model_of(passage.collection).fingerprint

    def embed_passages(self, texts: Mapping[str, Sequence[str]]) -> Vectors:
        """One batch a model, in parallel."""
        models, timeout_s = self._models(), self._context.leg_timeout_s
        found: dict[str, Vector] = {}
        with self._log.stage("embed"):
            futures = {
                fingerprint: self._context.executors["dense"].submit(embed_passages, models[fingerprint], of_model)
                for fingerprint, of_model in texts.items()
                if of_model
            }
            for fingerprint, future in futures.items():
                self._log.embeddings += len(texts[fingerprint])
                try:
                    found[fingerprint] = future.result(timeout_s)
                except EmbeddingError as error:
                    self._log.missing("dense", "", str(error))
                except FutureTimeoutError:
                    future.cancel()
                    reason = f"the embedding model {fingerprint} took longer than {timeout_s:g} s"
                    self._log.missing("dense", "", f"{reason} for {len(texts[fingerprint])} sentences")
        return found

    def _models(self) -> dict[str, EmbeddingModel]:
        models = [self._context.model_of(scope.collection) for scope in self._request.scope.collections]
        return {model.fingerprint: model for model in models}

    # ------------------------------------------------------------ passages

    def neighbours(self, passage: Passage, reach: int) -> Sequence[Passage]:
        """Passages of the same document around this one. Filters select whole documents, so this one passed them."""
        offset = max(0, passage.position - reach)
        with self._log.stage("read"):
            return self._context.ledger.document_passages(
                passage.document_id,
                self._request.scope.dataset_ids,
                limit=passage.position + reach + 1 - offset,
                offset=offset,
            )

    def missing(self, reason: str) -> None:
        """Name what failed."""
        self._log.missing("model", "", reason)

    def note(self, text: str) -> None:
        """Say what a limit left out."""
        if text not in self._log.notes:
            self._log.notes.append(text)
