"""Models by role: the site's own and the additionally offered ones, with a test of each. Never shows keys."""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from flask import render_template, request
from flask_babel import get_locale
from flask_babel import gettext as _
from werkzeug.wrappers import Response

from braid.app.auth.identity import identity
from braid.app.pages.admin.blueprint import admin, audit
from braid.app.pages.admin.model_tests import (
    SERVER_KINDS,
    TEST_S,
    TestResult,
    test_embedding,
    test_reranker,
    typed_server,
)
from braid.app.site import site
from braid.app.user.models import offered_models, site_default
from braid.app.web.errors import refusing
from braid.app.web.event_stream import event
from braid.app.web.live_turns import StreamForm, error_event, last_of, run_turn, stream_of
from braid.app.words.values import model_name
from braid.core.accounts.model_connections import Connection
from braid.core.chat.types import ChatRequest
from braid.core.errors import InvalidInputError, ModelError, Reason
from braid.core.models.chat import ROLES, ChatModel, ModelSettings, Role, key_variable, package_of
from braid.core.models.model_servers import PROVIDERS, LocalServer, find_local_servers, host_of
from braid.core.models.reasoning import answer_pieces

ANSWER_CHARS = 300
MAX_OFFERED = 100
IN_LANGUAGE = {"ja": "日本語で一文で", "ko": "한국어로 한 문장으로"}


@dataclass(frozen=True, slots=True)
class ModelRow:
    """A model of a role as it would be asked.

    ``key`` is the source of its key: ``connection``, ``settings``, the name of an environment variable, ``none`` for a
    connected server without one, or empty if users may have theirs. ``install`` is the command that installs a missing
    package.
    """

    name: str
    host: str
    key: str
    is_default: bool
    install: str


@admin.get("/models")
def models() -> str:
    """Show the models of all roles, the connected servers, and those that run on this computer."""
    return models_page()


@admin.post("/models/<any(search,summary):role>")
def offer_models(role: Role) -> Response:
    """Set the models that users may choose besides the role's own."""
    text = request.form.get("models", "")
    names = list(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))
    with refusing(models_page, typed={role: text}):
        if len(names) > MAX_OFFERED:
            raise InvalidInputError(f"{len(names)} models are too many; at most {MAX_OFFERED}", field="models")
        for name in names:
            _require_name(name)
    site().models.offer(role, names)
    audit("models.offered", role, ", ".join(names) or "none")
    return admin.done(_("Model list saved."), "models")


@admin.post("/models/use")
def use_model() -> Response:
    """Make a model the one that everybody's answers or queries are written by, unless they choose another one."""
    roles = [role for role in ROLES if role in request.form.getlist("role")]
    name = request.form.get("name") or f"{request.form.get('server', '')}:{request.form.get('model', '').strip()}"
    if not roles:
        raise InvalidInputError(_("Select what the model is for: answers, queries or both."), field="role")
    _require_name(name)
    choose_for_everyone(roles, name)
    return admin.done(_("%(name)s is now in use.", name=model_name(name)), "models")


@admin.post("/models/<any(search,summary):role>/reset")
def reset_model(role: Role) -> Response:
    """Leave a role's model to the settings again."""
    choose_for_everyone([role], "")
    return admin.done(_("The default model is used again."), "models")


def choose_for_everyone(roles: list[Role], name: str) -> None:
    """Make this the model of the roles, in force at once; an empty name leaves them to the settings."""
    for role in roles:
        site().models.choose(role, name)
        audit("models.chosen", role, name or "settings")


# ---------------------------------------------------------------- tests


@admin.post("/models/test")
def test_model() -> tuple[str, int] | Response:
    """Ask a chat model for one sentence, streamed to scripts; let an embedding model or a reranker tell known passages
    apart.
    """
    role, name = request.form.get("test") or request.form.get("role", ""), request.form.get("name", "")
    if role == "embedding":
        return models_page(tested=test_embedding(request.form.get("collection", ""))), 200
    if role == "reranker":
        return _reranker_tested()
    name = name or f"{request.form.get('server', '')}:{request.form.get('model', '').strip()}"
    found: Role = "search" if role == "search" else "summary"
    offered = role in ROLES and name in offered_models().of(found)
    if not offered and site().models.connection_of(name) is None:
        raise InvalidInputError(f"{name[:100]!r} is not offered for {role[:20]!r}; add it to the list first")
    model = site().models.model(found, name)
    if model is None:
        raise InvalidInputError("no model is configured for this role")
    question = _question()
    turn = run_turn(ChatRequest(identity().account.id, question), _test(role, model, question), counted="")
    if request.accept_mimetypes.best == "text/event-stream":
        return stream_of(turn, StreamForm(_told, error_event))
    return models_page(tested=last_of(turn)), 200


def _reranker_tested() -> tuple[str, int]:
    """Test the reranker that is in force, or the one that is typed."""
    typed = typed_reranker()
    try:
        server = typed_server(request.form) if typed["kind"] else None
        return models_page(tested=test_reranker(server), reranking=typed), 200
    except InvalidInputError as error:
        return models_page(problem=str(error), reranking=typed), 400


