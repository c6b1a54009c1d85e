"""The forms by which something is shared with people and groups, is taken back, left and handed over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, cast, get_args

from flask import Blueprint, flash, redirect, request
from flask_babel import gettext as _
from werkzeug.wrappers import Response

from braid.app.auth.access import rule
from braid.app.auth.identity import identity
from braid.app.mounted import url_for
from braid.app.site import site
from braid.core.datasets.shares import Kind, Share
from braid.core.errors import InvalidInputError, NotFoundError

KINDS: Sequence[Kind] = get_args(Kind)
Thing = TypeVar("Thing")


@dataclass(frozen=True, slots=True)
class SharedThings(Generic[Thing]):
    """What is shared. The first three return the thing with an id, or raise NotFoundError or Forbidden: one that the
    user may use, may share, and may give away.
    """

    find: Callable[[int], Thing]
    sharable: Callable[[int], Thing]
    own: Callable[[int], Thing]
    name_of: Callable[[Thing], str]
    page: Callable[[Thing, str], str]
    """Renders the thing's page with a problem."""
    address: Callable[[Thing], str]
    """The address of that page, where the sharing is."""
    hand_over: Callable[[Thing, str], None]


def add_sharing(routes: Blueprint, one: str, things: SharedThings[Thing]) -> None:
    """Add the routes to a blueprint whose list is its view ``index``; ``one`` is the path of a thing, with its id."""

    @routes.post(f"{one}/share")
    @rule("user")
    def share(**ids: int) -> tuple[str, int] | Response:
        """Share the thing with a user or a group, or change what they may do."""
        thing, form = things.sharable(*ids.values()), request.form
        name = form.get("name", "").strip()
        try:
            given = Share(kind_of(form.get("kind", "")), name, form.get("may_write") == "1")
            site().shares.put(thing, given, by=identity().account.name)  # type: ignore[arg-type]  # a Shareable
        except InvalidInputError as error:
            return things.page(thing, str(error)), 400
        return shared(_("Shared with %(name)s.", name=name), thing)

    @routes.post(f"{one}/unshare")
    @rule("user")
    def unshare(**ids: int) -> Response:
        """Take back what was shared with a user or a group."""
        thing, name = things.sharable(*ids.values()), request.form.get("name", "")
        kind = kind_of(request.form.get("kind", ""))
        site().shares.remove(thing, kind, name, by=identity().account.name)  # type: ignore[arg-type]
        return shared(_("No longer shared with %(name)s.", name=name), thing)

    @routes.post(f"{one}/leave")
    @rule("user")
    def leave(**ids: int) -> Response:
        """Do without what somebody shares with the user."""
        thing, me = things.find(*ids.values()), identity().account.name
        site().shares.remove(thing, "user", me, by=me)  # type: ignore[arg-type]
        return to_list(_("“%(name)s” is no longer in your list.", name=things.name_of(thing)))

    @routes.post(f"{one}/hand-over")
    @rule("user")
    def give(**ids: int) -> tuple[str, int] | Response:
        """Give the thing to another user."""
        thing, name = things.own(*ids.values()), request.form.get("name", "").strip()
        try:
            things.hand_over(thing, name)
        except InvalidInputError as error:
            return things.page(thing, str(error)), 400
        return to_list(_("“%(dataset)s” now belongs to %(name)s.", dataset=things.name_of(thing), name=name))

    def shared(told: str, thing: Thing) -> Response:
        """Show the thing, or the list to who has answered there."""
        if request.form.get("back") == "index":
            return to_list(told)
        flash(told)
        return redirect(f"{things.address(thing)}#share-title")

    def to_list(told: str) -> Response:
        flash(told)
        return redirect(url_for(f"braid.{routes.name}.index"))


def kind_of(given: str) -> Kind:
    """Return what is named, a user or a group. Raises NotFoundError for anything else."""
    if given not in KINDS:
        raise NotFoundError(f"kind is {given[:20]!r}; it is user or group")
    return cast(Kind, given)


def names_of(shares: Sequence[Share]) -> str:
    """Return the names of those with whom something is shared, as part of a sentence."""
    names = [share.name if share.kind == "user" else _("the group “%(name)s”", name=share.name) for share in shares]
    return str(_(", ").join(names))
