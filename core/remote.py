"""Braid on another machine: searches and retrievers over the HTTP API, as the user of an API token."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NoReturn, Self

from braid.core.datasets.scope import selected_ids
from braid.core.errors import (
    BraidError,
    ClosedError,
    IndexUnavailableError,
    InvalidInputError,
    NotFoundError,
    TooManyError,
)
from braid.core.forks import tell_of_forks
from braid.core.metadata import read_metadata
from braid.core.options import ABOUT, ALL, DatasetIds, Filters, SearchOptions
from braid.core.types import AddedForm, Degraded, Hit, LegScore, Occurrence, Passage, ReadFilter, SearchResult

if TYPE_CHECKING:
    import httpx

    from braid.core.langchain import SearchRetriever

TIMEOUT_S = 30.0
API = "api/v1/"
ERRORS: Mapping[int, type[BraidError]] = {
    404: NotFoundError,
    429: TooManyError,
    **dict.fromkeys((502, 503, 504), IndexUnavailableError),
}
NAMES = {"mode": "search_mode", "k": "top_k", "alpha": "hybrid_alpha"}
"""Options that the API calls otherwise."""
OPTIONS = frozenset({*NAMES, "filters", "reranker", "parameters"}.union(n for n, told in ABOUT.items() if told.in_api))
"""Fields of `SearchOptions` that the API takes."""


class RemoteBraid:
    """Searches in a Braid that serves pages and API elsewhere, as the user whose API token is given.

    ``url`` is where the pages are, such as ``https://braid.example.org/``; ``timeout_s`` is the longest wait for an
    answer. Options that are left out are those of `Braid.search`, whatever the site's settings are. A passage's
    ``collection`` is empty: the API does not tell it. Raises what `Braid.search` raises, and IndexUnavailableError when
    the site does not answer, or something else answers in its place.

    >>> with RemoteBraid("http://127.0.0.1:9", "braid_token") as remote:
    ...     remote.search("pump pressure", k=0)
    Traceback (most recent call last):
        ...
    braid.core.errors.InvalidInputError: k is 0; it must be a whole number from 1 to 1000
    """

    def __init__(self, url: str, token: str, *, timeout_s: float = TIMEOUT_S) -> None:
        if not _is_address(url):
            raise InvalidInputError(f"url is {url!r}; write it with http:// or https://, and a host", field="url")
        if not isinstance(token, str) or not token.isascii() or not token.strip():
            raise InvalidInputError("the token is empty, or has signs that no token has; copy it again", field="token")
        self.url = url.rstrip("/") + "/"
        self._token = token.strip()
        self._timeout_s = timeout_s
        self._user_id: int | None = None
        self._http = self._connect()
        tell_of_forks(self)

    def search(
        self,
        text: str,
        *,
        user_id: int | None = None,
        dataset_ids: DatasetIds = None,
        strategy: str = "basic",
        **options: Any,
    ) -> SearchResult:
        """Search the datasets that the token's user may read: all personal ones unless ``dataset_ids`` are given,
        ``"all"`` with the shared ones.

        A ``user_id`` must be the token's user.
        """
        asked = _checked(options)
        query = asked.for_text(text)
        self._require_user(user_id)
        body = {
            "query": text,
            "strategy": strategy,
            "dataset_ids": ALL if dataset_ids == ALL else selected_ids(dataset_ids),
            **{NAMES.get(name, name): value for name, value in _plain(asked).items()},
        }
        found = self._ask("POST", "search", body, has="hits")
        return SearchResult(
            query=replace(query, parameters=found.get("parameters", query.parameters)),
            strategy=found["strategy"],
            generator=found["generator"],
            queries=tuple(found["queries"]),
            hits=tuple(map(_hit, found["hits"])),
            collections=tuple(found["collections"]),
            degraded=tuple(Degraded(**part) for part in found["degraded"]),
            unresolved_dataset_ids=tuple(found["unresolved_dataset_ids"]),
            timings_ms=found["timings_ms"],
            notes=tuple(found["notes"]),
            answered=tuple(found.get("answered", ())),
            did_you_mean=found.get("did_you_mean", ""),
            added_forms=tuple(AddedForm(**each) for each in found.get("added_forms", ())),
            read_filters=tuple(ReadFilter(**each) for each in found.get("read_filters", ())),
        )

    def get_retriever(
        self,
        strategy: str = "basic",
        *,
        user_id: int | None = None,
        dataset_ids: DatasetIds = None,
        **options: Any,
    ) -> SearchRetriever:
        """Return a LangChain retriever; every call resolves again what the user may read, and may change options. It
        raises NotFoundError when none of the named datasets may be read; the strategy's name is the site's to know.
        """
        from braid.core.langchain import SearchRetriever, fields_of, split_options

        answering, searched = split_options(options)
        given = _checked(searched)
        self._require_open()
        ids: DatasetIds = ALL if dataset_ids == ALL else selected_ids(dataset_ids)

        def search(text: str, /, **changed: Any) -> SearchResult:
            found = self.search(text, user_id=user_id, dataset_ids=ids, strategy=strategy, **{**searched, **changed})
            unresolved = found.unresolved_dataset_ids
            if ids and ids != ALL and set(ids) <= set(unresolved):
                raise NotFoundError(
                    f"dataset {', '.join(map(str, unresolved))}: there is none, or the token's user may not read it"
                )
            return found

        return SearchRetriever(search=search, **fields_of(given, answering))

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} cannot be pickled: it holds a token and open connections; make it where it is "
            "used, with the url and the token"
        )

    def after_fork(self, *, in_child: bool) -> None:
        """Connect again in the child: the connections are the parent's."""
        if in_child:
            self._of_the_parent, self._http = self._http, self._connect()

    def _connect(self) -> httpx.Client:
        import httpx

        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
        return httpx.Client(base_url=self.url + API, headers=headers, timeout=self._timeout_s)

    def _require_user(self, user_id: int | None) -> None:
        if user_id is None:
            return
        if self._user_id is None:
            self._user_id = int(self._ask("GET", "me", has="id")["id"])
        if user_id != self._user_id:
            raise InvalidInputError(
                f"user_id is {user_id!r}, but the token is user {self._user_id}'s; leave user_id out", field="user_id"
            )

    def _require_open(self) -> None:
        if self._http.is_closed:
            raise ClosedError("this RemoteBraid is closed; search inside its with block, or before close()")

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None, *, has: str) -> dict[str, Any]:
        """Return the site's answer, an object that ``has`` this field. Raises what the site raised."""
        import httpx

        self._require_open()
        content = None if body is None else json.dumps(body, allow_nan=False)  # in ASCII: half a surrogate pair, too
        try:
            answer = self._http.request(method, path, content=content, headers={"Content-Type": "application/json"})
        except httpx.HTTPError as error:
            raise IndexUnavailableError(f"{self.url} does not answer: {type(error).__name__}: {error}") from error
        except RuntimeError:  # of the client, when it was closed meanwhile
            self._require_open()
            raise
        try:
            found = answer.json()
        except ValueError:
            found = None
        if not isinstance(found, dict) or (answer.status_code == 200 and has not in found):
            raise IndexUnavailableError(
                f"{self.url} answered {answer.status_code} and nothing of Braid's; is it where Braid's pages are?"
            )
        if answer.status_code == 200:
            return found
        raise _error(answer.status_code, found)


