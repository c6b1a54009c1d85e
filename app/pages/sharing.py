"""Who can use what is shared, and the forms by which it is shared, taken back, left and handed over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, cast, get_args

from flask import flash, redirect, request
from flask_babel import gettext as _
from flask_babel import pgettext
from werkzeug.wrappers import Response

from braid.app.auth.access import Routes
from braid.app.auth.identity import identity
from braid.app.site import site
from braid.app.user.datasets import UserDatasets
from braid.app.words.values import sentences
from braid.core.datasets.assistants import OpenAssistant
from braid.core.datasets.shares import AccessRequest, Kind, Share
from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.types import Dataset

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


def add_sharing(routes: Routes, one: str, things: SharedThings[Thing]) -> None:
    """Add the routes to a blueprint whose list is its view ``index``; ``one`` is the path of a thing, with its id."""

    @routes.post(f"{one}/share")
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
    def unshare(**ids: int) -> Response:
        """Take back what was shared with a user or a group."""
        thing, name = things.sharable(*ids.values()), request.form.get("name", "")
        kind = kind_of(request.form.get("kind", ""))
        site().shares.remove(thing, kind, name, by=identity().account.name)  # type: ignore[arg-type]
        return shared(_("No longer shared with %(name)s.", name=name), thing)

    @routes.post(f"{one}/leave")
    def leave(**ids: int) -> Response:
        """Do without what somebody shares with the user."""
        thing, me = things.find(*ids.values()), identity().account.name
        site().shares.remove(thing, "user", me, by=me)  # type: ignore[arg-type]
        return routes.done(_("“%(name)s” is no longer in your list.", name=things.name_of(thing)), "index")

    @routes.post(f"{one}/hand-over")
    def give(**ids: int) -> tuple[str, int] | Response:
        """Give the thing to another user."""
        thing, name = things.own(*ids.values()), request.form.get("name", "").strip()
        try:
            things.hand_over(thing, name)
        except InvalidInputError as error:
            return things.page(thing, str(error)), 400
        told = _("“%(dataset)s” now belongs to %(name)s.", dataset=things.name_of(thing), name=name)
        return routes.done(told, "index")

    def shared(told: str, thing: Thing) -> Response:
        """Show the thing, or the list to who has answered there."""
        if request.form.get("back") == "index":
            return routes.done(told, "index")
        flash(told)
        return redirect(f"{things.address(thing)}#share-title")


def kind_of(given: str) -> Kind:
    """Return what is named, a user or a group. Raises NotFoundError for anything else."""
    if given not in KINDS:
        raise NotFoundError(f"kind is {given[:20]!r}; it is user or group")
    return cast(Kind, given)


def names_of(shares: Sequence[Share]) -> str:
    """Return the names of those with whom something is shared, as part of a sentence."""
    names = (
        pgettext("in a sentence", "%(name)s", name=share.name)
        if share.kind == "user"
        else _("the group “%(name)s”", name=share.name)
        for share in shares
    )
    return str(_(", ").join(names))


@dataclass(frozen=True, slots=True)
class Sharing:
    """What the page of a dataset or an assistant says of who may use it. ``may_share`` is whether the user may change
    that, ``may_leave`` whether it is shared with the user by name, who may do without it.
    """

    sentence: str
    may_share: bool
    may_leave: bool
    shares: Sequence[Share]
    requests: Sequence[AccessRequest] = ()


def sharing_of(dataset: Dataset, mine: UserDatasets) -> Sharing:
    """Return who can read a dataset that the user may read, as far as the user may know it."""
    may_share = dataset.conversation_id is None and (identity().is_admin if dataset.shared else not dataset.owner)
    stored = site().shares.of(dataset)
    shares = stored if may_share else []
    me = identity().account.name
    return Sharing(
        _sentence(dataset, shares, may_write=mine.may_write(dataset)),
        may_share,
        bool(dataset.owner) and any((share.kind, share.name) == ("user", me) for share in stored),
        shares,
        site().shares.requests([dataset.id]) if may_share else [],
    )


def sharing_of_assistant(found: OpenAssistant) -> Sharing:
    """Return who can use an assistant that the user may use, as far as the user may know it."""
    stored, me = site().shares.of(found.assistant), identity().account.name
    shares = [] if found.owner else stored
    if found.owner:
        told = [_("%(name)s shares this assistant with you.", name=found.owner)]
        told.append(_("You can use it and change it.") if found.may_edit else _("You can use it."))
    elif not shares:
        told = [_("Only you can use this assistant.")]
    elif all(share.may_write for share in shares):
        told = [_("Besides you, %(names)s can use this assistant and change it.", names=names_of(shares))]
    else:
        told = [_("Besides you, %(names)s can use this assistant.", names=names_of(shares))]
        if editors := [share for share in shares if share.may_write]:
            told.append(_("Of these, %(names)s can also change it.", names=names_of(editors)))
    may_leave = bool(found.owner) and any((share.kind, share.name) == ("user", me) for share in stored)
    return Sharing(sentences(told), not found.owner, may_leave, shares)


def _sentence(dataset: Dataset, shares: Sequence[Share], *, may_write: bool) -> str:
    if dataset.shared:
        told = _of_shared(dataset, shares, may_write=may_write)
    elif dataset.owner:
        told = [_("%(name)s shares this dataset with you.", name=dataset.owner)]
        told.append(_("You can read it, add documents and remove them.") if may_write else _("You can read it."))
    elif not shares:
        told = [_("Only you can read this dataset.")]
    elif all(share.may_write for share in shares):
        names = names_of(shares)
        told = [_("Besides you, %(names)s can read this dataset, add documents and remove them.", names=names)]
    else:
        told = [_("Besides you, %(names)s can read this dataset.", names=names_of(shares)), *_also(shares)]
    return sentences(told)


def _also(shares: Sequence[Share]) -> list[str]:
    editors = names_of([share for share in shares if share.may_write])
    return [_("Of these, %(names)s can also add documents and remove them.", names=editors)] if editors else []


def _of_shared(dataset: Dataset, shares: Sequence[Share], *, may_write: bool) -> list[str]:
    entry = site().braid.registry.get(dataset.id)
    if entry is None or not entry.enabled:
        return [_("This dataset is off: nobody can search it.")]
    if not entry.allowed_groups:
        told = [_("Everyone with an account can read this dataset.")]
    elif identity().is_admin:
        told = [_("Members of %(names)s can read this dataset.", names=_(", ").join(entry.allowed_groups))]
    else:
        told = [_("The members of some groups can read this dataset; you are one of them.")]
    if shares:
        told.append(_("Administrators and %(names)s can add documents and remove them.", names=names_of(shares)))
    elif may_write:
        told.append(_("You can add documents and remove them."))
    else:
        told.append(_("Administrators manage its documents."))
    return told
