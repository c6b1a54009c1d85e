"""Fingerprints of embedding objects that have none of their own: class, model, server and dimensions."""

from __future__ import annotations

from urllib.parse import urlsplit

MODEL_FIELDS = ("model", "model_name", "model_id", "repo_id", "deployment")
SERVER_FIELDS = ("openai_api_base", "base_url", "azure_endpoint", "endpoint_url", "endpoint", "api_base", "api_url")
DIMENSION_FIELDS = ("dimensions", "output_dimensionality", "dimension")


def derived_fingerprint(model: object) -> str:
    """Return what LangChain's embedding classes say of themselves; empty when the object names no model.

    An address is taken without names, passwords and parameters, so that no key is in a fingerprint.

    >>> from types import SimpleNamespace
    >>> asked = SimpleNamespace(model="bge-m3", base_url="http://me:secret@gpu:8080/v1?key=x", dimensions=256)
    >>> derived_fingerprint(asked)
    'SimpleNamespace:bge-m3@gpu:8080/v1#256'
    """
    name = _first(model, MODEL_FIELDS, str)
    if not name:
        return ""
    server = _without_secrets(str(_first(model, SERVER_FIELDS, str) or ""))
    dimensions = _first(model, DIMENSION_FIELDS, int)
    parts = f"{type(model).__name__}:{name}", f"@{server}" if server else "", f"#{dimensions}" if dimensions else ""
    return "".join(parts)


def _first(model: object, names: tuple[str, ...], kind: type) -> object:
    values = (getattr(model, name, None) for name in names)
    return next((value for value in values if value and isinstance(value, kind)), None)


def _without_secrets(address: str) -> str:
    parts = urlsplit(address if "://" in address else f"//{address}")
    return f"{parts.netloc.rpartition('@')[2]}{parts.path}".rstrip("/")
