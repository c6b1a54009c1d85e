"""The original files of a dataset's documents."""

from __future__ import annotations

from flask import Response

from braid.app.auth.access import rule
from braid.app.pages.datasets.blueprint import ONE, datasets, visible_datasets
from braid.app.pages.datasets.documents import document_of
from braid.app.web.originals import original_file


@datasets.get(f"{ONE}/documents/<int:document_id>/original")
@rule("user")
def original(dataset_id: int, document_id: int) -> Response:
    """Return the file that a document was read from."""
    return original_file(document_of(visible_datasets().get(dataset_id), document_id))
