"""Renames and deletes a dataset."""

from __future__ import annotations

from flask import request
from flask_babel import gettext as _
from werkzeug.wrappers import Response

from braid.app.auth.access import rule
from braid.app.pages.datasets.blueprint import ONE, datasets, done, visible_datasets
from braid.app.pages.datasets.dataset import dataset_page
from braid.app.pages.datasets.overview import name_problem
from braid.app.site import site
from braid.app.web.transfers import drop_all
from braid.app.words.dataset_names import dataset_name
from braid.core.errors import InvalidInputError


@datasets.post(f"{ONE}/name")
@rule("user")
def rename(dataset_id: int) -> tuple[str, int] | Response:
    """Rename the dataset."""
    dataset = visible_datasets().personal(dataset_id)
    name = request.form.get("name", "")
    try:
        renamed = site().braid.ledger.rename_dataset(
            dataset.id, dataset.name if name == dataset_name(dataset.name) else name
        )
    except InvalidInputError as error:
        return dataset_page(dataset, problem=name_problem(error)), 400
    return done(_("Renamed to “%(name)s”.", name=dataset_name(renamed.name)), dataset_id=dataset.id)


@datasets.post(f"{ONE}/delete")
@rule("user")
def delete(dataset_id: int) -> tuple[str, int] | Response:
    """Delete the dataset with all its documents, if its name is typed again or it is empty."""
    dataset = visible_datasets().personal(dataset_id)
    if dataset.documents and request.form.get("name", "").strip() not in {
        dataset.name.strip(),
        dataset_name(dataset.name),
    }:
        problem = _("The name does not match “%(name)s”. Nothing was deleted.", name=dataset_name(dataset.name))
        return dataset_page(dataset, problem=problem), 400
    drop_all(dataset.id)
    site().braid.remove_dataset(dataset.id)
    return done(_("“%(name)s” and all its documents have been deleted.", name=dataset_name(dataset.name)), "index")
