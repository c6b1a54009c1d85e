"""The passage that an address names, and its document, for readers of its dataset."""

from __future__ import annotations

from braid.app.auth.identity import identity
from braid.app.site import site
from braid.app.user.datasets import readable_datasets
from braid.core.errors import NotFoundError
from braid.core.types import Document, Passage


def cited_passage(chunk_id: str) -> Passage:
    """Return the passage. Raises NotFoundError if the user may not read it."""
    datasets = readable_datasets(identity().account).by_id
    found = site().braid.ledger.passages([chunk_id], datasets.keys()).get(chunk_id)
    if found is None:
        raise NotFoundError("there is no such passage, or it is not yours; search again, it may have been replaced")
    return found


def document_of(passage: Passage) -> Document:
    """Return the passage's document. Raises NotFoundError if it was deleted just now."""
    found = site().braid.ledger.document_with_id(passage.document_id, [passage.dataset_id])
    if found is None:
        raise NotFoundError("the document was deleted just now; search again")
    return found
