"""What a user or a group would find for a question: where, and why, and no text that the administrator may not read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from flask import render_template, request
from flask_babel import gettext as _

from braid.app.auth.identity import identity
from braid.app.mounted import url_for
from braid.app.pages.admin.blueprint import admin, audit
from braid.app.pages.search.card import Reason, Reasoning, readable
from braid.app.site import site
from braid.app.user.datasets import readable_datasets
from braid.app.words.values import dataset_name
from braid.core.accounts.account_list import group_sizes
from braid.core.datasets.scope import scope_of_group
from braid.core.errors import InvalidInputError
from braid.core.types import ALL, MAX_NAME_CHARS, MAX_QUERY_CHARS, Dataset, Hit, Scope

FOUND = 10


@dataclass(frozen=True, slots=True)
class Seen:
    """A hit of somebody else. Without a ``title`` the administrator may not read it."""

    dataset: str
    title: str
    href: str
    text: str
    reasons: tuple[Reason, ...]


@admin.get("/see-as")
def see_as() -> str:
    """Show the form."""
    return _page()


@admin.post("/see-as")
def look() -> tuple[str, int] | str:
    """Search as somebody else, or as a member of a group, which the audit log has."""
    kind, name, text = (request.form.get(field, "").strip() for field in ("kind", "name", "q"))
    try:
        scope = _scope_of_group(name) if kind == "group" else _scope_of_user(name)
        audit("search.as_group" if kind == "group" else "search.as_user", name, text[:MAX_NAME_CHARS])
        found = site().braid.manager.search_in(scope, text, k=FOUND, group_by="document")
    except InvalidInputError as error:
        return _page(problem=str(_unknown(kind, name) if error.field == "name" else error)), 400
    mine = readable_datasets(identity().account).by_id
    ids = [each for part in scope.collections for each in sorted(part.dataset_ids, key=abs)]
    theirs = {each: site().braid.ledger.dataset(each) for each in ids}
    return _page(datasets=list(theirs.values()), seen=[_seen(hit, mine, theirs) for hit in found.hits])


def _scope_of_user(name: str) -> Scope:
    return site().braid.manager.check(user_id=site().shares.user_named(name), dataset_ids=ALL)


def _scope_of_group(name: str) -> Scope:
    """Return what the group opens. Raises InvalidInputError for one that has no member and opens nothing."""
    braid = site().braid
    scope = scope_of_group(braid.ledger, braid.registry, name)
    names_it = any(name in entry.allowed_groups for entry in braid.registry.entries())
    if not names_it and name not in group_sizes(braid.ledger.database):
        raise InvalidInputError(f"there is no group named {name[:40]!r}; open the list of groups", field="name")
    return scope


def _unknown(kind: str, name: str) -> str:
    if kind == "group":
        return str(_("There is no group named “%(name)s”.", name=name[:40]))
    return str(_("There is nobody named “%(name)s”. Type a name as it is in their account.", name=name[:40]))


def _seen(hit: Hit, mine: Mapping[int, Dataset], theirs: Mapping[int, Dataset]) -> Seen:
    passage, dataset = hit.passage, theirs.get(hit.passage.dataset_id)
    may_read = passage.dataset_id in mine
    return Seen(
        dataset=dataset_name(dataset.name) if dataset else "",
        title=(passage.title or passage.source) if may_read else "",
        href=url_for("braid.search.document", chunk_id=passage.chunk_id, _anchor="cited") if may_read else "",
        text=readable(passage.text, passage.file_type) if may_read else "",
        reasons=Reasoning().reasons(hit.legs) if may_read else (),
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
