"""``/datasets/{dataset_id}/documents/get`` and ``…/delete``: documents by ids, source or filters, many at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from braid.app.api.documents import DocumentShown
from braid.app.api.framework.operations import Answered, Resource
from braid.app.api.framework.requests import WHOLE, Given
from braid.app.api.schemas import DeletionQuery, Moment, Page, PageQuery, Shown, following_page, next_link, page_of
from braid.app.api.search_options import FiltersGiven
from braid.app.auth.access import rule
from braid.app.auth.identity import identity
from braid.app.site import site
from braid.app.user.datasets import caller_datasets
from braid.core.adding.stored import require_condition, require_one, select_documents
from braid.core.ingest.spool import MAX_SOURCE_CHARS
from braid.core.search.overlap import fresh, joined
from braid.core.types import MAX_ID, Document, Passage

MAX_IDS = 1_000
MAX_TEXT_CHARS = 200_000
"""Characters of a document's text in an answer."""
MAX_PAGE_CHARS = 2_000_000
"""Characters of all texts of a page, which is shorter where they are longer; the first document is always there."""
PASSAGES_PER_READ = 200

resource = Resource("documents at once", "Documents by ids, source or filters, many at once.", "user", limited=True)

Source = Annotated[str, Field(min_length=1, max_length=MAX_SOURCE_CHARS)]
Id = Source | Annotated[int, Field(ge=0, le=MAX_ID), WHOLE]


