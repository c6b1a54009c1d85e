"""Schemas that several resources share: pages of a list, moments, passages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Generic, TypeVar

from flask import request
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from braid.app.api.framework.operations import Answered
from braid.app.api.framework.requests import WHOLE, Given
from braid.app.mounted import endpoint_here, url_for
from braid.core.json_form import to_json
from braid.core.types import MAX_ID

MAX_PAGE = 200
MAX_OFFSET = 1_000_000_000

Item = TypeVar("Item")
Row = TypeVar("Row")


class Shown(BaseModel):
    """Base of everything that callers are shown; made from a dataclass of core with the same fields."""

    model_config = ConfigDict(from_attributes=True, frozen=True)


def _moment(seconds: object) -> object:
    if not isinstance(seconds, int | float):
        return seconds
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):  # no year from 1 to 9999
        return None


Moment = Annotated[datetime | None, BeforeValidator(_moment)]
"""A point in time as RFC 3339, made from seconds since the epoch."""
Sorted = Annotated[list[str], BeforeValidator(sorted)]
"""Names that core has as a set."""
MetadataShown = Annotated[dict[str, str | bool | int | float | list[str] | dict[str, str]], BeforeValidator(to_json)]
"""Metadata in its JSON form, which has a date as ``{"$date": "2026-01-31"}``."""
DatasetId = Annotated[int, Field(ge=-MAX_ID, le=MAX_ID, json_schema_extra={"not": {"const": 0}}), WHOLE]
"""Id of a dataset: above 0 personal, below 0 shared."""


class PageQuery(Given):
    """The part of a list to return."""

    limit: int = Field(50, ge=1, le=MAX_PAGE, description="Items per page")
    offset: int = Field(0, ge=0, le=MAX_OFFSET, description="Items to skip")


class DeletionQuery(Given):
    """How to delete what could be restored for some days."""

    permanently: bool = Field(False, description="Delete it so that it cannot be restored")


class Page(BaseModel, Generic[Item]):
    """A page of a list. ``next`` is the address of the next page; null at the end."""

    items: list[Item]
    next: str | None


def page_of(
    model: type[Page[Any]],
    query: PageQuery,
    read: Callable[..., Sequence[Row]],
    show: Callable[[Row], BaseModel],
) -> Answered:
    """Return the page that ``read`` gives for ``limit`` and ``offset``, with a link to the next one."""
    found = read(limit=query.limit + 1, offset=query.offset)
    items = [show(row) for row in found[: query.limit]]
    following = following_page(query, query.limit) if len(found) > query.limit else None
    return Answered(model(items=items, next=following), next_link(following))


def slice_rows(rows: Sequence[Row]) -> Callable[..., Sequence[Row]]:
    """Return a ``read`` function for `page_of` over rows that are in memory anyway."""
    return lambda limit, offset: rows[offset : offset + limit]


def next_link(following: str | None) -> dict[str, str]:
    """Return the header that names the next page, if there is one."""
    return {"Link": f'<{following}>; rel="next"'} if following else {}


def following_page(query: PageQuery, shown: int) -> str:
    """Return the address of the page after one with ``shown`` items."""
    arguments: dict[str, Any] = {**request.args.to_dict(), **(request.view_args or {})}
    arguments |= {"limit": query.limit, "offset": query.offset + shown}
    return url_for(endpoint_here(), **arguments)


class PassageShown(Shown):
    """A passage with its document. Lines and pages are 1-based and inclusive."""

    chunk_id: str
    document_id: int
    dataset_id: int
    source: str
    title: str
    file_type: str
    heading_path: str
    text: str
    position: int
    page: int | None
    page_end: int | None
    line: int | None
    line_end: int | None
    date: Moment
    metadata: MetadataShown
    chunk_kind: str = Field(
        "",
        description="`function`, `class`, `method` or `module` in source code, `contents` for a table of contents, "
        "which comes last; else empty",
    )
    confidence: float | None = Field(
        None, description="How sure the machine is that read it on a scanned page, 0–1; null for other text"
    )


class DegradedShown(Shown):
    """A missing part of the answer, and why it is missing."""

    leg: str
    collection: str
    reason: str
