"""Rerankers on a server: Cohere, Jina (also llama.cpp, vLLM and others), Voyage, and Text Embeddings Inference."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from braid.core.errors import N_, ModelError, Reason
from braid.core.models.reasons import safe_reason

MAX_ANSWER_BYTES = 8_000_000
MAX_ERROR_CHARS = 500
LONGER = 2
"""How many times the deadline of a search a call may take, so that it is the search that says who was late."""
FAILED = N_("the reranker %(model)s failed: %(error)s")
_VERSION = re.compile(r"/v\d+$")


@dataclass(frozen=True, slots=True)
class Protocol:
    """How a kind of server is asked."""

    url: str
    """Its maker's own address; empty where everybody runs their own."""
    path: str
    key_variable: str = ""
    """The variable of the environment with the key for that address."""
    texts: str = "documents"
    """The field of the request that has the passages."""
    fields: Mapping[str, object] | None = None
    """Further fields of the request."""

    def address(self, base_url: str) -> str:
        """Return where to post; ``base_url`` may already end with the version, or with the whole path."""
        base = (base_url or self.url).rstrip("/")
        if base.endswith("/rerank"):
            return base
        return f"{base}/rerank" if _VERSION.search(base) else f"{base}{self.path}"


PROTOCOLS: Mapping[str, Protocol] = {
    "cohere": Protocol("https://api.cohere.com", "/v2/rerank", "CO_API_KEY"),
    "jina": Protocol("https://api.jina.ai", "/v1/rerank", "JINA_API_KEY", fields={"return_documents": False}),
    "voyage": Protocol("https://api.voyageai.com", "/v1/rerank", "VOYAGE_API_KEY"),
    "tei": Protocol("", "/rerank", texts="texts", fields={"truncate": True}),
}
"""Provider → its protocol. llama.cpp, vLLM and most other servers of one's own speak Jina's."""


@dataclass(frozen=True, slots=True)
class RerankServer:
    """A server with a reranker that administrators connected."""

    kind: str
    """One of `PROTOCOLS`."""
    model: str
    base_url: str = ""
    """Empty for the maker's own address."""
    key: str = field(default="", repr=False)
    has_key: bool = False
    """Whether a key is stored. One that cannot be read, as the data directory has another secret, is empty."""

    @property
    def name(self) -> str:
        """``provider:model``, as searches name it."""
        return f"{self.kind}:{self.model}"

    @property
    def address(self) -> str:
        """The address that the key is for."""
        return self.base_url or PROTOCOLS[self.kind].url


class RerankServerError(Exception):
    """A server's answer that is none, with its HTTP status and headers."""

    def __init__(self, status_code: int, text: str, headers: Mapping[str, str]) -> None:
        super().__init__(f"{status_code} {text}")
        self.status_code = status_code
        self.headers = headers


