"""The tools of the MCP server, for one user. They return plain JSON values, for failures too."""

from __future__ import annotations

import itertools
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, cast

from braid.app.auth.quotas import Quotas
from braid.app.mcp.documents import DocumentReader, document_link, document_number, shown_id
from braid.app.mcp.errors import Result, error_answer, report_errors
from braid.app.mcp.meter import Meter
from braid.app.opening import FIRST_DATASET
from braid.app.site import ingest_options
from braid.app.user.datasets import Readable, UserDatasets
from braid.config.settings import Settings
from braid.core.accounts.accounts import Account
from braid.core.adding.stored import select_documents
from braid.core.admission import LONGEST_S
from braid.core.braid import Braid
from braid.core.chat.support.check import check_given
from braid.core.datasets.metadata_keys import metadata_keys
from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.ingest.formats import format_named
from braid.core.ingest.incoming import Incoming, Parse, last_part
from braid.core.ingest.ingest_document import ingest_document
from braid.core.ingest.plan import source_name
from braid.core.ingest.spool import MAX_SOURCE_CHARS
from braid.core.json_form import pick, to_json
from braid.core.ledger.database import storable
from braid.core.metadata.gaps import gap_notes
from braid.core.metadata.values import Kind
from braid.core.options import (
    ALL,
    LEGS_OF_MODE,
    MAX_K,
    ChunkKind,
    DatasetIds,
    Filters,
    site_options,
    used_options,
)
from braid.core.search.exact import ExactMatch
from braid.core.search.explain import best_passage
from braid.core.types import Dataset, Document, SearchResult

KIND_NAMES: Mapping[Kind, str] = {
    "text": "text",
    "number": "number",
    "flag": "true or false",
    "date": "date",
    "item": "list of texts",
}
MAX_LISTED = 1_000
"""Largest number of passages that `get_documents_by_prefix` returns."""
MAX_NAMED = 1_000
"""Largest number of ids that one call names."""
MAX_TEXT_CHARS = 5_000_000
REPLACED = "\ufffd"
MAX_LABEL_CHARS = 50
MAX_EXACT = 200
"""Largest number of passages that `find_exact` returns."""
MAX_SAME_NAME = 5
"""Documents of one name, each in another dataset, that `find_exact` looks in."""
AROUND_CHARS = 100
"""Characters that an excerpt has before and after the text."""
CONNECTOR_RESULTS = 10
SNIPPET_CHARS = 500
DOCUMENTS_PER_READ = 200


