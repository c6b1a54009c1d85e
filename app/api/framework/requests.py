"""Reads requests and checks them against the models that the document shows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar

from flask import request
from pydantic import BaseModel, BeforeValidator, ConfigDict, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails
from werkzeug.exceptions import BadRequest, RequestEntityTooLarge, UnsupportedMediaType

from braid.core.errors import NotFoundError
from braid.core.json_form import without_half_pairs
from braid.core.types import MAX_ID

Model = TypeVar("Model", bound=BaseModel)
SAYS_SOMETHING = r"[^\s\x85]"
"""Pattern of texts that are not blank.

U+0085 is white space for the regular expressions here, but not for those of JSON Schema.
"""
KEY_HEADERS: dict[str, str] = {
    "search": "X-Search-Model-Key",
    "summary": "X-Summary-Model-Key",
    "reranker": "X-Reranker-Key",
}
"""Headers with a caller's own key for the model of a role, see `braid.app.api.request_models`."""
ELSEWHERE: Mapping[str, str] = {
    "openai_api_key": f"keys are not taken from the body; send it in the header {KEY_HEADERS['search']} for the model "
    f"that writes queries, and in {KEY_HEADERS['summary']} for the one that writes answers",
    "cohere_api_key": f"keys are not taken from the body; send it in the header {KEY_HEADERS['reranker']}, with a "
    "cohere:MODEL as reranker",
    "team_id": "there are no teams; an administrator puts users into a group and opens shared datasets to it "
    '(allowed_groups), and dataset_ids names these datasets, or "all"',
}
"""Names that other interfaces take in the body, and what to do instead."""
ISO_8601 = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?(Z|[+-][0-9]{2}:[0-9]{2})?)?$"
)
REMEDIES: Mapping[str, str] = {
    SAYS_SOMETHING: "it is blank; write something",
    ISO_8601: "write a day, such as 2026-01-31, or a time, such as 2026-01-31T09:00Z",
}
"""What to write where a text does not have a pattern."""
KEY_PATTERN = r"^[!-~]{0,500}$"
MAX_BODY_BYTES = 2 * 2**20
"""Longest JSON that is parsed."""
_FILE_WITHIN = re.compile(rb'(;base64,|"(?:file_)?data"\s*+:\s*+")[A-Za-z0-9+/=_\\-]++')
_TYPE = re.compile(r"(?:constrained-)?(?:str|int|float|bool)|[\w-]+\[.*\]")
_OF_TYPE = "Input should be "
UNKNOWN = "extra_forbidden"
"""Pydantic's type of the error for a name that a model does not have."""
MAX_ERRORS = 20
"""Largest number of errors reported for one request."""
TOO_MANY_ERRORS = 1_000
"""Errors that are counted only: to describe 700,000 takes 3 seconds."""


class Given(BaseModel):
    """Base of everything that callers send; unknown names are refused."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, frozen=True)


class Lenient(BaseModel):
    """Base of what clients of other programs' interfaces send: names that Braid does not know are ignored."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False, frozen=True)


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


WHOLE = BeforeValidator(_whole)
"""Last annotation of an integer in a body: accepts ``5.0``, which is an integer in JSON."""


class Nothing(Given):
    """No parameters."""


class InvalidRequestError(Exception):
    """The request does not fit the document. ``errors`` are pairs of a field and what is wrong with it."""

    def __init__(self, errors: tuple[tuple[str, str], ...]) -> None:
        super().__init__("; ".join(f"{field}: {detail}" if field else detail for field, detail in errors))
        self.errors = errors


def read_body(model: TypeAdapter[Any]) -> Any:
    """Read the request's JSON as the model; types are strict, and half of a surrogate pair is U+FFFD.

    Raises UnsupportedMediaType, RequestEntityTooLarge, BadRequest or InvalidRequestError, which are answered with 415,
    413, 400 and 422.
    """
    if not request.is_json:
        raise UnsupportedMediaType("send JSON, with Content-Type: application/json")
    if (encoding := request.headers.get("Content-Encoding", "identity").strip().lower()) not in ("", "identity"):
        raise UnsupportedMediaType(f"the body has Content-Encoding: {encoding[:40]}; send it uncompressed")
    try:
        return model.validate_json(without_half_pairs(_json_text()), strict=True)
    except ValidationError as error:
        # 400 if the body is not JSON, 422 if the JSON does not fit
        if error.error_count() == 1 and _errors(error)[0]["type"] == "json_invalid":
            raise BadRequest(f"the body is not JSON: {_errors(error)[0]['msg']}") from None
        raise _invalid(error, model) from None


