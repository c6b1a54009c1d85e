"""``/datasets/{dataset_id}/documents``: documents and their passages."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Literal

from flask import Response, request
from pydantic import Field, model_validator

from braid.app.api.framework.etags import IF_MATCH, IF_NONE_MATCH, answer_with_etag, condition, etag
from braid.app.api.framework.operations import Answered, Resource
from braid.app.api.framework.requests import SAYS_SOMETHING, Given, require_whole
from braid.app.api.schemas import DeletionQuery, MetadataShown, Moment, Page, PageQuery, PassageShown, Shown, page_of
from braid.app.auth.identity import identity
from braid.app.auth.quotas import quotas
from braid.app.mounted import url_for
from braid.app.site import site
from braid.app.user.datasets import caller_datasets, document_in, no_document
from braid.app.web.transfers import BYTES, original_file
from braid.config.ingest import ingest_options
from braid.core.errors import InvalidInputError, UnreadableDocumentError
from braid.core.ingest.incoming import Incoming
from braid.core.ingest.spool import MAX_SOURCE_CHARS, upload_source
from braid.core.metadata import clean_metadata
from braid.core.metadata.gaps import gap_sentences
from braid.core.types import Document

MAX_TEXT_CHARS = 500_000
SUFFIXES = {"txt": ".txt", "md": ".md"}

resource = Resource("documents", "Documents and their passages.", "user", limited=True)


class DocumentShown(Shown):
    """A document. If it could not be read, it is ``failed`` and ``error`` says why."""

    id: int
    dataset_id: int
    source: str
    title: str
    file_type: str
    state: Literal["ready", "failed"]
    error: str
    chunks: int
    size_bytes: int
    date: Moment
    updated_at: Moment
    metadata: MetadataShown
    unread: list[str] = Field(description="What of the document was not read, a sentence each; empty: all of it was")

    @model_validator(mode="before")
    @classmethod
    def _with_unread(cls, document: Any) -> Any:
        if not isinstance(document, Document):
            return document
        shown = {name: getattr(document, name) for name in cls.model_fields if name != "unread"}
        return {**shown, "unread": gap_sentences(document.metadata)}


class DocumentsQuery(PageQuery):
    """Filters of a list of documents."""

    source_prefix: str = Field("", max_length=MAX_SOURCE_CHARS, description="Beginning of the source")
    state: Literal["ready", "failed", "incomplete"] | None = Field(
        None, description="incomplete: of which something was not read"
    )


class TextGiven(Given):
    """A text. It replaces the document with the same source."""

    source: str = Field(
        min_length=1,
        max_length=MAX_SOURCE_CHARS,
        pattern=SAYS_SOMETHING,
        description="Name of the document, unique in the dataset",
        examples=["notes/printer"],
    )
    text: str = Field(
        min_length=1, max_length=MAX_TEXT_CHARS, pattern=SAYS_SOMETHING, examples=["Error E-4711: the tray is empty."]
    )
    format: Literal["txt", "md"] = "txt"
    metadata: dict[str, Any] = Field(
        {},
        description="Facts of your own, by which searches are filtered: texts, numbers, true or false, lists of texts, "
        'and dates as {"$date": "2026-01-31"}',
        examples=[{"tenant": "x", "year": 2026, "tags": ["a", "b"]}],
    )


@resource.get("/datasets/<int(signed=True):dataset_id>/documents", Page[DocumentShown])
def list_documents(dataset_id: int, query: DocumentsQuery) -> Answered:
    """List a dataset's documents by source."""
    dataset, ledger = caller_datasets().get(dataset_id), site().braid.ledger
    read = partial(ledger.documents, dataset.id, source_prefix=query.source_prefix, state=query.state)
    return page_of(Page[DocumentShown], query, read, DocumentShown.model_validate)