class Tools:
    """The tools over an open Braid, for the given user. ``is_admin`` is whether they may write to shared datasets;
    ``parse`` parses a document in memory; ``pages`` is the address of the datasets' pages, where there are some.
    ``within`` are the only datasets of a limited token; None is no limit.
    """

    def __init__(
        self,
        braid: Braid,
        account: Account,
        settings: Settings,
        meter: Meter,
        *,
        is_admin: bool,
        parse: Parse,
        pages: str = "",
        within: frozenset[int] | None = None,
    ) -> None:
        self.meter = meter
        self._pages = pages
        self._braid = braid
        self._account = account
        self._settings = settings
        of_site = {name: value for name, value in site_options(settings).items() if name not in ("mode", "k")}
        self._options = used_options({}, of_site)
        self._parse = parse
        self._asker: dict[str, Any] = {"user_id": account.id, "within": within}
        self._datasets = UserDatasets(braid, account.id, is_admin=is_admin, within=within)

    @report_errors("HybridRetrieverError")
    def search(
        self,
        query: str,
        *,
        top_k: int,
        file_type: str | None,
        include_documents: bool,
        max_content_length: int | None,
        dataset_ids: DatasetIds,
        mode: str,
        strategy: str,
        where: Mapping[str, Any] = MappingProxyType({}),
        group_by: str = "passage",
        chunk_kind: str | None = None,
        parameters: Mapping[str, float] = MappingProxyType({}),
        options: Mapping[str, Any] = MappingProxyType({}),
    ) -> Result:
        """Search; the results are passages, or documents, best first. ``options`` are those of `TOOL_OPTIONS`."""
        _require_count("top_k", top_k, MAX_K)
        _require_length(max_content_length)
        file_types = frozenset({_label(file_type)}) if file_type else frozenset[str]()
        kinds = frozenset({cast(ChunkKind, chunk_kind)}) if chunk_kind else frozenset[ChunkKind]()
        filters = Filters(file_types=file_types, metadata=where, chunk_kinds=kinds)
        self.meter.count_use("search")
        result = self._braid.manager.search(
            query,
            dataset_ids=dataset_ids,
            strategy=strategy,
            **used_options(
                {
                    **options,
                    **{"mode": mode, "k": top_k, "filters": filters, "group_by": group_by, "parameters": parameters},
                },
                self._options,
            ),
            **self._asker,
        )
        self.meter.count_search(result)
        return self._search_result(result, include_documents=include_documents, max_content_length=max_content_length)

    def _search_result(
        self, result: SearchResult, *, include_documents: bool, max_content_length: int | None
    ) -> Result:
        missing = {part.leg: part.reason for part in result.degraded}
        if not result.hits and missing.keys() >= set(LEGS_OF_MODE[result.query.mode]):
            reasons = "; ".join(f"{part}: {reason}" for part, reason in missing.items())
            return error_answer(f"no part of the search could answer: {reasons}", "HybridRetrieverError")
        form, data_dir = to_json(result), self._braid.data_dir
        found: Result = {
            "status": "success",
            "message": _describe(result),
            "results": [self._hit(hit, include_documents, max_content_length) for hit in form["hits"]],
            "count": len(result.hits),
            "hits_by_dataset": form["hits_by_dataset"],
            "query_vector_dimension": self._dimension(result),
            "persist_directory": str(data_dir) if self._account.is_admin else data_dir.name,
        }
        if result.did_you_mean:
            found["did_you_mean"] = result.did_you_mean
        if result.degraded:
            found["degraded"] = [{"part": part["leg"], "reason": part["reason"]} for part in form["degraded"]]
        documents = {hit.passage.document_id: hit.passage for hit in result.hits}
        if notes := [note for one in documents.values() for note in gap_notes(one.title or one.source, one.metadata)]:
            found["notes"] = notes
        if result.unresolved_dataset_ids:
            found["unresolved_dataset_ids"] = form["unresolved_dataset_ids"]
        return found

    def _dimension(self, result: SearchResult) -> int | None:
        """Return the dimension of the query's vector in a semantic search; None otherwise."""
        if result.query.mode != "semantic" or not result.collections:
            return None
        return self._braid.dense.dimension(result.collections[0])

    @report_errors("BraidError", store="BraidError")
    def put_document(
        self,
        text: str,
        filepath: str,
        *,
        file_type: str | None,
        dataset_id: int | None,
        metadata: Mapping[str, Any] = MappingProxyType({}),
    ) -> Result:
        """Store a text, replacing the document with the same path."""
        if not text.strip() or len(text) > MAX_TEXT_CHARS:
            raise InvalidInputError(f"the text must have 1 to {MAX_TEXT_CHARS} characters", field="text")
        if not filepath.strip():
            raise InvalidInputError("the filepath is empty; give the document a path or a name", field="filepath")
        if len(filepath) > MAX_SOURCE_CHARS:
            raise InvalidInputError(f"the filepath has more than {MAX_SOURCE_CHARS} characters", field="filepath")
        if REPLACED in filepath:  # what the message had as half of a surrogate pair comes as this
            raise InvalidInputError("the filepath has U+FFFD, which stands for a broken character", field="filepath")
        filepath = source_name(storable(filepath))
        dataset, content = self._writable(dataset_id), text.encode("utf-8", "replace")
        quotas = Quotas(self._settings, self._braid)
        quotas.require_room(self._account, dataset, source=filepath, more_bytes=len(content))
        label = _label(file_type)
        incoming = Incoming.from_bytes(content, filepath, filename=_filename(filepath, label))
        incoming = replace(incoming, metadata=metadata, file_type=label)
        stored = ingest_document(
            self._braid.ledger,
            dataset.id,
            incoming,
            ingest_options(self._settings),
            parse=self._parse,
            most=self._settings.max_user_documents,
        )
        self._braid.indexer.wake()
        self.meter.count_use("upload")
        if stored.state == "failed":
            return error_answer(stored.reason, "UnreadableDocumentError")
        return {
            "status": "success",
            "message": "unchanged" if stored.state == "unchanged" else f"stored as {stored.added} new passages",
            "filepath": stored.source,
            "dataset_id": dataset.id,
        }

    @report_errors("BraidError", store="BraidError")
    def delete_document(self, filepath: str, *, dataset_id: int | None) -> Result:
        """Delete the document with this path, at once."""
        filepath = source_name(filepath)
        datasets = [self._writable(dataset_id)] if dataset_id is not None else self._readable.personal
        removed = [dataset.id for dataset in datasets if self._braid.ledger.remove_document(dataset.id, filepath)]
        if not removed:
            raise NotFoundError(f"there is no document {filepath!r} in your datasets; see get_documents_by_prefix")
        self._braid.indexer.wake()
        return {"status": "success", "message": "deleted", "filepath": filepath, "dataset_ids": removed}

    @report_errors("ChromaDBError")
    def get_documents(
        self,
        dataset_id: int,
        *,
        ids: Sequence[str] | None,
        source: str | None,
        where: Mapping[str, Any] | None,
        include_documents: bool,
        top_k: int,
    ) -> Result:
        """List passages of the documents that are named by ids, source or filter."""
        limit, dataset = _require_count("top_k", top_k, MAX_LISTED), self._one(dataset_id)
        found = self._named(dataset, ids, source, where)
        results = self._passages_of(found, include_documents, limit)
        message = f"{len(results)} passages of {len(found)} documents"
        return {"status": "success", "message": message, "results": results, "count": len(results)}

    @report_errors("BraidError", store="BraidError")
    def delete_documents(
        self,
        dataset_id: int,
        *,
        ids: Sequence[str] | None,
        source: str | None,
        where: Mapping[str, Any] | None,
    ) -> Result:
        """Delete the documents that are named by ids, source or filter, at once."""
        dataset = self._writable(dataset_id)
        found = self._named(dataset, ids, source, where, with_parts=True)
        removed = self._braid.ledger.remove_documents(dataset.id, [document.id for document in found])
        self._braid.indexer.wake()
        return {"status": "success", "message": f"deleted {removed} documents", "deleted": removed}

    def _named(
        self,
        dataset: Dataset,
        ids: Sequence[str] | None,
        source: str | None,
        where: Mapping[str, Any] | None,
        *,
        with_parts: bool = False,
    ) -> list[Document]:
        if ids is not None and not 1 <= len(ids) <= MAX_NAMED:
            raise InvalidInputError(f"ids has {len(ids)}; name 1 to {MAX_NAMED} documents", field="ids")
        numbered = None if ids is None else [document_number(each) or each for each in ids]
        filters = None if where is None else Filters(metadata=where)
        return select_documents(
            self._braid, numbered, dataset=dataset.id, source=source, filter=filters, with_parts=with_parts
        )

    def _passages_of(self, documents: Iterable[Document], include_documents: bool, limit: int) -> list[Result]:
        results: list[Result] = []
        for document in documents:
            left = limit - len(results)
            passages = self._braid.ledger.document_passages(document.id, [document.dataset_id], limit=left)
            results += [self._passage(to_json(passage), include_documents, None) for passage in passages]
            if len(results) >= limit:
                break
        return results

    @report_errors("ChromaDBError")
    def get_documents_by_prefix(
        self, prefix: str, *, file_type: str | None, include_documents: bool, top_k: int | None
    ) -> Result:
        """List passages of documents whose path begins with the prefix, by dataset and then by path."""
        limit = MAX_LISTED if top_k is None else _require_count("top_k", top_k, MAX_LISTED)
        wanted = _label(file_type) if file_type else None
        documents = (each for each in self._documents(prefix) if wanted is None or each.file_type == wanted)
        results = self._passages_of(documents, include_documents, limit)
        message = f"{len(results)} passages of documents whose path begins with {prefix!r}"
        return {"status": "success", "message": message, "results": results, "count": len(results)}

    @report_errors("ChromaDBError")
    def list_datasets(self) -> Result:
        """List the datasets that may be searched."""
        datasets = [
            {
                "id": dataset.id,
                "name": dataset.name,
                "kind": "shared" if dataset.shared else "personal",
                "may_write": self._datasets.may_write(dataset),
                "description": dataset.description,
                "documents": dataset.documents,
                "passages": dataset.chunks,
                "owner": dataset.owner,
                "metadata_keys": self._metadata_keys(dataset),
            }
            for dataset in self._readable.all
        ]
        return {"status": "success", "datasets": datasets, "count": len(datasets)}

    def _metadata_keys(self, dataset: Dataset) -> Result:
        keys = metadata_keys(self._braid.ledger.database, [dataset.id])
        return {key: " or ".join(KIND_NAMES[kind] for kind in kinds) for key, kinds in keys.items()}

    @report_errors("HybridRetrieverError")
    def explain(self, query: str, filepath: str, *, where: Mapping[str, Any] = MappingProxyType({})) -> Result:
        """Explain per dataset why a document's best passage is, or is not, found by a query."""
        filters, documents = Filters(metadata=where), self._reader.named(filepath)
        filepath = documents[0].source
        explained = [self._explain_document(query, document, filters) for document in documents]
        return {"status": "success", "filepath": filepath, "passages": explained, "count": len(explained)}

    def _explain_document(self, query: str, document: Document, filters: Filters) -> Result:
        """Explain the rank of the document's best passage."""
        manager, options = self._braid.manager, self._asker | self._options
        passage = best_passage(manager.search, self._braid.ledger, document, query, **options)
        explanation = manager.explain(
            query,
            chunk_id=passage.chunk_id,
            dataset_ids=[passage.dataset_id],
            filters=filters,
            **options,
        )
        return {
            "chunk_id": passage.chunk_id,
            "dataset_id": passage.dataset_id,
            "heading_path": passage.heading_path,
            "found": explanation.found,
            "reason": explanation.reason,
            "detail": explanation.detail,
            "rank": explanation.rank,
        }

    @report_errors("HybridRetrieverError")
    def find_exact(
        self, text: str, *, top_k: int, dataset_ids: DatasetIds, filepath: str | None, ignore_case: bool
    ) -> Result:
        """Find the passages that contain a text character for character, in all documents or in one."""
        _require_count("top_k", top_k, MAX_EXACT)
        self.meter.count_use("search")
        find = partial(self._braid.manager.find_exact, text, ignore_case=ignore_case, **self._asker)
        if filepath is None:
            parts = [find(dataset_ids=dataset_ids or ALL, k=top_k)]
        else:
            documents = self._reader.named(filepath)[:MAX_SAME_NAME]
            parts = [find(dataset_ids=[each.dataset_id], document_id=each.id, k=top_k) for each in documents]
        if all(part.unanswered for part in parts):
            return error_answer(f"the search could not answer: {'; '.join(parts[0].missing)}", "HybridRetrieverError")
        matches = [match for part in parts for match in part.matches][:top_k]
        missing = [reason for part in parts for reason in part.missing]
        found: Result = {
            "status": "success",
            "message": _describe_exact(len(matches), missing),
            "results": [self._exact(match) for match in matches],
            "count": len(matches),
            "complete": not missing,
            "missing": missing,
        }
        if unresolved := [each for part in parts for each in part.unresolved_dataset_ids]:
            found["unresolved_dataset_ids"] = unresolved
        return found

    def _exact(self, match: ExactMatch) -> Result:
        entry, text = self._passage(to_json(match.passage), False, None), match.passage.text
        start, end = max(0, match.start - AROUND_CHARS), match.end + AROUND_CHARS
        excerpt = ("..." if start else "") + text[start:end] + ("..." if end < len(text) else "")
        entry["metadata"]["line"] = match.line
        return {**entry, "excerpt": excerpt, "occurrences": match.occurrences}

    @report_errors("BraidError")
    def check(self, text: str, passages: Sequence[str]) -> Result:
        """Compare each sentence of a text with the passages that it cites."""
        with self._braid.places.hold(self._account.id, LONGEST_S):
            checked = to_json(check_given(text, passages, self._braid.analyzer))
        counted = Counter(each["verdict"] for each in checked["sentences"])
        counts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counted.items())) or "no sentences"
        return {"status": "success", "message": counts, **pick(checked, "text", "sentences", "removed_citations")}

    @report_errors("ChromaDBError")
    def read_document(self, filepath: str, *, first: int, last: int | None, dataset_id: int | None) -> Result:
        """Read the passages ``first`` to ``last`` of a document."""
        return self._reader.part(filepath, first, last, dataset_id)

    @report_errors("ChromaDBError")
    def fetch(self, document_id: str) -> Result:
        """Return a document's text by its id, in the form that connectors take."""
        return {"status": "success", **self._reader.whole(document_id)}

    @report_errors("HybridRetrieverError")
    def find_documents(self, query: str) -> Result:
        """Search everything that may be read; the results are documents, in the form that connectors take."""
        self.meter.count_use("search")
        result = self._braid.manager.search(
            query,
            dataset_ids=ALL,
            k=CONNECTOR_RESULTS,
            group_by="document",
            **self._asker,
            **self._options,
        )
        self.meter.count_search(result)
        found = self._search_result(result, include_documents=True, max_content_length=SNIPPET_CHARS)
        if found["status"] != "success":
            return found
        links = [{**pick(entry, "id", "title", "url"), "text": entry["document"]} for entry in found["results"]]
        return {"status": "success", "results": links}

    @report_errors("ChromaDBError")
    def document_text(self, document_id: int) -> Result:
        """Return the text of a document, its passages joined."""
        return {"status": "success", "text": self._reader.text(document_id)}

    # ------------------------------------------------------------ results

    def _hit(self, hit: Result, include_documents: bool, max_content_length: int | None) -> Result:
        """Pick what a tool returns of a hit; ``hit`` is a Hit as JSON."""
        legs = {leg["leg"]: pick(leg, "rank", "score") for leg in hit["legs"]}
        entry = self._passage(hit["passage"], include_documents, max_content_length)
        more: Result = {"more_in_document": hit["more_in_document"]} if hit["more_in_document"] else {}
        if hit["also_in"]:
            more["also_in"] = [
                {"filepath": place["source"], **pick(place, "title", "dataset_id")} for place in hit["also_in"]
            ]
        return {**entry, "score": hit["score"], **more, "metadata": {**entry["metadata"], "legs": legs}}

    def _passage(self, passage: Result, include_documents: bool, max_content_length: int | None) -> Result:
        """Pick what a tool returns of a passage; ``passage`` is a Passage as JSON."""
        place = passage["source"], passage["dataset_id"], passage["document_id"], passage["position"]
        entry: Result = {"filepath": passage["source"], "id": shown_id(passage["document_id"])}
        entry |= {"title": passage["title"], "url": document_link(self._pages, *place)}
        if include_documents:
            entry["document"] = _cut(passage["text"], max_content_length)
        shown = ("document_id", "dataset_id", "title", "file_type", "heading_path", "page", "line")
        more = {"passage": passage["position"] + 1}
        if passage["chunk_kind"]:
            more["chunk_kind"] = passage["chunk_kind"]
        entry["metadata"] = {"id": passage["chunk_id"], **pick(passage, *shown), **more}
        if passage["metadata"]:
            entry["document_metadata"] = passage["metadata"]
        return entry

    # ------------------------------------------------------------ scope

    @property
    def _reader(self) -> DocumentReader:
        return DocumentReader(self._braid.ledger, self._readable, self._pages)

    def _writable(self, dataset_id: int | None) -> Dataset:
        """Return this dataset, or without an id the user's first one, which is added if there is none."""
        readable = self._readable
        if dataset_id is None:
            if own := readable.personal:
                return own[0]
            if self._asker["within"] is not None:
                raise NotFoundError("this app may write to none of the user's own datasets; see list_datasets")
            return self._braid.ledger.add_dataset(self._account.id, FIRST_DATASET)
        found = readable.by_id.get(dataset_id)
        if found is None or not self._datasets.may_write(found):
            raise NotFoundError(f"there is no dataset {dataset_id} that you may write to; see list_datasets")
        return found

    def _one(self, dataset_id: int) -> Dataset:
        found = self._readable.by_id.get(dataset_id)
        if found is None:
            raise NotFoundError(f"there is no dataset {dataset_id} that you may read; see list_datasets")
        return found

    @property
    def _readable(self) -> Readable:
        return self._datasets.readable()

    def _documents(self, prefix: str) -> Iterator[Document]:
        """Yield readable documents whose path begins with the prefix, by dataset and then by path."""
        prefix = source_name(prefix) if prefix.strip() else ""
        for dataset in self._readable.all:
            for offset in itertools.count(0, DOCUMENTS_PER_READ):
                found = self._braid.ledger.documents(
                    dataset.id, source_prefix=prefix, state="ready", limit=DOCUMENTS_PER_READ, offset=offset
                )
                yield from found
                if len(found) < DOCUMENTS_PER_READ:
                    break