class HttpReranker:
    """A reranker on a server, asked once per search; scores are the server's, mostly 0.0–1.0.

    A key of the environment is sent to the maker's own address only.
    """

    def __init__(self, provider: str, model: str, *, base_url: str = "", api_key: str = "", timeout_s: float) -> None:
        self.name = f"{provider}:{model}"
        self._protocol = PROTOCOLS[provider]
        self._model = model
        self._base_url = base_url
        self._api_key = api_key
        self._timeout_s = timeout_s

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Score the texts in one call of the server."""
        if not (self._base_url or self._protocol.url):
            raise ModelError(
                f"the reranker {self.name} is on a server of one's own; write its address as reranker_base_url, such "
                "as http://localhost:8080"
            )
        key = self._api_key
        if not key and not self._base_url:
            key = os.environ.get(self._protocol.key_variable, "")
        try:
            given = _scores_in(self._post(query, texts, key))
        except Exception as error:  # the edge to a provider: any of them raises its own family
            said = str(error) if isinstance(error, RerankServerError) else ""
            template = self._template(error)
            reason = safe_reason(error, (key,), said=said)
            raise ModelError(Reason(template, model=self.name, error=reason)) from error
        return checked_scores(self.name, [given.get(index, math.nan) for index in range(len(texts))], len(texts))

    def _post(self, query: str, texts: Sequence[str], key: str) -> Any:
        from braid.core.outgoing.model_http import model_http  # loads httpx

        address = self._protocol.address(self._base_url)
        more = self._protocol.fields or {}
        body = {"model": self._model, "query": query, self._protocol.texts: list(texts), **more}
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        client = model_http(address)
        with client.stream("POST", address, json=body, headers=headers, timeout=LONGER * self._timeout_s) as response:
            content = bytearray()
            for piece in response.iter_bytes():
                content += piece
                if len(content) > MAX_ANSWER_BYTES:
                    raise ValueError(f"the answer is longer than {MAX_ANSWER_BYTES} bytes")
            if not 200 <= response.status_code < 300:
                text = bytes(content[: 4 * MAX_ERROR_CHARS]).decode("utf-8", "replace")[:MAX_ERROR_CHARS]
                raise RerankServerError(response.status_code, text, response.headers)
        return json.loads(content)

    def _template(self, error: Exception) -> str:
        """Return what says what went wrong and what to check, where something that is set can be the cause."""
        status = error.status_code if isinstance(error, RerankServerError) else 0
        if status in (401, 403):
            return N_("the reranker %(model)s failed: %(error)s; check the key, reranker_api_key")
        if status in (400, 413, 422):
            return N_(
                "the reranker %(model)s failed: %(error)s; check the name of the model, and reranker_depth where the "
                "server takes fewer passages"
            )
        if status in (404, 405) or isinstance(error, ValueError):
            return N_(
                "the reranker %(model)s failed: %(error)s; check the address, reranker_base_url, and whether the "
                "server is one of cohere, jina, voyage or tei"
            )
        if status:
            return FAILED
        return N_(
            "the reranker %(model)s failed: %(error)s; check that the server runs, and its address, reranker_base_url"
        )


class ConnectedReranker(HttpReranker):
    """The reranker of a server that administrators connected, or are about to."""

    def __init__(self, server: RerankServer, timeout_s: float) -> None:
        super().__init__(server.kind, server.model, base_url=server.base_url, api_key=server.key, timeout_s=timeout_s)
        self._lost_key = server.has_key and not server.key

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Score the texts as `HttpReranker` does. Nothing is sent without the key that the server is to get."""
        if self._lost_key:
            raise ModelError(
                Reason(
                    "the key of the reranker %(model)s can no longer be read; connect it again with the key, under "
                    "Administration, Models",
                    model=self.name,
                )
            )
        return super().scores(query, texts)

    def _template(self, error: Exception) -> str:
        template = super()._template(error)
        if template == FAILED:
            return template
        return N_(
            "the reranker %(model)s failed: %(error)s; check its kind, model, address and key under Administration, "
            "Models"
        )


def checked_scores(name: str, scores: list[float], expected: int) -> list[float]:
    """Return the scores. Raises ModelError unless there is a finite one for each passage."""
    if len(scores) != expected or not all(map(math.isfinite, scores)):
        good = sum(map(math.isfinite, scores))
        raise ModelError(f"the reranker {name} gave {good} scores for {expected} passages")
    return scores


def _scores_in(answer: Any) -> dict[int, float]:
    """Return the scores by index, however the server names them. Raises ValueError for an answer without any."""
    if isinstance(answer, Mapping):
        answer = next((answer[name] for name in ("results", "data") if name in answer), None)
    if not isinstance(answer, list):
        raise ValueError("the answer has no list of results")
    found: dict[int, float] = {}
    for entry in answer:
        if not isinstance(entry, Mapping) or not isinstance(entry.get("index"), int):
            raise ValueError("a result of the answer has no index")
        score = entry.get("relevance_score", entry.get("score"))
        if isinstance(score, bool) or not isinstance(score, int | float):
            raise ValueError("a result of the answer has no score")
        found[entry["index"]] = float(score)
    return found
