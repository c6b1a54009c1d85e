"""Spans for OpenTelemetry: how long the parts of a request and of a search take, across threads.

Until `begin` is called, a place where one begins costs a comparison, and nothing of OpenTelemetry is imported. A span
has kinds and counts, never the text of a query, a statement or an error, and no name of a user or a dataset.
The tracer is this module's own, so that spans of other packages, which may have such texts, do not go with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from typing import Any, ParamSpec, Protocol, TypeVar

from braid.core.extras import MissingExtraError
from braid.core.version import version

TRACES = "/v1/traces"
"""Where a collector takes traces, below its address."""
EXPORT_S = 3.0
"""For one batch to the collector, and for the last one when Braid is closed."""
KINDS = frozenset({"SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "BEGIN", "COMMIT", "COPY", "SHOW"})

P = ParamSpec("P")
T = TypeVar("T")


class Span(Protocol):
    """A span that is open."""

    def set_attribute(self, key: str, value: Any) -> Any:
        """Add an attribute."""


class _Nothing:
    """A span where none are wanted."""

    def __enter__(self) -> _Nothing:
        return self

    def __exit__(self, *_: object) -> None: ...

    def set_attribute(self, key: str, value: Any) -> None: ...


class _On:
    """The tracer that spans are made by, and its provider."""

    tracer: Any = None
    provider: Any = None


NOTHING = _Nothing()


def collector(endpoint: str) -> Any:
    """Return what sends spans in batches to the collector at the address, for `begin`. Raises MissingExtraError."""
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ModuleNotFoundError as error:
        raise MissingExtraError("otlp_endpoint", "otel", "opentelemetry-exporter-otlp-proto-http") from error
    return BatchSpanProcessor(OTLPSpanExporter(f"{endpoint.rstrip('/')}{TRACES}", timeout=EXPORT_S))


def begin(processor: Any) -> None:
    """Give spans to a processor of OpenTelemetry's SDK from now on. Does nothing when they have one."""
    if _On.tracer is not None:
        return
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from sqlalchemy import Engine, event

    _On.provider = TracerProvider(resource=Resource.create({"service.name": "braid", "service.version": version()}))
    _On.provider.add_span_processor(processor)
    _On.tracer = _On.provider.get_tracer("braid", version())
    for name, listener in _LISTENERS.items():
        event.listen(Engine, name, listener)


def flush() -> None:
    """Send what has not been sent yet, for at most `EXPORT_S` seconds."""
    if _On.provider is not None:
        _On.provider.force_flush(int(1000 * EXPORT_S))


def end() -> None:
    """Make no spans any more."""
    if _On.tracer is not None:
        from sqlalchemy import Engine, event

        for name, listener in _LISTENERS.items():
            event.remove(Engine, name, listener)
        _On.provider.shutdown()
        _On.tracer = _On.provider = None


def on() -> bool:
    """Return whether spans are made."""
    return _On.tracer is not None


def root(name: str, **attributes: Any) -> AbstractContextManager[Span]:
    """Open a span, which may be the first of a trace."""
    return NOTHING if _On.tracer is None else _opened(name, attributes)


def span(name: str, **attributes: Any) -> AbstractContextManager[Span]:
    """Open a span within the one that is open; none where none is, as in background work."""
    return NOTHING if _On.tracer is None or not _is_within() else _opened(name, attributes)


def statement(text: str) -> AbstractContextManager[Span]:
    """Open a span for an SQL statement, of which its kind is told."""
    return NOTHING if _On.tracer is None else span("sql", **_kind(text))


def carried(call: Callable[P, T]) -> Callable[P, T]:
    """Return the call for another thread: its spans are within the one that is open here."""
    if _On.tracer is None or not _is_within():
        return call
    from opentelemetry import context

    here = context.get_current()

    @wraps(call)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        token = context.attach(here)
        try:
            return call(*args, **kwargs)
        finally:
            context.detach(token)

    return called


@contextmanager
def _opened(name: str, attributes: dict[str, Any]) -> Iterator[Span]:
    from opentelemetry.trace import StatusCode

    unsaid = {"record_exception": False, "set_status_on_exception": False}  # an error may quote a query
    with _On.tracer.start_as_current_span(name, attributes=attributes, **unsaid) as opened:
        try:
            yield opened
        except BaseException as error:
            opened.set_attribute("error.type", type(error).__name__)
            opened.set_status(StatusCode.ERROR)
            raise


def _is_within() -> bool:
    from opentelemetry.trace import get_current_span

    return bool(get_current_span().get_span_context().is_valid)


def _kind(text: str) -> dict[str, str]:
    word = text.lstrip()[:8].split(None, 1)[0].upper() if text.strip() else ""
    return {"db.operation.name": word if word in KINDS else "other"}


# ---------------------------------------------------------------- what SQLAlchemy runs


def _before(connection: Any, _cursor: Any, text: str, *_: Any) -> None:
    if _On.tracer is not None and _is_within():
        connection.info["braid_span"] = _On.tracer.start_span("sql", attributes=_kind(text))


def _after(connection: Any, *_: Any) -> None:
    if opened := connection.info.pop("braid_span", None):
        opened.end()


def _failed(failure: Any) -> None:
    if failure.connection is not None and (opened := failure.connection.info.pop("braid_span", None)):
        opened.set_attribute("error.type", type(failure.original_exception).__name__)
        opened.end()


_LISTENERS: dict[str, Callable[..., None]] = {
    "before_cursor_execute": _before,
    "after_cursor_execute": _after,
    "handle_error": _failed,
}