def _describe(result: SearchResult) -> str:
    count = len(result.hits)
    where = f"{len(result.collections)} collection{'' if len(result.collections) == 1 else 's'}"
    what = result.query.group_by
    return f"{count} {what}{'' if count == 1 else 's'} found in {where} ({result.query.mode})"


def _describe_exact(count: int, missing: list[str]) -> str:
    found = f"{count} passage{'' if count == 1 else 's'} with this text"
    return f"{found}; there may be more: {'; '.join(missing)}" if missing else found


def _cut(text: str, length: int | None) -> str:
    return text if length is None or len(text) <= length else text[:length] + "..."


def _label(file_type: str | None) -> str:
    """Return the name of a format, or any other label as it is given; empty for none."""
    label = storable(file_type or "").strip()
    if len(label) > MAX_LABEL_CHARS or any(unicodedata.category(character) == "Cc" for character in label):
        message = f"file_type {label[:40]!r} must be one line of up to {MAX_LABEL_CHARS} characters"
        raise InvalidInputError(message, field="file_type")
    form = format_named(label)
    return form.file_type if form else label


def _filename(filepath: str, label: str) -> str:
    """Return a file name that ends as the format does; a label that is no format, and no ending, are plain text."""
    name = last_part(filepath.replace("\\", "/")) or "document"
    if not label:
        return name if "." in name.strip(".") else f"{name}.txt"
    form = format_named(label)
    ending = form.suffixes[0] if form else ".txt"
    return name if name.lower().endswith(ending) else f"{name}{ending}"


def _require_count(name: str, given: int, most: int) -> int:
    if not 1 <= given <= most:
        raise InvalidInputError(f"{name} is {given}; it must be from 1 to {most}", field=name)
    return given


def _require_length(given: int | None) -> None:
    if given is not None and given < 1:
        raise InvalidInputError(f"max_content_length is {given}; it must be at least 1", field="max_content_length")
