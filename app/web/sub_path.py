"""Serves the app below a path of a proxy, whether the proxy takes the path off or leaves it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from braid.app.web.gate.request_bodies import ASGI

WSGI = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def below(app: WSGI, prefix: str) -> WSGI:
    """Have all addresses that the app gives begin with the prefix."""

    def answer(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        path = _without(environ.get("PATH_INFO", ""), prefix)
        return app({**environ, "SCRIPT_NAME": prefix, "PATH_INFO": path}, start)

    return answer


def take_off(app: ASGI, prefix: str) -> ASGI:
    """Take the prefix off for what is answered before `below`: probes, MCP."""

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            raw = scope.get("raw_path", b"").decode("latin-1")
            stripped = _without(scope["path"], prefix), _without(raw, prefix).encode("latin-1")
            scope = {**scope, "path": stripped[0], "raw_path": stripped[1]}
        await app(scope, receive, send)

    return answer


def _without(path: str, prefix: str) -> str:
    if path == prefix:
        return "/"
    return path.removeprefix(prefix) if path.startswith(f"{prefix}/") else path