class DocumentsNamed(Given):
    """Says which documents, in one of three ways."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1, "maxProperties": 1})

    ids: list[Id] | None = Field(
        None,
        min_length=1,
        max_length=MAX_IDS,
        description="What documents were added with (`source`), ids of passages (`chunk_id`), or numbers of documents "
        "(`id`)",
        examples=[["notes/printer", 12]],
    )
    source: Source | None = Field(None, description="A source with its parts, and documents that have it as metadata")
    filters: FiltersGiven | None = Field(None, description="As those of a search", examples=[{"metadata": {"year": 1}}])

    def documents(self, dataset_id: int, *, with_parts: bool = False) -> Sequence[int]:
        """Return the numbers of these documents: by ids in their order, else by source, or by number.

        Raises InvalidInputError unless exactly one of the three is given.
        """
        require_one(ids=self.ids, source=self.source, filters=self.filters)
        if self.filters is None:
            found = select_documents(
                site().braid, self.ids, dataset=dataset_id, source=self.source, filter=None, with_parts=with_parts
            )
            return [each.id for each in found]
        filters = self.filters.filters()
        require_condition("filters", filters)
        ledger = site().braid.ledger
        ledger.require_filterable([dataset_id], filters, whole_documents=True)
        return sorted(map(int, ledger.matching_documents([dataset_id], filters, whole_documents=True)[0]))


class StoredShown(DocumentShown):
    """A document with its text."""

    text: str = Field(description=f"Its passages joined, at most the first {MAX_TEXT_CHARS:,} characters")
    complete: bool = Field(description="Whether `text` is all of it; its passages have the rest")


class DeletedShown(BaseModel):
    """How many documents there were, and are no more."""

    deleted: int


class DeletedDocumentShown(Shown):
    """A deleted document that can be restored."""

    id: int
    source: str
    title: str
    deleted_at: Moment


class DeletedNamed(Given):
    """Says which deleted documents."""

    ids: list[Annotated[int, Field(ge=1, le=MAX_ID), WHOLE]] = Field(min_length=1, max_length=MAX_IDS, examples=[[12]])


class RestoredShown(BaseModel):
    """What is back, and what stays deleted because another document has its source."""

    restored: list[DeletedDocumentShown]
    taken: list[DeletedDocumentShown]


@resource.post("/datasets/<int(signed=True):dataset_id>/documents/get", Page[StoredShown], repeatable=False)
@rule("user", "read", limited=True)
def get_documents(dataset_id: int, body: DocumentsNamed, query: PageQuery) -> Answered:
    """Get documents with their texts, by ids, source or filters. What is not there is left out.

    `limit` and `offset` are query parameters, not fields of the body. A page of long texts has fewer documents than
    `limit`; send the same body to the address in `next`.
    """
    dataset, ledger = caller_datasets().get(dataset_id), site().braid.ledger
    numbers = body.documents(dataset.id)
    wanted = numbers[query.offset : query.offset + query.limit]
    found = {each.id: each for each in ledger.documents_with_ids(wanted, [dataset.id])}
    shown, chars, seen = list[StoredShown](), 0, 0
    for number in wanted:
        if number in found:
            stored = _with_text(found[number])
            chars += len(stored.text)
            if shown and chars > MAX_PAGE_CHARS:
                break
            shown.append(stored)
        seen += 1
    following = following_page(query, seen) if query.offset + seen < len(numbers) else None
    return Answered(Page[StoredShown](items=shown, next=following), next_link(following))


@resource.post("/datasets/<int(signed=True):dataset_id>/documents/delete", DeletedShown)
def delete_documents(dataset_id: int, body: DocumentsNamed, query: DeletionQuery) -> DeletedShown:
    """Delete documents, by ids, source or filters. No later search finds them; for some days they can be restored.

    A source that is given as an id is deleted with its parts.
    """
    dataset, here = caller_datasets().writable(dataset_id), site()
    numbers = body.documents(dataset.id, with_parts=True)
    if query.permanently:
        deleted = here.braid.ledger.remove_documents(dataset.id, numbers)
    else:
        deleted = here.deleted_documents.discard(dataset.id, numbers).documents
    here.braid.indexer.wake()
    return DeletedShown(deleted=deleted)


@resource.get("/datasets/<int(signed=True):dataset_id>/deleted-documents", Page[DeletedDocumentShown])
def list_deleted_documents(dataset_id: int, query: PageQuery) -> Answered:
    """List documents of a dataset that you may change, which were deleted and can be restored, the last ones first."""
    read = partial(site().deleted_documents.of_dataset, caller_datasets().writable(dataset_id).id)
    return page_of(Page[DeletedDocumentShown], query, read, DeletedDocumentShown.model_validate)


@resource.post("/datasets/<int(signed=True):dataset_id>/deleted-documents/restore", RestoredShown)
def restore_documents(dataset_id: int, body: DeletedNamed) -> RestoredShown:
    """Restore deleted documents, with their passages and vectors.

    One whose source another document has meanwhile stays deleted, and is in `taken`.
    """
    here = site()
    restored = here.deleted_documents.restore(caller_datasets().writable(dataset_id).id, body.ids)
    here.braid.indexer.wake()
    here.background.scans.queue_waiting(identity().account.id, dataset_ids=[dataset_id])
    return RestoredShown(
        restored=[DeletedDocumentShown.model_validate(each) for each in restored.documents],
        taken=[DeletedDocumentShown.model_validate(each) for each in restored.taken],
    )


@resource.delete("/datasets/<int(signed=True):dataset_id>/deleted-documents/<int:document_id>")
def erase_document(dataset_id: int, document_id: int) -> None:
    """Delete a deleted document permanently."""
    site().deleted_documents.erase(caller_datasets().writable(dataset_id).id, [document_id])


def _with_text(document: Document) -> StoredShown:
    text = joined(fresh(_first_passages(document)))
    known = DocumentShown.model_validate(document).model_dump()
    return StoredShown(**known, text=text[:MAX_TEXT_CHARS], complete=len(text) <= MAX_TEXT_CHARS)


def _first_passages(document: Document) -> Iterator[Passage]:
    """Yield the passages until there are more characters than are shown."""
    offset, chars = 0, 0
    while chars <= 2 * MAX_TEXT_CHARS and offset < document.chunks:  # they repeat less than half of one another
        passages = site().braid.ledger.document_passages(
            document.id, [document.dataset_id], limit=PASSAGES_PER_READ, offset=offset
        )
        yield from passages
        offset += PASSAGES_PER_READ
        chars += sum(len(passage.text) for passage in passages)