def _json_text() -> bytes:
    """Return the request's JSON, a long one without the pictures and files in it. Raises RequestEntityTooLarge."""
    text = request.get_data()
    if len(text) > MAX_BODY_BYTES:
        text = _FILE_WITHIN.sub(rb"\1", text)
    if len(text) > MAX_BODY_BYTES:
        raise RequestEntityTooLarge(
            f"the JSON has {len(text):,} bytes without pictures and files; at most {MAX_BODY_BYTES:,} are read, so "
            "send less at a time"
        )
    return text


def require_whole(field: str, text: str) -> None:
    """Raise InvalidRequestError if the text, a field that names something, was sent with half of a surrogate pair."""
    data = request.get_data()
    if "\ufffd" in text and without_half_pairs(data) != data:
        raise InvalidRequestError(((field, "it has half of a surrogate pair, which no text has; leave it out"),))


def require_no_body() -> None:
    """Raise InvalidRequestError if the request has a body that says something."""
    if request.get_data().strip() not in (b"", b"{}", b"null"):
        raise InvalidRequestError((("", "this operation takes no body; leave it out"),))


def read_query(model: type[Model]) -> Model:
    """Read the parameters of the query string. Raises InvalidRequestError."""
    lists = {name for name, found in model.model_fields.items() if found.annotation in (list[str], list[int])}
    given: dict[str, Any] = {}
    for name, values in request.args.lists():
        if name not in lists and len(values) > 1:
            raise InvalidRequestError(((name, f"was sent {len(values)} times; send it once"),))
        given[name] = values if name in lists else values[0]
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise _invalid(error, TypeAdapter(model)) from None


def read_path(given: Mapping[str, Any]) -> dict[str, Any]:
    """Read the path's parameters. Raises NotFoundError for a number beyond `MAX_ID`, which cannot be an id."""
    for name, value in given.items():
        if isinstance(value, int) and not -MAX_ID <= value <= MAX_ID:
            raise NotFoundError(f"there is no {name.removesuffix('_id').replace('_', ' ')} {value}")
    return dict(given)


def _invalid(error: ValidationError, model: TypeAdapter[Any]) -> InvalidRequestError:
    if (count := error.error_count()) > TOO_MANY_ERRORS:
        return InvalidRequestError((("", f"{count:,} fields or values do not fit; see the API's documentation"),))
    of_field: dict[str, list[ErrorDetails]] = {}
    for each in _errors(error):
        of_field.setdefault(_field(each["loc"]), []).append(each)
    schema = model.json_schema() if any(each["type"] == UNKNOWN for each in _errors(error)) else {}
    shown = [*of_field.items()][:MAX_ERRORS]
    return InvalidRequestError(tuple((name, _explain_all(told, schema)) for name, told in shown))


def _errors(error: ValidationError) -> list[ErrorDetails]:
    return error.errors(include_url=False, include_input=False)


def _explain_all(errors: list[ErrorDetails], schema: dict[str, Any]) -> str:
    """Return what is wrong with a field that has an error for each of its alternatives: with the one of its type."""
    fitting = [each for each in errors if not each["type"].endswith("_type")]
    first, *others = dict.fromkeys(_explain(each, schema) for each in fitting or errors)
    return " or ".join([first, *(each.removeprefix(_OF_TYPE) for each in others)])


def _explain(error: ErrorDetails, schema: dict[str, Any]) -> str:
    *place, name = error["loc"] or ("",)
    if error["type"] == UNKNOWN:
        return (
            ELSEWHERE.get(str(name)) or f"there is no such field; give {', '.join(_names_at(schema, place)) or 'none'}"
        )
    told = REMEDIES.get(error.get("ctx", {}).get("pattern", ""), error["msg"])
    return told.replace(" after validation", "")


def _names_at(schema: dict[str, Any], place: list[int | str]) -> list[str]:
    """Return the names of the fields at a place of a document, in all of the forms that it may have there."""

    def forms(part: dict[str, Any]) -> list[dict[str, Any]]:
        if "$ref" in part:
            part = schema["$defs"][part["$ref"].rpartition("/")[2]]
        inner = [*part.get("anyOf", ()), *part.get("oneOf", ())]
        return [form for each in inner for form in forms(each)] if inner else [part]

    here = forms(schema)
    for name in place:  # tags of forms are among them, which are no names
        below = [each.get("items") if isinstance(name, int) else each.get("properties", {}).get(name) for each in here]
        here = [form for each in below if each for form in forms(each)] or here
    return list(dict.fromkeys(name for each in here for name in each.get("properties", ())))


def _field(place: tuple[int | str, ...]) -> str:
    """Return the field's path, as in ``filters.file_types.0``, without what tells alternatives apart: tags that begin
    with ``=``, and Python's types.
    """
    names = [str(part) for part in place if not str(part).startswith("=")]
    return ".".join(name for at, name in enumerate(names) if not at or not _TYPE.fullmatch(name))
