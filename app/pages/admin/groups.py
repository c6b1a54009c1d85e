"""Groups: their members, what they may read, a new name."""

from __future__ import annotations

from flask import render_template, request
from flask_babel import gettext as _
from flask_babel import ngettext
from werkzeug.wrappers import Response

from braid.app.auth.identity import identity
from braid.app.pages.admin.blueprint import (
    PER_PAGE,
    accounts_page,
    admin,
    audit,
    in_order,
    page_in,
    read_people,
    require_own_accounts,
    searched,
)
from braid.app.site import site
from braid.app.web.errors import refusing
from braid.app.words.values import dataset_name
from braid.core.accounts.account_list import delete_group, group_sizes, rename_group, shared_with_groups
from braid.core.datasets.registry import SharedDataset
from braid.core.errors import BraidError, InvalidInputError, NotFoundError
from braid.core.types import MAX_NAME_CHARS

MOST_NAMES = 5
"""Datasets that are named beside a group; the others are counted."""


@admin.get("/groups")
def groups() -> str:
    """Show the groups, their sizes and what they open, a page at a time."""
    text = searched()
    found, sort = in_order(_all_groups(text), {"name": lambda row: row[0].casefold(), "members": lambda row: row[1]})
    page = page_in(len(found), PER_PAGE)
    return render_template(
        "braid/admin/groups.html",
        groups=found[PER_PAGE * page : PER_PAGE * (page + 1)],
        total=len(found),
        text=text,
        sort=sort or "name",
        shown={name: value for name, value in (("q", text), ("sort", sort)) if value},
        page=page,
        more=len(found) > PER_PAGE * (page + 1),
        most_names=MOST_NAMES,
    )


@admin.get("/group")
def group() -> str:
    """Show a group: its members, and the datasets that they may read by it."""
    return _page(_named())


@admin.post("/group/members")
def add_member() -> tuple[str, int] | Response:
    """Add users to a group, all of them or none; the first one makes it a group."""
    require_own_accounts()
    name, one = _named(), ""
    try:
        users = read_people("user")
        ids = set()
        for one in users:
            ids.add(site().shares.user_named(one))
        with site().whole():
            for user_id in sorted(ids):  # in the order in which all lock them
                account = site().accounts.get(user_id)
                now = site().accounts.change_groups(account.id, add=[name])
                audit("user.groups", account.name, ", ".join(sorted(now)))
    except InvalidInputError as error:
        told = _("There is nobody named “%(name)s”. Type a name as it is in their account.", name=one[:40])
        return _page(name, problem=str(told if error.field == "name" else error)), 400
    if len(users) == 1:
        return _done(_("%(user)s is now in “%(name)s”.", user=account.name, name=name), name)
    told = ngettext(
        "%(num)s person is now in “%(name)s”.", "%(num)s people are now in “%(name)s”.", len(users), name=name
    )
    return _done(told, name)


@admin.post("/group/members/remove")
def remove_member() -> Response:
    """Take a user out of a group."""
    require_own_accounts()
    name = _named()
    account = site().accounts.get(request.form.get("user_id", 0, type=int))
    with site().whole():
        now = site().accounts.change_groups(account.id, remove=[name])
        audit("user.groups", account.name, ", ".join(sorted(now)) or "none")
    return _done(_("%(user)s is no longer in “%(name)s”.", user=account.name, name=name), name)


@admin.post("/group/rename")
def rename_one() -> Response:
    """Give a group another name, also in the list of shared datasets."""
    require_own_accounts()
    name = _named()
    with refusing(_page, name, on=BraidError), site().whole():
        new = rename_group(site().braid.ledger.database, name, request.form.get("new_name", ""))
        audit("group.renamed", new, name)
        site().shared_datasets.rename_group(name, new, by=identity().account.name)
    return _done(_("The group is now called “%(name)s”.", name=new), new)


@admin.post("/group/delete")
def delete_one() -> tuple[str, int] | Response:
    """Delete a group, unless a shared dataset is open to it: without its groups that would be open to everyone."""
    require_own_accounts()
    name = _named()
    if opened := _opened(name):
        datasets = ", ".join(dataset_name(each.name) for each in opened)
        told = _("“%(name)s” may read %(datasets)s. Take it out there first.", name=name, datasets=datasets)
        return _page(name, problem=str(told)), 400
    with site().whole():
        delete_group(site().braid.ledger.database, name)
        audit("group.removed", name)
    return admin.done(_("The group “%(name)s” has been deleted.", name=name), "groups")


def _page(name: str, *, problem: str = "") -> str:
    members, total, page = accounts_page(group=name)
    shared = shared_with_groups(site().braid.ledger.database).get(name, ())
    return render_template(
        "braid/admin/group.html",
        name=name,
        members=members,
        total=total,
        page=page,
        more=total > PER_PAGE * (page + 1),
        opened=_opened(name),
        lent=shared,
        problem=problem,
        max_name=MAX_NAME_CHARS,
    )


def _all_groups(text: str) -> list[tuple[str, int, list[str], list[str]]]:
    """Return (group, number of members, the datasets open to it, the assistants shared with it) per group whose name
    contains the text.
    """
    sizes = group_sizes(site().braid.ledger.database)
    lent = shared_with_groups(site().braid.ledger.database)
    opened = {
        group: [dataset_name(each.name) for each in those if not each.is_assistant] for group, those in lent.items()
    }
    helped = {group: [each.name for each in those if each.is_assistant] for group, those in lent.items()}
    for entry in site().braid.registry.entries():
        for group in entry.allowed_groups:
            opened.setdefault(group, []).append(dataset_name(entry.name))
    found = [name for name in sorted({*sizes, *opened}) if text.casefold() in name.casefold()]
    return [(name, sizes.get(name, 0), opened.get(name, []), helped.get(name, [])) for name in found]


def _opened(name: str) -> list[SharedDataset]:
    """Return the shared datasets that are open to the group."""
    return [each for each in site().braid.registry.entries() if name in each.allowed_groups]


def _named() -> str:
    """Return the name of the group that is asked for. Raises NotFoundError without one."""
    name = request.values.get("name", "").replace("\0", "").strip()[:MAX_NAME_CHARS]
    if not name:
        raise NotFoundError("no group is named; open it from the list of groups")
    return name


def _done(told: str, name: str) -> Response:
    return admin.done(told, "group", name=name)
