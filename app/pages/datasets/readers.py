"""Who can read a dataset or use an assistant, in one sentence, and who asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flask_babel import gettext as _

from braid.app.auth.identity import identity
from braid.app.pages.sharing import names_of
from braid.app.site import site
from braid.app.user.datasets import UserDatasets
from braid.core.datasets.assistants import OpenAssistant
from braid.core.datasets.shares import AccessRequest, Share
from braid.core.types import Dataset


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
    return Sharing(" ".join(map(str, told)), not found.owner, may_leave, shares)


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
    return " ".join(map(str, told))


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
