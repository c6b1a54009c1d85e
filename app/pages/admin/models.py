"""Models by role: the configured and the additionally offered ones, with a test of each. Never shows keys."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

from flask import render_template, request
from flask_babel import gettext as _
from werkzeug.wrappers import Response

from braid.app.auth.access import rule
from braid.app.pages.admin.blueprint import admin, audit, done
from braid.app.site import site
from braid.app.user.models import LISTS, offered_models, site_default
from braid.config.models import role_model
from braid.core.errors import EmbeddingError, InvalidInputError, ModelError
from braid.core.models.chat import ChatModel, ModelSettings, Role, key_variable
from braid.core.models.embeddings import embed_queries

ROLES: tuple[Role, ...] = ("search", "summary")
TEST_S = 30.0
ANSWER_CHARS = 80
MAX_OFFERED = 100
ANY_PERSONAL = "user_0"
"""A collection whose embedding model is the site's."""
QUESTION = [("user", "Answer with one word: ready")]


@dataclass(frozen=True, slots=True)
class ModelRow:
    """A model of a role as it would be asked.

    ``key`` is the source of its key: ``settings``, the name of an environment variable, or empty if there is none.
    """

    name: str
    host: str
    key: str
    is_default: bool


@dataclass(frozen=True, slots=True)
class TestResult:
    """The outcome of a test. ``error`` is empty if the model answered; ``seconds`` is the duration."""

    role: str
    name: str
    answer: str
    error: str
    seconds: float


@admin.get("/models")
@rule("admin")
def models() -> str:
    """Show the models of all roles."""
    return _page()


@admin.post("/models/<any(search,summary):role>")
@rule("admin")
def offer_models(role: Role) -> tuple[str, int] | Response:
    """Set the models that users may choose besides the configured one."""
    text = request.form.get("models", "")
    names = list(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))
    try:
        if len(names) > MAX_OFFERED:
            raise InvalidInputError(f"{len(names)} models are too many; at most {MAX_OFFERED}", field="models")
        for name in names:
            _require_name(name)
    except InvalidInputError as error:
        return _page(problem=str(error), typed={role: text}), 400
    site().app_settings.set(LISTS[role], names)
    audit("models.offered", role, ", ".join(names) or "none")
    return done(_("Model list saved."), "models")


@admin.post("/models/test")
@rule("admin")
def test_model() -> tuple[str, int]:
    """Ask a model for one word, or the embedding model for one vector."""
    role, name = request.form.get("role", ""), request.form.get("name", "")
    if role == "embedding":
        return _page(tested=_test_embedding()), 200
    found = next((known for known in ROLES if known == role), None)
    if found is None or name not in offered_models().of(found):
        raise InvalidInputError(f"{name[:100]!r} is not offered for {role[:20]!r}; add it to the list first")
    model = role_model(site().settings, found, name)
    if model is None:
        raise InvalidInputError("no model is configured for this role")
    return _page(tested=_test(found, model)), 200


def _test(role: Role, model: ModelSettings) -> TestResult:
    started = time.perf_counter()
    answer = error = ""
    try:
        answer = ChatModel(model).complete(QUESTION, timeout_s=TEST_S)[:ANSWER_CHARS]
    except ModelError as failed:
        error = str(failed)
    return TestResult(role, model.name, answer, error, time.perf_counter() - started)


def _test_embedding() -> TestResult:
    model, started = site().braid.model_of(ANY_PERSONAL), time.perf_counter()
    answer = error = ""
    try:
        vectors = embed_queries(model, ["ready"])
        answer = _("%(num)s dimensions", num=vectors.shape[1])
    except EmbeddingError as failed:
        error = str(failed)
    return TestResult("embedding", site().settings.embedding_model, answer, error, time.perf_counter() - started)


def _page(*, problem: str = "", typed: dict[Role, str] | None = None, tested: TestResult | None = None) -> str:
    here = site().settings
    return render_template(
        "braid/admin/models.html",
        roles=[(role, _rows(role), _list(role, typed or {})) for role in ROLES],
        timeouts={"search": here.search_model_timeout_s, "summary": here.summary_model_timeout_s},
        embedding_model=here.embedding_model,
        reranker=here.reranker,
        collections=_other_embeddings(),
        problem=problem,
        tested=tested,
    )


def _rows(role: Role) -> list[ModelRow]:
    found = (role_model(site().settings, role, name) for name in offered_models().of(role))
    return [_row(model, site_default(role)) for model in found if model]


def _row(model: ModelSettings, default: str) -> ModelRow:
    variable = key_variable(model.provider)
    key = "settings" if model.api_key else variable if os.environ.get(variable) else ""
    parts = urlsplit(model.base_url)
    host = (parts.hostname or "") + (f":{parts.port}" if parts.port else "")
    return ModelRow(model.name, host, key, model.name == default)


def _list(role: Role, typed: dict[Role, str]) -> str:
    kept: list[str] = site().app_settings.get(LISTS[role], [])
    return typed.get(role, "\n".join(kept))


def _other_embeddings() -> list[tuple[str, str]]:
    """Return (collection, its own embedding model) of collections that do not use the site's."""
    entries = site().braid.registry.entries()
    return sorted({(entry.collection_name, entry.embedding_model) for entry in entries if entry.embedding_model})


def _require_name(name: str) -> None:
    if len(name) > 200 or not name.isprintable():
        raise InvalidInputError(f"{name[:60]!r} is too long or not printable", field="models")
    ModelSettings(name)
