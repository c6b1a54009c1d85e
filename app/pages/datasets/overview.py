"""The list of datasets: adds a new one, or one from an export, renames and deletes one."""

from __future__ import annotations

from collections.abc import Mapping

from flask import Response, jsonify, redirect, render_template, request
from flask_babel import gettext as _
from flask_babel import lazy_gettext as _l
from werkzeug.wrappers import Response as AnyResponse

from braid.app.auth.access import takes_uploads, wants_json
from braid.app.auth.identity import identity
from braid.app.mounted import url_for
from braid.app.opening import FIRST_DATASET
from braid.app.pages.datasets.add import read_file
from braid.app.pages.datasets.blueprint import MINE, ONE, address, datasets, visible_datasets
from braid.app.pages.datasets.dataset import dataset_page
from braid.app.pages.datasets.dataset_list import Order, dataset_list
from braid.app.site import site
from braid.app.web.errors import refusing
from braid.app.web.transfers import (
    delete_dataset,
    erase_dataset,
    flash_undo,
    import_bytes,
    queue_import,
    require_import_room,
    restore_dataset,
)
from braid.app.words.values import dataset_name
from braid.core.datasets.shares import AccessRequest
from braid.core.errors import InvalidInputError, NotFoundError, Reason
from braid.core.types import MAX_NAME_CHARS

ORDER_NAMES: Mapping[Order, str] = {
    "added": _l("Oldest first"),
    "newest": _l("Newest first"),
    "name": _l("By name"),
    "documents": _l("Most documents"),
    "size": _l("Largest first"),
}


@datasets.get("")
def index() -> str:
    """Show the user's own datasets and the shared ones."""
    return _page()


@datasets.get(MINE)
def mine() -> AnyResponse:
    """Redirect to where the user adds their own documents: their first dataset, and before there is one the list."""
    own = visible_datasets().readable().personal
    return redirect(address("dataset", own[0].id) if own else url_for("braid.datasets.index"))


@datasets.get("/live")
def live_index() -> str:
    """Render the list alone, for the page's script."""
    return render_template("braid/datasets/_list.html", listed=dataset_list(), orders=ORDER_NAMES)


@datasets.post("")
def add() -> AnyResponse:
    """Add a dataset."""
    me = identity().account
    with refusing(_page):
        most = site().settings.max_user_datasets
        added = site().braid.ledger.add_dataset(me.id, request.form.get("name", ""), most=most)
    return datasets.done(_("“%(name)s” created. Now add documents.", name=added.name), "dataset", dataset_id=added.id)


@datasets.post("/import")
@takes_uploads(import_bytes)
def add_import() -> tuple[str, int] | tuple[Response, int] | AnyResponse:
    """Add a dataset from an export, in the background."""
    me, name = identity().account, request.values.get("name", "").strip()
    try:
        require_import_room(me)
        _file_name, stream = read_file()
        job = queue_import(me, stream, name=name)
    except InvalidInputError as error:
        if wants_json():
            raise
        return _page(problem=str(error)), 400
    if wants_json():
        return jsonify(href=url_for("braid.datasets.dataset", dataset_id=job.dataset_id)), 202
    return datasets.done(_("Importing into “%(name)s”.", name=job.title), "dataset", dataset_id=job.dataset_id)


@datasets.post(f"{ONE}/name")
def rename(dataset_id: int) -> AnyResponse:
    """Rename the dataset."""
    dataset = visible_datasets().personal(dataset_id)
    name = request.form.get("name", "")
    with refusing(dataset_page, dataset):
        renamed = site().braid.ledger.rename_dataset(
            dataset.id, dataset.name if name == dataset_name(dataset.name) else name
        )
    return datasets.done(_("Renamed to “%(name)s”.", name=dataset_name(renamed.name)), "dataset", dataset_id=dataset.id)


@datasets.post(f"{ONE}/delete")
def delete(dataset_id: int) -> tuple[str, int] | AnyResponse:
    """Delete the dataset with all its documents, if its name is typed again or it is empty."""
    dataset = visible_datasets().personal(dataset_id)
    if dataset.documents and request.form.get("name", "").strip() not in {
        dataset.name.strip(),
        dataset_name(dataset.name),
    }:
        problem = _("The name does not match “%(name)s”. Nothing was deleted.", name=dataset_name(dataset.name))
        return dataset_page(dataset, problem=problem), 400
    delete_dataset(dataset.id)
    told = str(_("“%(name)s” and all its documents have been deleted.", name=dataset_name(dataset.name)))
    flash_undo(told, url_for("braid.datasets.restore"), "restore", [dataset.id])
    return redirect(url_for("braid.datasets.index"))


@datasets.post("/deleted")
def restore() -> str | AnyResponse:
    """Restore a deleted dataset, or delete it for good; before that the page asks."""
    me, act, dataset_id = identity().account, request.form.get("act", ""), request.form.get("c", 0, type=int)
    if act == "erase":
        if "confirmed" not in request.form:
            return _ask(me.id, dataset_id)
        erase_dataset(me.id, dataset_id)
        return datasets.done(_("The dataset has been permanently deleted."), "index")
    if act != "restore":
        raise InvalidInputError(f"act is {act[:20]!r}; choose restore or erase", field="act")
    restore_dataset(me.id, dataset_id)
    return datasets.done(_("The dataset is back."), "dataset", dataset_id=dataset_id)


def _ask(user_id: int, dataset_id: int) -> str:
    """Ask whether a deleted dataset is to be deleted for good."""
    found = next((one for one in site().deleted_datasets.of_user(user_id) if one.id == dataset_id), None)
    if found is None:
        raise NotFoundError(Reason("there is no deleted dataset %(id)s that can be restored", id=dataset_id))
    return render_template(
        "braid/delete.html",
        heading=_("Permanently delete this dataset?"),
        told=_("This deletes all its documents. It cannot be undone."),
        names=[dataset_name(found.name)],
        ids=[found.id],
        back=url_for("braid.datasets.index"),
    )


def _requests() -> list[AccessRequest]:
    """Return the requests that the user may answer."""
    readable = visible_datasets().readable()
    shared = [dataset for dataset in readable.shared if dataset.shared and identity().is_admin]
    return site().shares.requests([dataset.id for dataset in (*readable.personal, *shared)])


def _page(*, problem: str = "") -> str:
    most = site().settings.max_import_mb
    return render_template(
        "braid/datasets/index.html",
        problem=problem,
        max_name=MAX_NAME_CHARS,
        max_import_mb=most,
        requests=_requests(),
        deleted=site().deleted_datasets.of_user(identity().account.id),
        has_own=bool(visible_datasets().readable().personal),
        max_file_mb=site().settings.max_file_mb,
        first_dataset=FIRST_DATASET,
        listed=dataset_list(),
        orders=ORDER_NAMES,
    )