def _is_address(url: object) -> bool:
    import httpx

    try:
        parsed = httpx.URL(url if isinstance(url, str) else "")
    except httpx.InvalidURL:
        return False
    return parsed.scheme in ("http", "https") and bool(parsed.host)


def _checked(options: Mapping[str, Any]) -> SearchOptions:
    """Return the options of a search. Raises InvalidInputError for a wrong one, and for one that the API lacks."""
    asked = SearchOptions().changed(options)
    if unknown := sorted(name for name in options if name not in OPTIONS):
        raise InvalidInputError(
            f"{unknown[0]!r} cannot be chosen over the API; choose among {', '.join(sorted(OPTIONS))}",
            field=unknown[0],
        )
    return asked


def _error(status: int, problem: Mapping[str, Any]) -> BraidError:
    detail = str(problem.get("detail") or problem.get("title") or f"the site answered {status}")
    if status in (401, 403):
        return InvalidInputError(f"the token is not accepted: {detail}", field="token")
    if status in (400, 422):
        return InvalidInputError(detail, field=str(problem.get("field", "")))
    return ERRORS.get(status, BraidError)(detail)


def _plain(options: SearchOptions) -> dict[str, Any]:
    """Return the options as the API takes them, without those that it takes to be left out."""
    values = {name: getattr(options, name) for name in sorted(OPTIONS)}
    values["filters"] = _plain_filters(options.filters)
    values["alpha"] = options.weight_of("dense") if options.fusion == "weighted" else None
    return {name: value for name, value in values.items() if value is not None}


def _plain_filters(filters: Filters) -> dict[str, Any]:
    dates = {"date_from": filters.date_from, "date_to": filters.date_to}
    return {
        "file_types": sorted(filters.file_types),
        "source_prefix": filters.source_prefix,
        "metadata": filters.metadata,
        "chunk_kinds": sorted(filters.chunk_kinds),
        **{name: datetime.fromtimestamp(at, UTC).isoformat() for name, at in dates.items() if at is not None},
    }


def _hit(shown: Mapping[str, Any]) -> Hit:
    passage = {name: value for name, value in shown["passage"].items() if name in Passage.__dataclass_fields__}
    if passage["date"] is not None:
        passage["date"] = datetime.fromisoformat(passage["date"]).timestamp()
    passage["metadata"] = read_metadata(passage["metadata"])
    return Hit(
        passage=Passage(**{"collection": "", **passage}),
        score=shown["score"],
        legs=tuple(LegScore(**leg) for leg in shown["legs"]),
        also_in=tuple(Occurrence(**place) for place in shown["also_in"]),
        rerank_score=shown["rerank_score"],
        covers=tuple(shown["covers"]),
        more_in_document=shown.get("more_in_document", 0),
    )
