"""Documents as tools read them: passage by passage, or as one text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from braid.app.mcp.calls import Result
from braid.app.user.datasets import Readable
from braid.core.errors import InvalidInputError, NotFoundError, UnreadableDocumentError
from braid.core.ingest.plan import source_name
from braid.core.json_form import pick, to_json
from braid.core.ledger.ledger import Ledger
from braid.core.search.overlap import fresh, joined
from braid.core.types import MAX_ID, Document, Passage

MAX_READ_CHARS = 20_000
"""Characters of one answer of `DocumentReader.part`; the first passage is always whole."""
MAX_READ_PASSAGES = 200
MAX_FETCH_CHARS = 200_000
"""Characters of one answer of `DocumentReader.whole`."""
_ID = re.compile(r"(?:doc-)?(\d{1,10})(?::(\d{1,9}))?")


@dataclass(frozen=True, slots=True)
class DocumentReader:
    """Reads what one user may read. ``pages`` is the address of the datasets' pages, empty where there are none."""

    ledger: Ledger
    readable: Readable
    pages: str

    def named(self, filepath: str, dataset_id: int | None = None) -> list[Document]:
        """Return the documents with this path, the user's own first. Raises NotFoundError when there is none."""
        source = source_name(filepath)
        datasets = [each for each in self.readable.all if dataset_id is None or each.id == dataset_id]
        found = (self.ledger.document(dataset.id, source) for dataset in datasets)
        documents = [document for document in found if document is not None]
        if not documents:
            where = "the datasets that you may read" if dataset_id is None else f"a dataset {dataset_id} of yours"
            raise NotFoundError(
                f"there is no document {source!r} in {where}; give the filepath as search and "
                "get_documents_by_prefix have it"
            )
        return documents

    def part(self, filepath: str, first: int, last: int | None, dataset_id: int | None) -> Result:
        """Return the passages ``first`` to ``last`` (1-based, inclusive) of a document, as many as fit."""
        document, *others = self.named(filepath, dataset_id)
        if not document.chunks:
            raise UnreadableDocumentError(f"{document.source} has no text: {document.error or 'it could not be read'}")
        if not 1 <= first <= document.chunks:
            message = f"from is {first}; {document.source} has the passages 1 to {document.chunks}"
            raise InvalidInputError(message, field="from")
        if last is not None and last < first:
            raise InvalidInputError(f"to is {last}; it must not be less than from, {first}", field="to")
        last = min(document.chunks if last is None else last, document.chunks)
        limit = min(last - first + 1, MAX_READ_PASSAGES)
        passages = self.ledger.document_passages(document.id, [document.dataset_id], limit=limit, offset=first - 1)
        shown = list(_fitting(fresh(passages), MAX_READ_CHARS))
        end = first + len(shown) - 1
        return {
            "status": "success",
            "message": f"passages {first} to {end} of {document.chunks}",
            "filepath": document.source,
            "id": shown_id(document.id),
            "title": document.title,
            "url": document_link(self.pages, document.source, document.dataset_id, document.id, first - 1),
            "file_type": document.file_type,
            "dataset_id": document.dataset_id,
            "also_in_datasets": [other.dataset_id for other in others],
            "passages": [
                {"passage": number, "text": text, **pick(to_json(passage), "heading_path", "page", "line")}
                for number, (passage, text) in enumerate(shown, first)
            ],
            "total": document.chunks,
            "next": end + 1 if end < document.chunks else None,
        }

    def whole(self, document_id: str) -> Result:
        """Return a document's text, or its next part, in the form that connectors take.

        The id of a part is that of the document, a colon and the number of the passage that it begins with.
        """
        match = _ID.fullmatch(document_id.strip())
        number, first = (int(match[1]), int(match[2] or 1)) if match else (0, 1)
        readable = [dataset.id for dataset in self.readable.all]
        document = self.ledger.document_with_id(number, readable) if number <= MAX_ID else None
        if document is None or not 1 <= first <= document.chunks:
            raise NotFoundError(f"there is no document with the id {document_id!r}, or it is not yours; search again")
        shown = list(_fitting(fresh(self._from(document, first)), MAX_FETCH_CHARS))
        end = first + len(shown) - 1
        metadata = {
            "filepath": document.source,
            "file_type": document.file_type,
            "passages": f"{first} to {end} of {document.chunks}",
        }
        if end < document.chunks:
            metadata["next_id"] = f"{shown_id(document.id)}:{end + 1}"
        if document.date is not None:
            metadata["date"] = datetime.fromtimestamp(document.date, UTC).isoformat(timespec="seconds")
        if document.metadata:
            metadata["document_metadata"] = json.dumps(to_json(document.metadata), ensure_ascii=False)
        return {
            "id": document_id.strip(),
            "title": document.title,
            "text": joined(shown),
            "url": document_link(self.pages, document.source, document.dataset_id, document.id, first - 1),
            "metadata": metadata,
        }

    def text(self, document_id: int) -> str:
        """Return the whole text of a document. Raises NotFoundError."""
        readable = [dataset.id for dataset in self.readable.all]
        passages = self.ledger.document_passages(document_id, readable) if abs(document_id) <= MAX_ID else []
        if not passages:
            raise NotFoundError(f"there is no document {document_id}, or it is not yours")
        return joined(fresh(passages))

    def _from(self, document: Document, first: int) -> Iterator[Passage]:
        offset = first - 1
        while passages := self.ledger.document_passages(
            document.id, [document.dataset_id], limit=MAX_READ_PASSAGES, offset=offset
        ):
            yield from passages
            offset += len(passages)


def shown_id(document_id: int) -> str:
    """Return a document's id as results have it: a word, since programs would send a number as a number."""
    return f"doc-{document_id}"


def document_number(shown: str) -> int | None:
    """Return the id of a document of which results have ``shown``; None for a text of another form."""
    match = re.fullmatch(r"doc-(\d{1,10})", shown)
    return int(match[1]) if match else None


def document_link(pages: str, source: str, dataset_id: int, document_id: int, position: int) -> str:
    """Return where a person may open a document at a passage: its own address, or its page; empty without one."""
    if re.fullmatch(r"https?://\S+", source):
        return source
    if not pages:
        return ""
    return f"{pages}/{dataset_id}/documents/{document_id}" + (f"?start={position}" if position else "")


def _fitting(passages: Iterable[tuple[Passage, str]], most_chars: int) -> Iterator[tuple[Passage, str]]:
    """Yield the first passages that have at most this many characters together, and one at least."""
    used = 0
    for number, (passage, text) in enumerate(passages):
        used += len(text)
        if number and used > most_chars:
            return
        yield passage, text
