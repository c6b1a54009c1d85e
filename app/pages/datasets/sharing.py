"""Who may read a dataset: shares it, takes it back, answers requests for it, and gives it to somebody else."""

from __future__ import annotations

from flask import Response, jsonify, request
from flask_babel import gettext as _
from limits import parse as parse_limit
from werkzeug.wrappers import Response as AnyResponse

from braid.app.auth.access import rule, throttle
from braid.app.auth.identity import identity
from braid.app.pages.datasets.blueprint import ONE, address, datasets, done, visible_datasets
from braid.app.pages.datasets.dataset import dataset_page
from braid.app.pages.sharing import SharedThings, add_sharing, kind_of
from braid.app.site import site
from braid.app.user.sharing import hand_over
from braid.app.words.values import dataset_name

FINDS = parse_limit("120/minute")

add_sharing(
    datasets,
    ONE,
    SharedThings(
        find=lambda id_: visible_datasets().get(id_),
        sharable=lambda id_: visible_datasets().sharable(id_),
        own=lambda id_: visible_datasets().personal(id_),
        name_of=lambda dataset: dataset_name(dataset.name),
        page=lambda dataset, problem: dataset_page(dataset, problem=problem),
        address=lambda dataset: address("dataset", dataset.id),
        hand_over=hand_over,
    ),
)


@datasets.get("/people.json")
@rule("user")
def people() -> Response:
    """Return the names of people, or of groups, that contain what was typed."""
    me = identity().account
    throttle(FINDS, "people", str(me.id))
    found = site().shares.find(kind_of(request.args.get("kind", "")), request.args.get("name", ""), besides=me.id)
    return jsonify(found)


@datasets.post(f"{ONE}/decline")
@rule("user")
def decline(dataset_id: int) -> AnyResponse:
    """Decline a user's request for access."""
    dataset, name = visible_datasets().sharable(dataset_id), request.form.get("name", "")
    site().shares.decline(dataset, name, by=identity().account.name)
    told = _("The request of %(name)s is declined.", name=name)
    return done(told, "index") if request.form.get("back") == "index" else done(told, dataset_id=dataset.id)
