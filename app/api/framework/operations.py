"""Operations of the API: a view with typed parameters becomes a checked route and a part of the OpenAPI document.

The view's parameter ``body`` is read from the request's JSON, ``query`` from its query string, and all others from the
path. pydantic checks each exactly as the document says: unknown names and values of another type are refused.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, TypeVar, get_type_hints

from flask import Blueprint, Response, request
from pydantic import BaseModel, TypeAdapter

from braid.app.api.framework.etags import IF_MATCH, IF_NONE_MATCH
from braid.app.api.framework.idempotency import answer_once
from braid.app.api.framework.requests import (
    InvalidRequestError,
    Nothing,
    read_body,
    read_path,
    read_query,
    require_no_body,
)
from braid.app.auth.access import Rule, Who, rule, with_rule

View = TypeVar("View", bound=Callable[..., Any])
UNSAFE = ("POST", "PUT", "PATCH", "DELETE")


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer with headers or a status of its own."""

    model: BaseModel | None
    headers: Mapping[str, str] = field(default_factory=dict)
    status: int | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    """A route and its entry in the OpenAPI document."""

    method: str
    path: str
    view: Callable[..., Any]
    tag: str
    status: int
    answer: type[BaseModel] | None
    body: TypeAdapter[Any] | None
    query: type[BaseModel] | None
    path_types: Mapping[str, Any]
    media_types: tuple[str, ...]
    """Media types of the answer besides, or instead of, JSON."""
    statuses: Mapping[int, type[BaseModel] | None]
    """Other successful answers: status → model, None for an empty body."""
    form: type[BaseModel] | None
    """The fields of a multipart request."""
    headers: tuple[str, ...]
    """Names of request headers, see `braid.app.api.framework.openapi`."""
    repeatable: bool
    """Whether an idempotency key is accepted."""

    @property
    def name(self) -> str:
        """The view's name, unique among the operations."""
        return self.view.__name__

    @property
    def rule(self) -> Rule:
        """The access rule of the view."""
        found: Rule = self.view.braid_rule  # type: ignore[attr-defined]
        return found

    @property
    def summary(self) -> str:
        """First paragraph of the view's docstring."""
        return inspect.cleandoc(self.view.__doc__ or "").partition("\n\n")[0].replace("\n", " ")

    @property
    def description(self) -> str:
        """Rest of the view's docstring."""
        return inspect.cleandoc(self.view.__doc__ or "").partition("\n\n")[2]


class Resource:
    """The operations on one kind of resource, mounted on the API's blueprint.

    They are for ``who``, also by tokens that are ``limited`` to some datasets, unless one states a rule of its own.
    """

    def __init__(self, tag: str, description: str, who: Who, *, limited: bool = False) -> None:
        self._state = rule(who, limited=limited)
        self.tag = tag
        self.description = description
        self.operations: list[Operation] = []

    def route(
        self,
        method: str,
        path: str,
        answer: type[BaseModel] | None = None,
        *,
        status: int = 200,
        media_types: tuple[str, ...] = (),
        statuses: Mapping[int, type[BaseModel] | None] | None = None,
        form: type[BaseModel] | None = None,
        headers: tuple[str, ...] = (),
        repeatable: bool | None = None,
    ) -> Callable[[View], View]:
        """Register the view. ``path`` is in werkzeug's syntax."""

        def register(view: View) -> View:
            with_rule(view, self._state)
            types = get_type_hints(view, include_extras=True)
            types.pop("return", None)
            body, query = types.pop("body", None), types.pop("query", None)
            self.operations.append(
                Operation(
                    method=method,
                    path=path,
                    view=view,
                    tag=self.tag,
                    status=status,
                    answer=answer,
                    body=None if body is None else TypeAdapter(body),
                    query=query,
                    path_types=types,
                    media_types=media_types,
                    statuses=statuses or {},
                    form=form,
                    headers=headers,
                    repeatable=method in UNSAFE if repeatable is None else repeatable,
                )
            )
            return view

        return register

    def get(self, path: str, answer: type[BaseModel] | None = None, **options: Any) -> Callable[[View], View]:
        """Register a view that reads."""
        return self.route("GET", path, answer, **options)

    def post(self, path: str, answer: type[BaseModel] | None = None, **options: Any) -> Callable[[View], View]:
        """Register a view that adds or acts."""
        return self.route("POST", path, answer, **options)

    def put(self, path: str, answer: type[BaseModel] | None = None, **options: Any) -> Callable[[View], View]:
        """Register a view that adds or replaces."""
        return self.route("PUT", path, answer, **options)

    def patch(self, path: str, answer: type[BaseModel] | None = None, **options: Any) -> Callable[[View], View]:
        """Register a view that changes parts."""
        return self.route("PATCH", path, answer, **options)

    def delete(self, path: str, **options: Any) -> Callable[[View], View]:
        """Register a view that removes; its answer is empty."""
        return self.route("DELETE", path, status=204, **options)

    def mount(self, routes: Blueprint) -> None:
        """Add a route per operation."""
        for operation in self.operations:
            routes.add_url_rule(operation.path, operation.name, _make_view(operation), methods=[operation.method])


def _make_view(operation: Operation) -> Callable[..., Response]:
    @wraps(operation.view)  # keeps the rule
    def serve(**path: Any) -> Response:
        def answer() -> Response:
            arguments = read_path(path)
            query = read_query(operation.query or Nothing)
            if operation.query is not None:
                arguments["query"] = query
            if operation.body is not None:
                arguments["body"] = read_body(operation.body)
            elif operation.form is None:
                require_no_body()
            for name in (IF_MATCH,) if operation.method == "GET" else (IF_MATCH, IF_NONE_MATCH):
                if name in request.headers and name not in operation.headers:
                    raise InvalidRequestError(((name, "this operation does not heed it; leave it out"),))
            return _response(operation, operation.view(**arguments))

        return answer_once(answer) if operation.repeatable else answer()

    return serve


def _response(operation: Operation, answer: Response | BaseModel | Answered | None) -> Response:
    if isinstance(answer, Response):
        return answer
    if not isinstance(answer, Answered):
        answer = Answered(answer)
    status = answer.status or operation.status
    if answer.model is None:
        response = Response(status=status)
        del response.headers["Content-Type"]
    else:
        response = Response(answer.model.model_dump_json(by_alias=True), status, mimetype="application/json")
    response.headers.extend(dict(answer.headers))
    return response
