"""Who may read a dataset: shares it, takes it back, answers requests for it, and gives it to somebody else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast, get_args

from flask import Response, jsonify, request
from flask_babel import gettext as _
from limits import parse as parse_limit
from werkzeug.wrappers import Response as AnyResponse

from braid.app.auth.access import rule, throttle
from braid.app.auth.identity import identity
from braid.app.mounted import url_for
from braid.app.pages.datasets.blueprint import ONE, datasets, done, visible_datasets
from braid.app.pages.datasets.dataset import dataset_page
from braid.app.site import site
from braid.app.user.sharing import hand_over
from braid.app.words.values import dataset_name
from braid.core.datasets.shares import Kind, Share
from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.types import Dataset

FINDS = parse_limit("120/minute")
KINDS: Sequence[Kind] = get_args(Kind)


@datasets.get("/people.json")
@rule("user")
def people() -> Response:
    """Return the names of people, or of groups, that contain what was typed."""
    me = identity().account
    throttle(FINDS, "people", str(me.id))
    return jsonify(site().shares.find(_kind(request.args.get("kind", "")), request.args.get("name", ""), besides=me.id))


@datasets.post(f"{ONE}/share")
@rule("user")
def share(dataset_id: int) -> tuple[str, int] | AnyResponse:
    """Share the dataset with a user or a group, or change what they may do."""
    dataset, form = visible_datasets().sharable(dataset_id), request.form
    name = form.get("name", "").strip()
    try:
        shared = Share(_kind(form.get("kind", "")), name, form.get("may_write") == "1")
        site().shares.put(dataset, shared, by=identity().account.name)
    except InvalidInputError as error:
        return dataset_page(dataset, problem=_explain(error, name)), 400
    return _shared(_("Shared with %(name)s.", name=name), dataset)


@datasets.post(f"{ONE}/unshare")
@rule("user")
def unshare(dataset_id: int) -> AnyResponse:
    """Take back what was shared with a user or a group."""
    dataset, name = visible_datasets().sharable(dataset_id), request.form.get("name", "")
    site().shares.remove(dataset, _kind(request.form.get("kind", "")), name, by=identity().account.name)
    return _shared(_("No longer shared with %(name)s.", name=name), dataset)


@datasets.post(f"{ONE}/leave")
@rule("user")
def leave(dataset_id: int) -> AnyResponse:
    """Do without a dataset that somebody shares with the user."""
    dataset, me = visible_datasets().get(dataset_id), identity().account.name
    site().shares.remove(dataset, "user", me, by=me)
    return done(_("“%(name)s” is no longer in your list.", name=dataset_name(dataset.name)), "index")


@datasets.post(f"{ONE}/decline")
@rule("user")
def decline(dataset_id: int) -> AnyResponse:
    """Decline a user's request for access."""
    dataset, name = visible_datasets().sharable(dataset_id), request.form.get("name", "")
    site().shares.decline(dataset, name, by=identity().account.name)
    return _shared(_("The request of %(name)s is declined.", name=name), dataset)


@datasets.post(f"{ONE}/hand-over")
@rule("user")
def give(dataset_id: int) -> tuple[str, int] | AnyResponse:
    """Give the dataset to another user."""
    dataset, name = visible_datasets().personal(dataset_id), request.form.get("name", "").strip()
    try:
        hand_over(dataset, name)
    except InvalidInputError as error:
        return dataset_page(dataset, problem=_explain(error, name)), 400
    told = _("“%(dataset)s” now belongs to %(name)s.", dataset=dataset_name(dataset.name), name=name)
    return done(told, "index")


def _shared(told: str, dataset: Dataset) -> AnyResponse:
    """Show the dataset, or the list of datasets to who has answered there."""
    if request.form.get("back") == "index":
        return done(told, "index")
    response = done(told, dataset_id=dataset.id)
    response.location = url_for("braid.datasets.dataset", dataset_id=dataset.id, _anchor="share-title")
    return response


def _kind(given: str) -> Kind:
    """Return what is named, a user or a group. Raises NotFoundError for anything else."""
    if given not in KINDS:
        raise NotFoundError(f"kind is {given[:20]!r}; it is user or group")
    return cast(Kind, given)


def _explain(error: InvalidInputError, name: str) -> str:
    if "who can sign in" in str(error):
        return str(_("There is nobody named “%(name)s”. Type a name as it is in their account.", name=name[:40]))
    if "with a member" in str(error):
        return str(_("There is no group named “%(name)s” with members.", name=name[:40]))
    if "is the owner" in str(error):
        return str(_("This dataset already belongs to %(name)s.", name=name[:40]))
    return str(error)
