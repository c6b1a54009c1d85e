"""Tests of embedding models and rerankers by passages that are known to answer a question, in three languages."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from flask_babel import gettext as _

from braid.app.site import site
from braid.app.words.languages import language_name
from braid.core.accounts.secret_key import checked_key
from braid.core.errors import EmbeddingError, InvalidInputError, ModelError
from braid.core.models.embeddings import embed_passages, embed_queries
from braid.core.models.known_pairs import Told, mistaken, tied, told_by_scores, told_by_vectors
from braid.core.models.model_servers import checked_address
from braid.core.models.rerank import Rerankers
from braid.core.models.rerank_http import PROTOCOLS, RerankServer
from braid.core.options import require_choice

TEST_S = 30.0
ANY_PERSONAL = "user_0"
"""A collection whose embedding model is the site's."""
SERVER_KINDS = {
    "cohere": "Cohere",
    "jina": "Jina, llama.cpp, vLLM, LocalAI",
    "voyage": "Voyage",
    "tei": "Text Embeddings Inference",
}
"""Kinds of servers with a reranker."""


@dataclass(frozen=True, slots=True)
class TestResult:
    """The outcome of a test. ``error`` is empty if the model answered; ``first_s`` is the time to the first word.

    ``told`` is how the known passages were told apart, of an embedding model or a reranker.
    """

    role: str
    name: str
    answer: str
    error: str
    seconds: float
    first_s: float = 0.0
    told: tuple[Told, ...] = ()

    @property
    def lines(self) -> list[tuple[str, Told]]:
        """The name of each language, and what was told in it."""
        return [(language_name(each.language), each) for each in self.told]

    @property
    def mistaken(self) -> list[str]:
        """The languages in which a wrong passage is first, by their names."""
        return [language_name(code) for code in mistaken(self.told)]

    @property
    def tied(self) -> list[str]:
        """The languages in which no passage is first, by their names."""
        return [language_name(code) for code in tied(self.told)]


def test_embedding(collection: str) -> TestResult:
    """Test the site's embedding model, or that of a collection. Raises InvalidInputError for another collection."""
    names = {each.collection_name: each.embedding_model for each in site().braid.registry.entries()}
    if collection and not names.get(collection):
        message = f"{collection[:100]!r} is no collection with an embedding model of its own; choose one of the list"
        raise InvalidInputError(message, field="collection")
    model = site().braid.model_of(collection or ANY_PERSONAL)

    def tell() -> tuple[list[Told], str]:
        told, dimensions = told_by_vectors(partial(embed_queries, model), partial(embed_passages, model))
        return told, _("%(num)s dimensions", num=dimensions)

    return _tested("embedding", names.get(collection) or site().settings.embedding_model, tell)


def test_reranker(server: RerankServer | None) -> TestResult:
    """Test the reranker that is in force, or the one of a server. Raises InvalidInputError where there is none."""
    name, rerankers = site().reranker, site().braid.manager.rerankers
    if server is not None:
        name, rerankers = server.name, Rerankers(timeout_s=TEST_S, counts=False)
        rerankers.use(lambda: server)
    if not name:
        raise InvalidInputError(_("No reranker is configured."), field="reranker")

    def scores(query: str, texts: Sequence[str]) -> Sequence[float]:
        return rerankers.scores_of(name, query, texts)

    try:
        return _tested("reranker", name, lambda: (told_by_scores(scores), ""))
    finally:
        if server is not None:
            rerankers.close()


def typed_server(form: Mapping[str, str]) -> RerankServer:
    """Return the server of a reranker that a form describes. An empty key is the stored one of the same address.

    Raises InvalidInputError for a server that cannot be one. Folders are tested where the settings name them: nobody
    has the server read a file by a form.
    """
    kind, model, address, key = (form.get(each, "").strip() for each in ("kind", "model", "base_url", "key"))
    require_choice("kind", kind, PROTOCOLS)
    if not model and kind == "tei":
        model = "default"  # its server has one model, whatever its name
    if not model or len(model) > 200 or not model.isprintable() or " " in model:
        said = _(
            "The name of the model is %(name)s. Write it as the server does, without blanks.", name=repr(model[:60])
        )
        raise InvalidInputError(said, field="model")
    if not address and not PROTOCOLS[kind].url:
        raise InvalidInputError(_("The address is empty. Write it as http://localhost:8080."), field="base_url")
    made = RerankServer(kind, model, checked_address(address) if address else "")
    if key:
        return replace(made, key=checked_key(key), has_key=True)
    kept = site().models.connections.reranker()
    if kept is None or kept.address != made.address:
        return made
    return replace(made, key=kept.key, has_key=kept.has_key)


def _tested(role: str, name: str, tell: Callable[[], tuple[list[Told], str]]) -> TestResult:
    started = time.perf_counter()
    told, answer, error = list[Told](), "", ""
    try:
        told, answer = tell()
    except (EmbeddingError, ModelError) as failed:
        error = str(failed)
    return TestResult(role, name, answer, error, time.perf_counter() - started, told=tuple(told))