def typed_reranker() -> dict[str, str]:
    """Return what the form of a reranker's server has, without the key."""
    return {name: request.form.get(name, "") for name in ("kind", "model", "base_url")}


def _test(role: str, model: ModelSettings, question: str) -> Iterator[TestResult]:
    """Yield the sentence as it grows; the last result is the whole one, or the failure."""
    started, answer, error, first_s = time.perf_counter(), "", "", 0.0
    asked = ChatModel(replace(model, timeout_s=min(model.timeout_s, TEST_S), retries=0, pause_s=0))
    pieces = asked.stream([("user", question)])
    try:
        for piece in answer_pieces(pieces):
            answer = "" if piece.restart else answer + piece.text
            first_s = first_s or time.perf_counter() - started
            if len(answer) > ANSWER_CHARS or time.perf_counter() - started > TEST_S:
                break
            yield TestResult(role, model.name, answer, "", time.perf_counter() - started, first_s)
        if not answer.strip():
            error = f"the model {model.name} gives no text"
    except ModelError as failed:
        error = str(failed)
    yield TestResult(role, model.name, answer[:ANSWER_CHARS], error, time.perf_counter() - started, first_s)


def _question() -> str:
    return f"Say hello {IN_LANGUAGE.get(str(get_locale()), 'in one sentence')}."


def _told(result: TestResult) -> str:
    """Return the state of a test as an event."""
    return event("test", {"text": result.answer, "html": render_template("braid/admin/_test.html", tested=result)})


# ---------------------------------------------------------------- what is shown


def models_page(
    *,
    problem: str = "",
    typed: dict[Role, str] | None = None,
    connecting: dict[str, str] | None = None,
    reranking: dict[str, str] | None = None,
    tested: TestResult | None = None,
) -> str:
    """Render the page. ``typed``, ``connecting`` and ``reranking`` are what was sent; keys are not among it."""
    here, connected = site().settings, site().models.connections.all()
    return render_template(
        "braid/admin/models.html",
        found=_found_here(connected),
        servers=connected,
        in_use={name.partition(":")[0] for role in ROLES if (name := site_default(role))},
        has_search_model=bool(site().models.default("search")),
        providers=PROVIDERS,
        connecting=connecting or {},
        roles=[(role, _rows(role), _list(role, typed or {}), site().models.is_chosen(role)) for role in ROLES],
        timeouts={"search": here.search_model_timeout_s, "summary": here.summary_model_timeout_s},
        embedding_model=here.embedding_model,
        reranker=site().reranker,
        rerank_server=site().models.connections.reranker(),
        configured_reranker=here.reranker,
        server_kinds=SERVER_KINDS,
        reranking=reranking or {},
        collections=_other_embeddings(),
        problem=problem,
        tested=tested,
    )


def _found_here(connected: list[Connection]) -> list[tuple[LocalServer, tuple[str, ...]]]:
    """Return the servers of this computer that are not connected yet."""
    names = {server.name for server in connected}
    found = find_local_servers(but_not=site().settings.port)
    return [(server, models) for server, models in found if server.name not in names]


def _rows(role: Role) -> list[ModelRow]:
    found = (site().models.model(role, name) for name in offered_models().of(role))
    return [_row(model, site_default(role)) for model in found if model]


def _row(model: ModelSettings, default: str) -> ModelRow:
    server = site().models.connection_of(model.name) if model.client else None
    return ModelRow(model.name, host_of(model.base_url), _key(model, server), model.name == default, _install(model))


def _key(model: ModelSettings, server: Connection | None) -> str:
    if server:
        return "connection" if server.has_key else "none"
    variable = key_variable(model.provider)
    return "settings" if model.api_key else variable if os.environ.get(variable) else ""


def _install(model: ModelSettings) -> str:
    package = package_of(model.client or model.provider)
    if importlib.util.find_spec(package.replace("-", "_")):
        return ""
    return f"{sys.executable} -m pip install {package}"


def _list(role: Role, typed: dict[Role, str]) -> str:
    return typed.get(role, "\n".join(site().models.offered_besides(role)))


def _other_embeddings() -> list[tuple[str, str]]:
    """Return (collection, its own embedding model) of collections that do not use the site's."""
    entries = site().braid.registry.entries()
    return sorted({(entry.collection_name, entry.embedding_model) for entry in entries if entry.embedding_model})


def _require_name(name: str) -> None:
    """Raise InvalidInputError unless this is the name of a connected server's model, or of a known provider's."""
    if len(name) > 200 or not name.isprintable():
        raise InvalidInputError(f"{name[:60]!r} is too long or not printable", field="models")
    model = ModelSettings(name)
    if site().models.connection_of(name) is None and model.provider not in _providers():
        raise InvalidInputError(
            Reason(
                "%(name)s begins with %(provider)s, which is neither a connected server nor a provider; "
                "connect the server on this page first, or correct the name",
                name=repr(name),
                provider=repr(model.provider),
            ),
            field="models",
        )


def _providers() -> frozenset[str]:
    """Return the providers that LangChain has a package for."""
    from langchain.chat_models import base  # here, since it takes a second to load

    return frozenset(base._BUILTIN_PROVIDERS)
