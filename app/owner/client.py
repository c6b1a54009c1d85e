"""Client for the app that owns a data directory, from another process on the same computer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import httpx
from pydantic import TypeAdapter

from braid.core.accounts.credentials import ApiTokens, Permission
from braid.core.errors import BraidError, IndexUnavailableError, InvalidInputError, NotFoundError
from braid.core.ledger.ledger import Ledger
from braid.core.types import Explanation, SearchResult

T = TypeVar("T")
TIMEOUT_S = 120.0
ERRORS: dict[int, type[BraidError]] = {400: InvalidInputError, 404: NotFoundError, 503: IndexUnavailableError}


@contextmanager
def short_lived_key(ledger: Ledger, user_id: int, *permissions: Permission) -> Iterator[str]:
    """Yield a token of this user that is revoked when the block ends.

    No password is needed: a process that can write to the ledger can act as any user anyway.
    """
    tokens = ApiTokens(ledger)
    token, key = tokens.add(user_id, "command line", permissions, days=1)
    try:
        yield key
    finally:
        with suppress(NotFoundError):  # an administrator may have revoked it
            tokens.revoke(user_id, token.id)


class OwnerClient:
    """Searches in the owner's process; the methods are those of `braid.core.retriever_manager.RetrieverManager`.

    They raise the errors that the owner raised, and IndexUnavailableError when it does not answer.
    """

    def __init__(self, url: str, key: str) -> None:
        headers = {"Authorization": f"Bearer {key}", "Accept": "application/json"}
        self._http = httpx.Client(base_url=url, headers=headers, timeout=TIMEOUT_S, trust_env=False)

    def __enter__(self) -> OwnerClient:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def search(self, text: str, **arguments: Any) -> SearchResult:
        """Search and return the whole result."""
        return self._ask("owner/search", {"text": text, **arguments}, SearchResult)

    def explain(self, text: str, **arguments: Any) -> Explanation:
        """Explain and return the whole explanation."""
        return self._ask("owner/explain", {"text": text, **arguments}, Explanation)

    def _ask(self, path: str, arguments: dict[str, Any], kind: type[T]) -> T:
        asked = {name: value for name, value in arguments.items() if name != "user_id"}  # the token says who asks
        try:
            answer = self._http.post(path, content=TypeAdapter(dict[str, Any]).dump_json(asked))
        except httpx.HTTPError as error:
            raise IndexUnavailableError(f"the app at {self._http.base_url} does not answer: {error}") from error
        if answer.status_code != 200:
            raise _error(answer)
        return TypeAdapter(kind).validate_json(answer.content)


def _error(answer: httpx.Response) -> BraidError:
    try:
        detail = str(answer.json().get("detail") or answer.json().get("title"))
    except ValueError:
        detail = f"the app answered {answer.status_code}"
    return ERRORS.get(answer.status_code, IndexUnavailableError)(detail)
