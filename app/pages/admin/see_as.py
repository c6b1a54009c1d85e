"""What somebody else would find for a question: where, and why, without text that the administrator may not read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from flask import render_template, request
from flask_babel import gettext as _

from braid.app.auth.access import rule
from braid.app.auth.identity import identity
from braid.app.mounted import url_for
from braid.app.pages.admin.blueprint import admin, audit
from braid.app.pages.search.reasons import Reason, Reasoning
from braid.app.site import site
from braid.app.user.datasets import UserDatasets, readable_datasets
from braid.app.words.values import dataset_name
from braid.core.errors import InvalidInputError
from braid.core.types import ALL, MAX_NAME_CHARS, MAX_QUERY_CHARS, Dataset, Hit

FOUND = 10


@dataclass(frozen=True, slots=True)
class Seen:
    """A hit of somebody else. Without a ``title`` the administrator may not read it."""

    dataset: str
    title: str
    href: str
    reasons: tuple[Reason, ...]


@admin.get("/see-as")
@rule("admin")
def see_as() -> str:
    """Show the form."""
    return _page()


@admin.post("/see-as")
@rule("admin")
def look() -> tuple[str, int] | str:
    """Search as somebody else, which the audit log has."""
    name, text = request.form.get("name", "").strip(), request.form.get("q", "").strip()
    try:
        user_id = site().shares.user_named(name)
        audit("search.as_user", name, text[:MAX_NAME_CHARS])
        found = site().braid.manager.search(text, user_id=user_id, dataset_ids=ALL, k=FOUND)
    except InvalidInputError as error:
        unknown = _("There is nobody named “%(name)s”. Type a name as it is in their account.", name=name[:40])
        return _page(problem=str(unknown if error.field == "name" else error)), 400
    mine, theirs = readable_datasets(identity().account).by_id, UserDatasets(site().braid, user_id).readable()
    return _page(datasets=theirs.all, seen=[_seen(hit, mine, theirs.by_id) for hit in found.hits])


def _seen(hit: Hit, mine: Mapping[int, Dataset], theirs: Mapping[int, Dataset]) -> Seen:
    passage, dataset = hit.passage, theirs.get(hit.passage.dataset_id)
    may_read = passage.dataset_id in mine
    return Seen(
        dataset=dataset_name(dataset.name) if dataset else "",
        title=(passage.title or passage.source) if may_read else "",
        href=url_for("braid.search.document", chunk_id=passage.chunk_id, _anchor="cited") if may_read else "",
        reasons=Reasoning().reasons(hit.legs),
    )


def _page(*, problem: str = "", datasets: list[Dataset] | None = None, seen: list[Seen] | None = None) -> str:
    return render_template(
        "braid/admin/see_as.html",
        typed=request.values,
        problem=problem,
        datasets=datasets,
        seen=seen,
        max_name=MAX_NAME_CHARS,
        max_query_chars=MAX_QUERY_CHARS,
    )
