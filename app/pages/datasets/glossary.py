"""The glossary of a dataset: names with their short and long forms, and those that its documents introduce."""

from __future__ import annotations

from flask import Response, render_template, request
from flask_babel import gettext as _
from flask_babel import ngettext
from werkzeug.wrappers import Response as AnyResponse

from braid.app.pages.datasets.blueprint import ONE, audit, datasets, visible_datasets
from braid.app.site import site
from braid.app.web.errors import refusing
from braid.core.datasets.glossary import MAX_CSV_CHARS, MAX_FORM_CHARS, Glossaries, csv_of, terms_in_csv
from braid.core.errors import InvalidInputError, Reason
from braid.core.text.terms import Term
from braid.core.types import Dataset

SHOWN_OF_DOCUMENTS = 200
BYTES_PER_CHAR = 4
"""Most bytes of a character in UTF-8."""


@datasets.get(f"{ONE}/glossary")
def glossary(dataset_id: int) -> str:
    """Show the terms of the glossary and those of the documents."""
    return _page(visible_datasets().get(dataset_id))


@datasets.get(f"{ONE}/glossary.csv")
def glossary_file(dataset_id: int) -> Response:
    """Download the glossary as a CSV file."""
    text = csv_of(_glossaries().terms(visible_datasets().get(dataset_id).id))
    headers = {"Content-Disposition": f"attachment; filename=glossary-{dataset_id}.csv"}
    return Response("\ufeff" + text, mimetype="text/csv", headers=headers)


@datasets.post(f"{ONE}/glossary")
def add_to_glossary(dataset_id: int) -> AnyResponse:
    """Add a term, or those of a CSV file."""
    dataset = visible_datasets().writable(dataset_id)
    with refusing(_page, dataset):
        terms = _given_terms()
        _glossaries().add(dataset.id, terms)
    audit(dataset, "dataset.glossary_changed", f"{len(terms)} added")
    added = ngettext("%(num)s term added.", "%(num)s terms added.", len(terms))
    return datasets.done(added, "glossary", dataset_id=dataset_id)


@datasets.post(f"{ONE}/glossary/remove")
def remove_from_glossary(dataset_id: int) -> AnyResponse:
    """Remove a term."""
    dataset, form = visible_datasets().writable(dataset_id), request.form
    _glossaries().remove(dataset.id, Term(form.get("short", ""), form.get("long", "")))
    audit(dataset, "dataset.glossary_changed", "1 removed")
    return datasets.done(_("The term was removed."), "glossary", dataset_id=dataset_id)


def _given_terms() -> list[Term]:
    """Return the terms of the form. Raises InvalidInputError."""
    file = request.files.get("file")
    if file is None or not file.filename:
        return [Term(request.form.get("short", ""), request.form.get("long", ""))]
    try:
        text = file.stream.read(BYTES_PER_CHAR * MAX_CSV_CHARS + 1).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInputError(Reason("the file is not in UTF-8; save it as CSV in UTF-8"), field="csv") from None
    return terms_in_csv(text)


def _page(dataset: Dataset, *, problem: str = "") -> str:
    found = _glossaries()
    return render_template(
        "braid/datasets/glossary.html",
        dataset=dataset,
        writable=visible_datasets().may_write(dataset),
        terms=found.terms(dataset.id),
        of_documents=found.of_documents(dataset.id, limit=SHOWN_OF_DOCUMENTS),
        max_chars=MAX_FORM_CHARS,
        problem=problem,
    )


def _glossaries() -> Glossaries:
    return Glossaries(site().braid.ledger.database)