@resource.put(
    "/datasets/<int(signed=True):dataset_id>/documents",
    DocumentShown,
    status=200,
    statuses={201: DocumentShown},
    headers=(IF_MATCH, IF_NONE_MATCH),
)
def put_document(dataset_id: int, body: TextGiven) -> Answered:
    """Store a text as a document: 201 if it is new, 200 if it replaces the document with its source.

    It can be found by keyword within a second, and by meaning once it is embedded. With the ETag of an earlier answer
    in If-Match: 412, and nothing is stored, if the document has changed since; with If-None-Match: *, if there is one.
    """
    dataset, braid = caller_datasets().writable(dataset_id), site().braid
    require_whole("source", body.source)
    metadata = clean_metadata(body.metadata)
    source, content = upload_source(body.source), body.text.encode("utf-8", "replace")
    quotas().require_room(identity().account, dataset, source=source, more_bytes=len(content))
    filename = source.rpartition("/")[2].removesuffix(SUFFIXES[body.format]) + SUFFIXES[body.format]
    incoming = Incoming.from_bytes(content, source, filename=filename)
    parse = site().background.parse_now.of_user(identity().account.id)
    try:
        parsed = parse(incoming, ingest_options(site().settings))
    except UnreadableDocumentError as error:
        raise InvalidInputError(str(error), field="text") from error
    parsed = replace(parsed, metadata=clean_metadata({**parsed.metadata, **metadata}))
    stored = braid.ledger.put_document(dataset.id, parsed, check=condition(), most=site().settings.max_user_documents)
    braid.indexer.wake()
    site().usage.count(identity().account.id, "upload")
    found = document_in(dataset.id, stored.document_id)
    where = url_for("braid.api.get_document", dataset_id=dataset.id, document_id=found.id)
    headers = {"Location": where, "ETag": f'"{etag(found)}"'}
    return Answered(DocumentShown.model_validate(found), headers, 201 if stored.is_new else 200)


@resource.get(
    "/datasets/<int(signed=True):dataset_id>/documents/<int:document_id>",
    DocumentShown,
    statuses={304: None},
    headers=(IF_NONE_MATCH,),
)
def get_document(dataset_id: int, document_id: int) -> Response:
    """Get a document. With the ETag of an earlier answer in If-None-Match: 304 if it has not changed."""
    found = document_in(caller_datasets().get(dataset_id).id, document_id)
    return answer_with_etag(found, DocumentShown.model_validate(found).model_dump_json())


@resource.get(
    "/datasets/<int(signed=True):dataset_id>/documents/<int:document_id>/original", None, media_types=(BYTES,)
)
def get_original(dataset_id: int, document_id: int) -> Response:
    """Download the file that a document was read from.

    404 if it is not kept: of a text, of an import, and of files of synced folders that have changed since.
    """
    return original_file(document_in(caller_datasets().get(dataset_id).id, document_id), download=True)


@resource.delete("/datasets/<int(signed=True):dataset_id>/documents/<int:document_id>", headers=(IF_MATCH,))
def delete_document(dataset_id: int, document_id: int, query: DeletionQuery) -> None:
    """Delete a document. No later search finds it; for some days it can be restored.

    How many days, the setting `deleted_days` says. With the ETag of an earlier answer in If-Match: 412, and nothing is
    deleted, if the document has changed since.
    """
    braid = site().braid
    found = document_in(caller_datasets().writable(dataset_id).id, document_id)
    remove = braid.ledger.remove_document if query.permanently else site().deleted_documents.discard_source
    if not remove(dataset_id, found.source, check=condition()):
        raise no_document(dataset_id, document_id)
    braid.indexer.wake()


@resource.get(
    "/datasets/<int(signed=True):dataset_id>/documents/<int:document_id>/passages",
    Page[PassageShown],
    statuses={304: None},
    headers=(IF_NONE_MATCH,),
)
def list_passages(dataset_id: int, document_id: int, query: PageQuery) -> Response:
    """List a document's passages in order."""
    found = document_in(caller_datasets().get(dataset_id).id, document_id)
    read = partial(site().braid.ledger.document_passages, found.id, [dataset_id])
    page = page_of(Page[PassageShown], query, read, PassageShown.model_validate)
    assert page.model is not None
    response = answer_with_etag(found, page.model.model_dump_json(), request.full_path)
    response.headers.extend(dict(page.headers))
    return response
