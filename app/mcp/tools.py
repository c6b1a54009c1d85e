"""The tools of the MCP server, for one user. They return plain JSON values, for failures too."""

from __future__ import annotations

import itertools
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import Field

from braid.app.auth.quotas import Quotas
from braid.app.mcp.answers import (
    CheckAnswer,
    DatasetsAnswer,
    DeleteAnswer,
    DeletedAnswer,
    ExactAnswer,
    ExplainAnswer,
    FetchAnswer,
    FoundAnswer,
    ReadAnswer,
    SearchAnswer,
    StoredAnswer,
)
from braid.app.mcp.calls import Meter, Result, error_answer, report_errors
from braid.app.mcp.documents import DocumentReader, document_link, document_number, shown_id
from braid.app.mcp.parameters import (
    DELETES,
    READS,
    WRITES,
    DatasetId,
    DatasetIds,
    FileType,
    First,
    Ids,
    Path,
    Query,
    Source,
    Where,
    WithText,
    tool,
)
from braid.app.user.assistants import UsableAssistant
from braid.app.user.datasets import Readable, UserDatasets
from braid.config.ingest import ingest_options
from braid.config.models import options_in_force
from braid.config.settings import Settings
from braid.core.accounts.accounts import Account
from braid.core.adding.stored import require_condition, require_one, select_documents
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
from braid.core.ledger.deleted_documents import DeletedDocuments
from braid.core.metadata.gaps import gap_notes
from braid.core.metadata.values import Kind
from braid.core.options import (
    ALL,
    LEGS_OF_MODE,
    MAX_K,
    ChunkKind,
    Filters,
    GroupBy,
    Mode,
    used_options,
)
from braid.core.search.exact import ExactMatch
from braid.core.search.explain import best_passage
from braid.core.search.strategies import strategies
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
    ``within`` are the only datasets of a limited token; None is no limit. Those of an ``assistant`` are limited to its
    datasets, and `find_documents` searches as it does.
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
        assistant: UsableAssistant | None = None,
    ) -> None:
        self.meter = meter
        self._deleted = DeletedDocuments(braid.ledger)
        within = within if assistant is None else frozenset(assistant.dataset_ids)
        self._pages = pages
        self._braid = braid
        self._account = account
        self._settings = settings
        self._assistant = assistant
        self._parse = parse
        self._asker: dict[str, Any] = {"user_id": account.id, "within": within}
        self._datasets = UserDatasets(braid, account.id, is_admin=is_admin, within=within)

    @property
    def _of_site(self) -> dict[str, Any]:
        """The options of a search that names none, with the reranker that is in force now."""
        return options_in_force(self._settings, self._braid.manager.rerankers)

    @property
    def _options(self) -> dict[str, Any]:
        of_site = {name: value for name, value in self._of_site.items() if name not in ("mode", "k")}
        return used_options({}, of_site)

    @property
    def _find(self) -> dict[str, Any]:
        if self._assistant is None:
            return self._options
        return {**self._assistant.options(self._of_site), "strategy": self._assistant.assistant.strategy}

    @tool("Search", READS, SearchAnswer, outage="HybridRetrieverError")
    def search(
        self,
        query: Query,
        top_k: Annotated[int, Field(description="Number of passages, 1 to 1000")] = 5,
        file_type: FileType = None,
        include_documents: WithText = True,
        max_content_length: Annotated[int | None, Field(description="Cut each text to this many characters")] = None,
        dataset_ids: DatasetIds = None,
        mode: Annotated[
            Mode, Field(description="hybrid (best), semantic (by meaning) or keyword (exact words)")
        ] = "hybrid",
        strategy: Annotated[
            str,
            Field(
                description="How the query is put",
                json_schema_extra=lambda schema: schema.update(enum=list(strategies())),
            ),
        ] = "basic",
        where: Where = None,
        group_by: Annotated[
            GroupBy,
            Field(
                description="passage, or document: one result per document, its best passage; `more_in_document` "
                "counts its others, and top_k counts documents"
            ),
        ] = "passage",
        chunk_kind: Annotated[
            ChunkKind | None,
            Field(description="Only this part of programs: function, class, method, or module for the rest"),
        ] = None,
        parameters: Annotated[
            dict[str, float] | None,
            Field(description='Parameters of the strategy: {"variants": 4} of multi_query, {"feedback_passages": 5} …'),
        ] = None,
        **options: Any,
    ) -> Result:
        """Search the user's documents; results are passages, best first, one per passage or per document.

        Example: search(query="Why was the printer contract ended?", top_k=3). On failure `status` is "error" and
        `error_type` says why: ValidationError means that an argument is wrong, and `message` says how to fix it.
        """
        _require_count("top_k", top_k, MAX_K)
        _require_length(max_content_length)
        file_types = frozenset({_label(file_type)}) if file_type else frozenset[str]()
        kinds = frozenset({chunk_kind}) if chunk_kind else frozenset[ChunkKind]()
        own = {
            "mode": mode,
            "k": top_k,
            "filters": Filters(file_types=file_types, metadata=where or {}, chunk_kinds=kinds),
            "group_by": group_by,
            "parameters": parameters or {},
        }
        self.meter.count_use("search")
        result = self._braid.manager.search(
            query,
            dataset_ids=dataset_ids,
            strategy=strategy,
            **used_options({**options, **own}, self._options),
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
        said = ("read_filters", "added_forms", "did_you_mean", "unresolved_dataset_ids")
        found |= {name: form[name] for name in said if form[name]}
        if result.degraded:
            found["degraded"] = [{"part": part["leg"], "reason": part["reason"]} for part in form["degraded"]]
        documents = {hit.passage.document_id: hit.passage for hit in result.hits}
        gaps = [note for one in documents.values() for note in gap_notes(one.title or one.source, one.metadata)]
        if notes := [*result.notes, *gaps]:
            found["notes"] = notes
        return found

    def _dimension(self, result: SearchResult) -> int | None:
        """Return the dimension of the query's vector in a semantic search; None otherwise."""
        if result.query.mode != "semantic" or not result.collections:
            return None
        return self._braid.dense.dimension(result.collections[0])

    @tool("Store a document", WRITES, StoredAnswer, outage="BraidError", store="BraidError")
    def put_document(
        self,
        text: Annotated[str, Field(description="The whole text, up to 5,000,000 characters")],
        filepath: Annotated[str, Field(description="Path or URL that names it; the same path again replaces it")],
        file_type: Annotated[
            str | None,
            Field(
                description="How to read it: md, txt, html, csv, json, py …; any other word is kept as the document's "
                "label, to filter by, and the text is read as plain text. None: as the filepath ends"
            ),
        ] = None,
        dataset_id: Annotated[int | None, Field(description="The user's dataset; None: their first one")] = None,
        metadata: Annotated[
            dict[str, Any] | None,
            Field(
                description='Facts to filter by later: {"tenant": "x", "year": 2026, "tags": ["a"]}; a date is '
                '{"$date": "2026-01-31"}'
            ),
        ] = None,
    ) -> Result:
        """Store a text so that it can be searched: by keyword within a second, by meaning soon after.

        Example: put_document(text="# Minutes …", filepath="minutes/2026-11-20.md").
        """
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
        incoming = replace(incoming, metadata=metadata or {}, file_type=label)
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

    @tool("Delete a document", DELETES, DeleteAnswer, outage="BraidError", store="BraidError")
    def delete_document(
        self,
        filepath: Path,
        dataset_id: Annotated[
            int | None, Field(description="Only from this dataset; None: all of the user's own")
        ] = None,
        permanently: Annotated[bool, Field(description="So that it cannot be restored, and no longer counts")] = False,
    ) -> Result:
        """Delete a document; it cannot be found from then on. restore_document takes that back for some days."""
        filepath = source_name(filepath)
        datasets = [self._writable(dataset_id)] if dataset_id is not None else self._readable.personal
        remove = self._braid.ledger.remove_document if permanently else self._deleted.discard_source
        removed = [dataset.id for dataset in datasets if remove(dataset.id, filepath)]
        if not removed:
            raise NotFoundError(f"there is no document {filepath!r} in your datasets; see get_documents_by_prefix")
        self._braid.indexer.wake()
        return {"status": "success", "message": "deleted", "filepath": filepath, "dataset_ids": removed}

    @tool("Restore a deleted document", WRITES, StoredAnswer, outage="BraidError", store="BraidError")
    def restore_document(self, filepath: Path, dataset_id: DatasetId) -> Result:
        """Restore a document that was deleted some days ago at most, with its parts."""
        filepath, dataset = source_name(filepath), self._writable(dataset_id)
        restored = self._deleted.restore(
            dataset.id, [each.id for each in self._deleted.of_source(dataset.id, filepath)]
        )
        if not restored.documents:
            raise InvalidInputError(
                f"another document is stored as {filepath!r} meanwhile; delete it first", field="filepath"
            )
        self._braid.indexer.wake()
        return {"status": "success", "message": "restored", "filepath": filepath, "dataset_id": dataset.id}

    @tool("Get documents", READS, FoundAnswer, outage="ChromaDBError")
    def get_documents(
        self,
        dataset_id: DatasetId,
        ids: Ids = None,
        source: Source = None,
        where: Where = None,
        include_documents: WithText = True,
        top_k: Annotated[int, Field(description="Largest number of passages, 1 to 1000")] = 100,
    ) -> Result:
        """List the passages of documents by `ids`, by `source` or by `where`: exactly one of the three.

        Example: get_documents(dataset_id=1, where={"tenant": "x"}).
        """
        limit, dataset = _require_count("top_k", top_k, MAX_LISTED), self._one(dataset_id)
        found = self._named(dataset, ids, source, where)
        results = self._passages_of(found, include_documents, limit)
        message = f"{len(results)} passages of {len(found)} documents"
        return {"status": "success", "message": message, "results": results, "count": len(results)}

    @tool("Delete documents", DELETES, DeletedAnswer, outage="BraidError", store="BraidError")
    def delete_documents(
        self, dataset_id: DatasetId, ids: Ids = None, source: Source = None, where: Where = None
    ) -> Result:
        """Delete documents by `ids`, by `source` or by `where`: exactly one of the three.

        They cannot be found from then on. A path among `ids` is deleted with its parts.
        Example: delete_documents(dataset_id=1, where={"year": {"$lt": 2020}}).
        """
        dataset = self._writable(dataset_id)
        found = self._named(dataset, ids, source, where, with_parts=True)
        removed = self._deleted.discard(dataset.id, [document.id for document in found]).documents
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
        require_one(ids=ids, source=source, where=where)
        numbered = None if ids is None else [document_number(each) or each for each in ids]
        filters = None if where is None else Filters(metadata=where)
        if filters is not None:
            require_condition("where", filters)
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

    @tool("List documents by path", READS, FoundAnswer, outage="ChromaDBError")
    def get_documents_by_prefix(
        self,
        prefix: Annotated[str, Field(description="Beginning of the path, such as 'notes/2026/'; '' for all")],
        file_type: FileType = None,
        include_documents: WithText = True,
        top_k: Annotated[int | None, Field(description="Largest number of passages, up to 1000")] = None,
    ) -> Result:
        """List the passages of all documents whose path begins with a prefix, without searching."""
        limit = MAX_LISTED if top_k is None else _require_count("top_k", top_k, MAX_LISTED)
        wanted = _label(file_type) if file_type else None
        documents = (each for each in self._documents(prefix) if wanted is None or each.file_type == wanted)
        results = self._passages_of(documents, include_documents, limit)
        message = f"{len(results)} passages of documents whose path begins with {prefix!r}"
        return {"status": "success", "message": message, "results": results, "count": len(results)}

    @tool("List datasets", READS, DatasetsAnswer, outage="ChromaDBError")
    def list_datasets(self) -> Result:
        """List the datasets that the user may search: id, name, kind, counts, and keys of the documents' metadata."""
        datasets = [
            {
                **pick(to_json(dataset), "id", "name", "description", "documents", "owner"),
                "kind": "shared" if dataset.shared else "personal",
                "may_write": self._datasets.may_write(dataset),
                "passages": dataset.chunks,
                "metadata_keys": self._metadata_keys(dataset),
            }
            for dataset in self._readable.all
        ]
        return {"status": "success", "datasets": datasets, "count": len(datasets)}

    def _metadata_keys(self, dataset: Dataset) -> Result:
        keys = metadata_keys(self._braid.ledger.database, [dataset.id])
        return {key: " or ".join(KIND_NAMES[kind] for kind in kinds) for key, kinds in keys.items()}

    @tool("Explain a rank", READS, ExplainAnswer, outage="HybridRetrieverError")
    def explain(self, query: Query, filepath: Path, where: Where = None) -> Result:
        """Say why a document's best passage is, or is not, among the results of a query."""
        filters, documents = Filters(metadata=where or {}), self._reader.named(filepath)
        filepath = documents[0].source
        explained = [self._explain_document(query, document, filters) for document in documents]
        return {"status": "success", "filepath": filepath, "passages": explained, "count": len(explained)}

    def _explain_document(self, query: str, document: Document, filters: Filters) -> Result:
        """Explain the rank of the document's best passage."""
        manager, options = self._braid.manager, self._asker | self._options
        passage = best_passage(manager.search, self._braid.ledger, document, query, **options)
        options |= {"dataset_ids": [passage.dataset_id], "filters": filters}
        explanation = manager.explain(query, chunk_id=passage.chunk_id, **options)
        place = pick(to_json(passage), "chunk_id", "dataset_id", "heading_path")
        return {**place, **pick(to_json(explanation), "found", "reason", "detail", "rank", "reranker")}

    @tool("Find an exact text", READS, ExactAnswer, outage="HybridRetrieverError")
    def find_exact(
        self,
        text: Annotated[
            str,
            Field(description="Text as it is written, up to 500 characters; a line break counts as a space"),
        ],
        top_k: Annotated[int, Field(description="Largest number of passages, 1 to 200")] = 20,
        dataset_ids: Annotated[
            list[int] | Literal["all"] | None,
            Field(description="Datasets to look in, from list_datasets. None or 'all': everything the user may read"),
        ] = None,
        filepath: Annotated[
            str | None, Field(description="Only in this document, where parts of words are found, too")
        ] = None,
        ignore_case: Annotated[bool, Field(description="Whether capitals and small letters are the same")] = False,
    ) -> Result:
        """Find passages that contain a text character for character: an error code, a name, a quotation.

        Without `filepath` it finds whole words; a quotation may run over the end of a passage, so give a distinctive
        part of it. `complete` is false where there may be more, and `missing` says why.
        Example: find_exact(text="E-4711").
        """
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

    @tool("Check an answer", READS, CheckAnswer, outage="BraidError")
    def check(
        self,
        text: Annotated[str, Field(description="The answer; it cites the passages as [1], [2] …")],
        passages: Annotated[
            list[str], Field(description="Texts of the passages in the order of their numbers, up to 100")
        ],
    ) -> Result:
        """Compare each sentence of an answer with the passages that it cites, before it is sent.

        `verdict` is differs (another number, date, unit or name, a denial: `findings` has both wordings), not_found (a
        number, date or quotation is in none of them), uncited, stands, or open, which is no proof.
        Example: check(text="The warranty is 35 days [1].", passages=["The warranty is 30 days."]).
        """
        with self._braid.places.hold(self._account.id, LONGEST_S):
            checked = to_json(check_given(text, passages, self._braid.analyzer))
        counted = Counter(each["verdict"] for each in checked["sentences"])
        counts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counted.items())) or "no sentences"
        return {"status": "success", "message": counts, **pick(checked, "text", "sentences", "removed_citations")}

    @tool("Read a document", READS, ReadAnswer, outage="ChromaDBError")
    def read_document(
        self,
        filepath: Path,
        first: First = 1,
        to: Annotated[
            int | None, Field(description="Number of the last passage. None: as many as fit in 20,000 characters")
        ] = None,
        dataset_id: Annotated[
            int | None, Field(description="The dataset, where several have such a document. None: the user's own first")
        ] = None,
    ) -> Result:
        """Read a document, or a span of it, in passages of about 1,000 characters.

        Results of search and find_exact have the number of their passage in `metadata.passage`. `total` is the number
        of passages; where the answer ends earlier, `next` says where to go on.
        Example: read_document(filepath="minutes/2026-11-20.md", from=3, to=7).
        """
        return self._reader.part(filepath, first, to, dataset_id)

    @tool("Fetch a document", READS, FetchAnswer, outage="ChromaDBError")
    def fetch(self, id: Annotated[str, Field(description="The `id` of a search result")]) -> Result:
        """Return the whole text of a document with its title and address, up to 200,000 characters.

        The rest of a longer document has the id in `metadata.next_id`.
        """
        return {"status": "success", **self._reader.whole(id)}

    @report_errors("HybridRetrieverError")
    def find_documents(self, query: Query) -> Result:
        """Search all documents that the user may read; results are documents, best first, with their best passage."""
        self.meter.count_use("search")
        result = self._braid.manager.search(
            query, dataset_ids=ALL, **{**self._find, **self._asker, "k": CONNECTOR_RESULTS, "group_by": "document"}
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
        if dataset_id is None:
            return self._datasets.first()
        found = self._readable.by_id.get(dataset_id)
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
