"""What a question is asked about: datasets, documents and pages that its writer has named with @ or on a page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from flask_babel import gettext as _

from braid.app.site import site
from braid.app.words.values import dataset_name
from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.ingest.incoming import last_part
from braid.core.options import Filters
from braid.core.types import Dataset, Document

FIELD = "about"
MOST_NAMED = 20
_KEY = re.compile(r"(dataset):(-?\d{1,18})|(document):(\d{1,18})(?::(\d{1,9}))?")


class Named(NamedTuple):
    """A dataset, a document or a page of one. ``key`` is what forms send: ``dataset:7``, ``document:12``,
    ``document:12:3`` for its third page.
    """

    key: str
    name: str
    dataset_id: int
    beside: str = ""
    """What tells it from others of this name."""


def named(keys: Sequence[str], datasets: Mapping[int, Dataset]) -> list[Named]:
    """Return what the keys of a form mean, each once. Raises InvalidInputError for another form of key, and for too
    many; NotFoundError for what the user may not read.
    """
    keys = list(dict.fromkeys(keys))
    if len(keys) > MOST_NAMED:
        raise InvalidInputError(f"the question names {len(keys)} documents; name at most {MOST_NAMED}", field=FIELD)
    found = [_named(key, datasets) for key in keys]
    for key, one in zip(keys, found, strict=True):
        if one is None:
            raise NotFoundError(f"there is no {key}, or it is not yours; remove it from the question")
    return [one for one in found if one]


def filters_of(about: Sequence[Named]) -> Filters:
    """Return the filters that select what is named, and nothing else."""
    parts = [_where(each.key) for each in about]
    return Filters(metadata={"$or": parts})


def named_in(settings: Mapping[str, Any], datasets: Mapping[int, Dataset]) -> list[Named]:
    """Return what a stored question names, without what the user may no longer read."""
    return [one for key in keys_in(settings) if (one := _named(key, datasets))]


def keys_in(settings: Mapping[str, Any]) -> list[str]:
    """Return the keys of what a stored question names, as `filters_of` has made filters of them."""
    where = ((settings.get("options") or {}).get("filters") or {}).get("metadata") or {}
    parts = where.get("$or") if set(where) == {"$or"} else None
    return list(_keys(parts)) if isinstance(parts, list) else []


def _keys(parts: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for part in parts:
        match part:
            case {"dataset_id": int(dataset_id)}:
                yield f"dataset:{dataset_id}"
            case {"document_id": int(document_id)}:
                yield f"document:{document_id}"
            case {"$and": [{"document_id": int(document_id)}, {"$or": [{"page": int(page)}, *_]}]}:
                yield f"document:{document_id}:{page}"


def _where(key: str) -> dict[str, Any]:
    kind, number, page = _parts(key)
    if not page:
        return {f"{kind}_id": number}
    goes_on = {"$and": [{"page": {"$lt": page}}, {"page_end": {"$gte": page}}]}
    return {"$and": [{"document_id": number}, {"$or": [{"page": page}, goes_on]}]}


def _named(key: str, datasets: Mapping[int, Dataset]) -> Named | None:
    """Return what a key means, None for what the user may not read. Raises InvalidInputError for another form."""
    kind, number, page = _parts(key)
    if kind == "dataset":
        dataset = datasets.get(number)
        return Named(key, dataset_name(dataset.name), dataset.id, beside(dataset)) if dataset else None
    found = site().braid.ledger.document_with_id(number, list(datasets))
    if found is None:
        return None
    title = found.title or found.source
    name = _("%(title)s, page %(number)s", title=title, number=page) if page else title
    return Named(key, name, found.dataset_id, beside(datasets[found.dataset_id], found))


def beside(dataset: Dataset, document: Document | None = None) -> str:
    """Return what tells a dataset from others of its name, its owner; or a document: its file, where that says more
    than the title, and its dataset.
    """
    owner = str(_("shared by %(name)s", name=dataset.owner)) if dataset.owner else ""
    if document is None:
        return owner
    return " · ".join(filter(None, (_file(document), dataset_name(dataset.name), owner)))


def _file(document: Document) -> str:
    """Return a document's file with its folder, or its address; empty where the title says as much."""
    source, title = document.source, document.title
    if not title or "://" in source:
        return source.partition("://")[2] if title else ""
    folder, slash, file = source.rpartition("/")
    if slash:
        return f"{last_part(folder)}/{file}"
    return "" if _letters(title) in (_letters(file.rpartition(".")[0]), _letters(file)) else file


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def _parts(key: str) -> tuple[str, int, int]:
    match = _KEY.fullmatch(key)
    if not match:
        raise InvalidInputError(f"about is {key[:40]!r}; give dataset:7, document:12 or document:12:3", field=FIELD)
    kind, number = match[1] or match[3], int(match[2] or match[4])
    return kind, number, int(match[5] or 0)
