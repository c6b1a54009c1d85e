"""Idempotency keys: a write with an ``Idempotency-Key`` is done once, however often it is sent."""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Callable

from flask import Response, request

from braid.app.api.framework.requests import InvalidRequestError
from braid.app.auth.identity import identity
from braid.app.site import site
from braid.core.accounts.idempotency import IdempotencyKeys, KeptAnswer, KeyReusedError
from braid.core.chat.turns.cited_passages import lost_of

HEADER = "Idempotency-Key"
KEY_PATTERN = r"^[!-~]{1,200}$"
KEPT_HEADERS = ("Content-Type", "Location", "ETag", "Deprecation")
BLOCK_BYTES = 1 << 20
_DATASET = re.compile(r'"dataset_id": ?(-?\d{1,18})\b')
"""A passage of a dataset in an answer."""


def answer_once(answer: Callable[[], Response]) -> Response:
    """Return the answer, or that of the first request with the same key, marked by ``Idempotency-Replayed``.

    A failed request has done nothing, so its key can be used again.
    """
    key = request.headers.get(HEADER)
    if key is None:
        return answer()
    if not re.fullmatch(KEY_PATTERN, key):
        raise InvalidRequestError(((HEADER, "it must be 1 to 200 visible ASCII characters"),))
    keys, user_id = IdempotencyKeys(site().braid.ledger), identity().account.id
    kept = keys.begin(user_id, key, _fingerprint())
    if kept is not None:
        return _replay(kept)
    done = False
    try:
        response = answer()
        # a failure may be tried again, and a stream has no body to store
        done = response.status_code < 400 and not response.is_streamed
        if done:
            keys.finish(user_id, key, response.status_code, _to_body(response))
        return response
    finally:
        if not done:
            keys.forget(user_id, key)


def _fingerprint() -> str:
    """Return a hash that distinguishes this request from others.

    It is stored for a day and must not allow guessing passwords, so it is keyed with the site's secret.
    """
    named = f"{HEADER} {request.method} {request.full_path} {request.mimetype}"
    if (limit := identity().dataset_ids) is not None:  # an answer is for tokens that read the same
        named += f" {sorted(limit)}"
    found = hmac.new(site().secret, named.encode(), "sha256")
    if request.mimetype != "multipart/form-data":
        found.update(request.get_data())
        return found.hexdigest()
    for name, value in request.form.items(multi=True):
        found.update(f"{name}={value};".encode())
    for name, file in request.files.items(multi=True):
        found.update(f"{name}:{file.filename};".encode())
        while block := file.stream.read(BLOCK_BYTES):
            found.update(block)
        file.stream.seek(0)
    return found.hexdigest()


def _to_body(response: Response) -> str:
    headers = {name: response.headers[name] for name in KEPT_HEADERS if name in response.headers}
    return json.dumps({"headers": headers, "text": response.get_data(as_text=True)})


def _replay(kept: KeptAnswer) -> Response:
    stored = json.loads(kept.body)
    datasets, braid = {int(found) for found in _DATASET.findall(stored["text"])}, site().braid
    if datasets and lost_of(braid.ledger, braid.registry, identity().account.id, datasets):
        raise KeyReusedError(
            "the answer to the first request has what you may no longer read; make a new Idempotency-Key"
        )
    response = Response(stored["text"], kept.status)
    response.headers.remove("Content-Type")
    response.headers.extend(stored["headers"])
    response.headers["Idempotency-Replayed"] = "true"
    return response
