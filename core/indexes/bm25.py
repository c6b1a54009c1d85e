"""The BM25 leg: one tantivy index per collection, over the tokens of Braid's analyzer."""

from __future__ import annotations

import itertools
import json
import logging
import math
import os
import re
import shutil
import struct
import threading
import time
import zlib
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from operator import itemgetter
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import tantivy
from numpy.typing import NDArray
from tantivy import Occur, Query

from braid.core.errors import IndexUnavailableError, internal
from braid.core.indexes.answers import BestScores, Bm25Counts, Bm25Statistics, best_first, scored
from braid.core.indexes.base import KeywordIndex, Unusable
from braid.core.indexes.vector_block import are_among
from braid.core.ledger.change_log import IndexedChunk, StateName
from braid.core.priority import SearchPriority
from braid.core.text.analyzer import Analyzer
from braid.core.types import Leg, ScoredChunk

K1 = 1.2  # tantivy's constants
B = 0.75
MAX_DOCUMENT_TERMS = 100
"""Documents that become terms of a query at once; more of them cost more than looking at more hits does."""
READ_AHEAD = 1.5
"""Hits that are looked at for each one wanted where all are wanted, to leave out those of other documents."""
MAX_READ = 4_000
"""Hits that are looked at at most; then documents as terms of the query cost less."""
ID_HALVES = ("id_high", "id_low")
"""Fast fields with the two halves of a chunk's id as numbers: all ids of a result are read at once, while reading each
from the stored document gives up the interpreter, and waits for it again, fifty times."""
ID_DIGITS = 32
SEGMENT_FILES = ("idx", "pos", "term", "store", "fast", "fieldnorm")
"""Endings of the files of each of tantivy's segments."""
CONTENTS, NOTE = "meta.json", "meta.checksum"
"""tantivy's table of contents, and Braid's note of its checksum, which tantivy does not keep."""
FOOTER, MAGIC = struct.Struct("<II"), 1337
"""The end of such a file: the length of the JSON before it, which has the checksum of the rest, and tantivy's mark."""
READ_BYTES = 2**22
LOOKS = 20
"""Times that files are compared that are being merged meanwhile."""
SCHEMA_VERSION = "fast ids"
WRITER_HEAP_BYTES = 64_000_000
FEW = 16
"""Chunks that are cut into tokens at once, also beside searches: somebody may look for what they have just put."""
UNUSED_S = 120.0
KEPT_TERMS = 4_096
"""Queries for one term that are kept: the collections of a search ask the same ones."""
KEPT_COUNTS = 2_048
"""Counts of documents with a term that are kept of each open index."""
KEPT_LIKE = 64
"""Expressions for tokens that begin like a word."""
MOST_LIKE = 12
"""Letters of a beginning that are looked at; the states of an expression grow with their square, and end at 1,000."""
ANY_LETTER = "[0-9a-zß-ɏ]"

_Found = tuple[float, tantivy.DocAddress]

logger = logging.getLogger(__name__)


@lru_cache(KEPT_TERMS)
def bm25_idf(documents: int, containing: float) -> float:
    """Return ln(1 + (N − n + 0.5) / (n + 0.5)), the variant of Lucene and tantivy."""
    return math.log(1 + (documents - containing + 0.5) / (containing + 0.5))


@dataclass(frozen=True, slots=True)
class _Open:
    index: tantivy.Index
    searcher: tantivy.Searcher
    having: Callable[[str], int]
    """Counts the documents that have a term, and remembers it: most queries share some words."""
    documents: int
    average_length: float
    signature: tuple[int, int, int]


class Bm25Index(KeywordIndex):
    """Tantivy indexes under one folder. Searches come from any thread, `apply` and `drop` from one."""

    name: StateName = "bm25"
    leg: Leg = "bm25"
    stored = True
    crash_safe = True

    def __init__(
        self,
        path: Path,
        analyzer: Analyzer,
        *,
        max_open_collections: int = 128,
        priority: SearchPriority | None = None,
        unused_s: float = UNUSED_S,
    ) -> None:
        self._path = path
        self._analyzer = analyzer
        self._priority = priority or SearchPriority()
        self._max_open = max_open_collections
        self._unused_s = unused_s
        self._schema = _schema()
        self._term = lru_cache(KEPT_TERMS)(partial(Query.term_query, self._schema, "body", index_option="freq"))
        self._like = lru_cache(KEPT_LIKE)(partial(_like, self._schema))
        self._opened: OrderedDict[str, _Open] = OrderedDict()
        self._used: dict[str, float] = {}
        self._known: set[str] = set()
        """Collections that were on disk when they were last opened or written."""
        self.version = f"{analyzer.version}:{SCHEMA_VERSION}"
        self._lock = threading.Lock()

    # ------------------------------------------------------------ searching

    def search(
        self,
        collection: str,
        terms: Mapping[str, float],
        k: int,
        *,
        dataset_ids: Collection[int] | None = None,
        document_ids: NDArray[np.int64] | None = None,
        share: float = 1.0,
        factor: float = 1.0,
        best: BestScores | None = None,
    ) -> list[ScoredChunk]:
        """Return the ``k`` best chunks with at least one of the terms, by factor · Σ weight · BM25, within the given
        ids. Hits that are not among the ``best`` of several searches are left out, the others added to it.

        ``document_ids`` (n,) are different ones. ``share`` tells about how many of the collection's chunks are theirs
        (0.0–1.0): many documents become terms of the query only where few hits are of them.
        """
        with _unusable(collection):
            opened = self._open(collection)
            if opened is None or not terms or k < 1:
                return []
            searcher = opened.searcher
            if document_ids is None or len(document_ids) <= MAX_DOCUMENT_TERMS:
                named = None if document_ids is None else document_ids.tolist()
                found = _best(searcher, self._query(terms, dataset_ids, named), k)
            else:
                found = self._best_of(searcher, self._query(terms, dataset_ids, None), k, document_ids, share)
            if not found:
                return []
            given, addresses = zip(*found, strict=True)  # best first
            if best is not None:
                given = given[: bisect_right(given, -best.least, key=lambda score: -factor * score)]
            scores = [factor * score for score in given]
            ids = _ids(searcher, list(addresses[: len(scores)]))
        if best is not None:
            best.add(scores)
        return best_first(scored(ids, scores))

    def containing(
        self, collection: str, tokens: Collection[str], n: int, *, dataset_ids: Collection[int]
    ) -> tuple[list[str], int]:
        """Return the ids of up to ``n`` chunks that have all of the tokens, best first, and how many have."""
        within = Query.const_score_query(self._any_of("dataset_id", dataset_ids), 0.0)
        having = [self._term(token) for token in sorted(tokens)]
        query = Query.boolean_query([(Occur.Must, each) for each in (*having, within)])
        with _unusable(collection):
            opened = self._open(collection)
            if opened is None or not tokens:
                return [], 0
            found = opened.searcher.search(query, n, count=True)
            ids = _ids(opened.searcher, [address for _, address in found.hits])
            return ids, int(found.count)  # type: ignore[attr-defined]  # missing in tantivy's types

    def beginning_like(self, collection: str, beginning: str, n: int, *, dataset_ids: Collection[int]) -> list[str]:
        """Return the ids of up to ``n`` chunks with a token whose beginning is at most one letter away from this one.

        Two letters that have changed places count as one, and the first `MOST_LIKE` letters are looked at.
        """
        within = Query.const_score_query(self._any_of("dataset_id", dataset_ids), 0.0)
        query = Query.boolean_query([(Occur.Must, self._like(beginning[:MOST_LIKE])), (Occur.Must, within)])
        with _unusable(collection):
            opened = self._open(collection)
            if opened is None:
                return []
            return _ids(opened.searcher, [address for _, address in _best(opened.searcher, query, n)])

    def _best_of(
        self, searcher: tantivy.Searcher, query: Query, k: int, document_ids: NDArray[np.int64], share: float
    ) -> list[_Found]:
        """Look at more hits than are wanted and leave out those of other documents; where too few would be left, ask
        for the documents by terms.
        """
        n = math.ceil(READ_AHEAD * k / max(share, 1 / MAX_READ)) + 10
        if n <= MAX_READ:
            found = _best(searcher, query, n)
            addresses = list(map(itemgetter(1), found))
            of_document = np.array(searcher.fast_field_values("document_id", addresses), dtype=np.int64)
            kept = list(itertools.compress(found, are_among(of_document, document_ids).tolist()))
            if len(kept) >= k or len(found) < n:
                return kept[:k]
        terms_too = Query.const_score_query(self._any_of("document_id", document_ids.tolist()), 0.0)
        return _best(searcher, Query.boolean_query([(Occur.Must, query), (Occur.Must, terms_too)]), k)

    def _any_of(self, field: str, ids: Collection[int]) -> Query:
        """Return the condition that the field has one of the ids. A set of terms is compared with all values that the
        field has, which takes four times as long as looking up 25.
        """
        if len(ids) > MAX_DOCUMENT_TERMS:
            return Query.term_set_query(self._schema, field, sorted(ids))
        terms = [Query.term_query(self._schema, field, each, "basic") for each in sorted(ids)]
        return Query.boolean_query([(Occur.Should, term) for term in terms])

    def statistics(
        self, collection: str, terms: Collection[str], *, dataset_ids: Collection[int] | None = None
    ) -> Bm25Statistics:
        """Return the counts that scores of several collections are pooled with, also within some datasets."""
        with _unusable(collection):
            opened = self._open(collection)
            if opened is None:
                return Bm25Statistics(0, 0.0, {})
            frequencies = dict(zip(terms, map(opened.having, terms), strict=True))
            readable = None if dataset_ids is None else self._counts_within(opened.searcher, frequencies, dataset_ids)
        return Bm25Statistics(opened.documents, opened.average_length, frequencies, readable)

    def _counts_within(
        self, searcher: tantivy.Searcher, frequencies: Mapping[str, int], dataset_ids: Collection[int]
    ) -> Bm25Counts:
        """Count the documents of these datasets; one search per term, since tantivy keeps counts of the whole only."""
        within = Query.const_score_query(self._any_of("dataset_id", dataset_ids), 0.0)
        having = {}
        for term in (term for term, frequency in frequencies.items() if frequency):
            with_term = Query.const_score_query(Query.term_query(self._schema, "body", term, "basic"), 0.0)
            having[term] = _count(searcher, Query.boolean_query([(Occur.Must, with_term), (Occur.Must, within)]))
        return Bm25Counts(_count(searcher, within), having)

    def _query(
        self,
        terms: Mapping[str, float],
        dataset_ids: Collection[int] | None,
        document_ids: Collection[int] | None,
    ) -> Query:
        weighed = map(Query.boost_query, map(self._term, terms), terms.values())
        query = Query.boolean_query(list(zip(itertools.repeat(Occur.Should), weighed)))
        for field, ids in (("dataset_id", dataset_ids), ("document_id", document_ids)):
            if ids is not None:
                allowed = Query.const_score_query(self._any_of(field, ids), 0.0)
                query = Query.boolean_query([(Occur.Must, query), (Occur.Must, allowed)])
        return query

    # ------------------------------------------------------------ following the ledger

    def apply(self, collection: str, upserts: Sequence[IndexedChunk], deletes: Sequence[str]) -> None:
        """Add or replace chunks and delete ids; durable on return."""
        folder = self._path / collection
        with _unusable(collection):
            folder.mkdir(parents=True, exist_ok=True)
            index = tantivy.Index(self._schema, path=str(folder), reuse=True)
            writer = index.writer(WRITER_HEAP_BYTES, 1)
            writer.garbage_collect_files()  # a killed commit leaves a file with the name that the next one uses
            for chunk_id in [*deletes, *(chunk.id for chunk in upserts)]:
                writer.delete_documents_by_term("id", chunk_id)
            in_turn = upserts if len(upserts) <= FEW else self._priority.pieces(upserts)
            for chunk in in_turn:  # cutting many texts into tokens holds up whoever searches
                writer.add_document(self._document(chunk))
            writer.commit()
            writer.wait_merging_threads()
            _note_contents(folder)
        with self._lock:
            self._opened.pop(collection, None)
            self._known.add(collection)

    def _document(self, chunk: IndexedChunk) -> tantivy.Document:
        document = tantivy.Document()
        document.add_text("id", chunk.id)
        tokens = self._analyzer.tokens(chunk.text)
        document.add_text("body", " ".join(tokens))
        document.add_text("probe", tokens[0] if tokens else "")
        document.add_integer("dataset_id", chunk.dataset_id)
        document.add_integer("document_id", chunk.document_id)
        for half, number in zip(ID_HALVES, _halves(chunk.id), strict=False):
            document.add_integer(half, number)
        return document

    def drop(self, collection: str) -> None:
        """Delete the collection; the next `apply` creates it again."""
        with self._lock:
            self._opened.pop(collection, None)
            self._known.discard(collection)
        folder = self._path / collection
        with _unusable(collection):
            if folder.is_dir():
                shutil.rmtree(folder, ignore_errors=True)
            else:
                folder.unlink(missing_ok=True)

    # ------------------------------------------------------------ inspecting

    def count(self, collection: str) -> int:
        """Count the chunks in the collection; 0 when it does not exist."""
        with _unusable(collection):
            opened = self._open(collection)
        return 0 if opened is None else opened.searcher.num_docs

    def ids(self, collection: str) -> Iterator[str]:
        """Yield every chunk id in the collection."""
        with _unusable(collection):
            opened = self._open(collection)
            if opened is None or opened.searcher.num_docs == 0:
                return
            for _, address in opened.searcher.search(Query.all_query(), opened.searcher.num_docs, count=False).hits:
                yield str(opened.searcher.doc(address).get_first("id"))

    def check(self, collection: str) -> str:
        """Return what is wrong, in one sentence; empty when every file has its checksum, the collection opens, and
        every id can be read.
        """
        try:
            with _unusable(collection):
                damaged = self._damaged_files(self._path / collection)
            if damaged:  # it is not read as tantivy does: behind the end of a file that was cut there is no memory
                return f"{len(damaged)} files of the keyword index of {collection} are damaged"
            ids = list(self.ids(collection))
        except IndexUnavailableError as error:
            logger.warning("%s reason=%r", error, error.inner)
            return str(error)
        return "" if len(ids) == len(set(ids)) else f"{len(ids) - len(set(ids))} chunks are in {collection} twice"

    def _damaged_files(self, folder: Path) -> list[str]:
        """Return the files of the index that are not there, or not as they were written. Reads all of them."""
        damaged: list[str] = []
        for _ in range(LOOKS):
            signature = _signature(folder)
            if signature is None:
                return []
            damaged = [name for name in _files_of(folder) if not _has_its_checksum(folder / name)]
            damaged += [] if _has_noted_contents(folder) else [CONTENTS]
            if not damaged or signature == _signature(folder):
                break
        return damaged

    def is_gone(self, collection: str) -> bool:
        """Return whether the collection has been opened or written, and is not on disk any more."""
        with suppress(OSError):  # a disk that does not answer is another matter
            return collection in self._known and _signature(self._path / collection) is None
        return False

    def collections(self) -> list[str]:
        """Return the names of the collections that exist, sorted."""
        with _unusable("all collections"):
            return sorted(path.name for path in self._path.iterdir() if path.is_dir()) if self._path.is_dir() else []

    def rest(self) -> None:
        """Close indexes that nobody has searched for ``unused_s`` seconds: tantivy has a thread for each open one."""
        before = time.monotonic() - self._unused_s
        with self._lock:
            for collection in [name for name, used in self._used.items() if used < before]:
                del self._used[collection]
                self._opened.pop(collection, None)

    def close(self) -> None:
        """Release the open indexes."""
        with self._lock:
            self._opened.clear()

    def _open(self, collection: str) -> _Open | None:
        """Return the collection's current searcher; None when it was never written. For use within `_unusable`."""
        signature = _signature(f"{self._path}/{collection}")
        with self._lock:
            self._used[collection] = time.monotonic()
            opened = self._opened.get(collection)
            if opened is not None and opened.signature == signature:
                self._opened.move_to_end(collection)
                return opened
        if signature is None:
            if collection not in self._known:
                return None
            raise IndexUnavailableError(
                internal(
                    "the keyword index of %(collection)s was removed from disk; it is being rebuilt",
                    collection=collection,
                )
            )
        index = tantivy.Index.open(str(self._path / collection))
        searcher = index.searcher()
        having = lru_cache(KEPT_COUNTS)(partial(searcher.doc_freq, "body"))
        opened = _Open(index, searcher, having, *_size_seen_by_bm25(self._schema, searcher), signature)
        with self._lock:
            self._opened[collection] = opened
            self._known.add(collection)
            while len(self._opened) > self._max_open:
                self._opened.popitem(last=False)
        return opened


def _like(schema: tantivy.Schema, beginning: str) -> Query:
    """Return the condition that a token begins with letters that are at most one away from these.

    An expression is made once for all collections. A fuzzy query makes an automaton for each segment, which takes half
    a millisecond, and looking up its terms a twentieth of that.
    """
    letters = [re.escape(letter) for letter in beginning]
    parts = [(letters[:place], letters[place:]) for place in range(len(letters) + 1)]
    letter_more = [[*begin, ANY_LETTER, *rest] for begin, rest in parts]
    other_letter = [[*begin, ANY_LETTER, *rest[1:]] for begin, rest in parts[:-1]]
    letter_less = [[*begin, *rest[1:]] for begin, rest in parts[:-1]]
    swapped = [[*begin, rest[1], rest[0], *rest[2:]] for begin, rest in parts[:-2]]
    near = dict.fromkeys(map("".join, (*letter_more, *other_letter, *letter_less, *swapped)))
    return Query.regex_query(schema, "body", f"({'|'.join(near)}).*")


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("id", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("probe", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("body", stored=False, tokenizer_name="whitespace", index_option="freq")
    builder.add_integer_field("dataset_id", stored=False, indexed=True)
    builder.add_integer_field("document_id", stored=False, indexed=True, fast=True)
    for half in ID_HALVES:
        builder.add_integer_field(half, stored=False, indexed=False, fast=True)
    return builder.build()


def _halves(chunk_id: str) -> tuple[int, ...]:
    """Return both halves of an id of 32 hexadecimal digits as signed numbers; nothing for another id."""
    try:
        digits = bytes.fromhex(chunk_id)
    except ValueError:
        return ()
    return struct.unpack(">qq", digits) if digits.hex() == chunk_id and len(chunk_id) == ID_DIGITS else ()


def _ids(searcher: tantivy.Searcher, addresses: list[tantivy.DocAddress]) -> list[str]:
    """Return the chunks' ids in the order of their addresses."""
    halves: list[list[Any]] = [searcher.fast_field_values(half, addresses) for half in ID_HALVES] if addresses else []
    if not halves or any(None in half for half in halves):  # ids that are not Braid's own
        return [str(searcher.doc(address).get_first("id")) for address in addresses]
    digits = np.array(halves, dtype=">i8").T.tobytes().hex()
    return [digits[start : start + ID_DIGITS] for start in range(0, len(digits), ID_DIGITS)]


def _best(searcher: tantivy.Searcher, query: Query, n: int) -> list[_Found]:
    return searcher.search(query, n, count=False).hits


def _count(searcher: tantivy.Searcher, query: Query) -> int:
    return int(searcher.search(query, 1, count=True).count)  # type: ignore[attr-defined]  # missing in tantivy's types


def _signature(folder: Path | str) -> tuple[int, int, int] | None:
    """Return a value that changes with every commit and every damage to tantivy's table of contents."""
    try:
        stat = os.stat(f"{folder}/{CONTENTS}")
    except (FileNotFoundError, NotADirectoryError):
        return None
    return (stat.st_mtime_ns, stat.st_size, stat.st_ino)


def _files_of(folder: Path) -> list[str]:
    """Return the names of the files in tantivy's table of contents. Raises ValueError for one that is damaged."""
    files: list[str] = []
    try:
        for segment in json.loads((folder / CONTENTS).read_bytes())["segments"]:
            name, deletes = segment["segment_id"].replace("-", ""), segment["deletes"]
            files += (f"{name}.{ending}" for ending in SEGMENT_FILES)
            files += [f"{name}.{deletes['opstamp']}.del"] if deletes else []
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError("the table of contents has no list of segments") from error
    return files


def _note_contents(folder: Path) -> None:
    """Note the checksum of tantivy's table of contents, and of which commit it is."""
    contents = (folder / CONTENTS).read_bytes()
    (folder / NOTE).write_text(f"{json.loads(contents)['opstamp']} {zlib.crc32(contents)}")


def _has_noted_contents(folder: Path) -> bool:
    """Return whether the table of contents is as it was noted; True for that of a commit whose note was not written,
    since the process was killed, or the index is of an earlier version.
    """
    with suppress(OSError, ValueError, KeyError, TypeError):
        opstamp, checksum = map(int, (folder / NOTE).read_text().split())
        contents = (folder / CONTENTS).read_bytes()
        return json.loads(contents)["opstamp"] != opstamp or zlib.crc32(contents) == checksum
    return True


def _has_its_checksum(path: Path) -> bool:
    """Return whether a file of tantivy's is there, and its contents have the checksum at its end."""
    with suppress(FileNotFoundError, ValueError, KeyError, TypeError), path.open("rb") as file:
        left = file.seek(0, os.SEEK_END) - FOOTER.size
        length, magic = FOOTER.unpack(_read_at(file, left, FOOTER.size))
        left -= length
        told, found = json.loads(_read_at(file, left, length))["crc"], 0
        file.seek(0)
        while left > 0 and (part := file.read(min(left, READ_BYTES))):
            found, left = zlib.crc32(part, found), left - len(part)
        return bool(magic == MAGIC and found == told)
    return False


def _read_at(file: BinaryIO, place: int, size: int) -> bytes:
    """Return the bytes at a place. Raises ValueError where the file is too short."""
    if place < 0:
        raise ValueError(f"there is no byte {place}")
    file.seek(place)
    return file.read(size)


def _size_seen_by_bm25(schema: tantivy.Schema, searcher: tantivy.Searcher) -> tuple[int, float]:
    """Return the number of documents and their average length as BM25 uses them.

    tantivy has them only in the explanation of a score; ``probe`` holds one word of each chunk to get one.
    """
    without_words = Query.term_query(schema, "probe", "", "basic")
    query = Query.boolean_query([(Occur.Must, Query.all_query()), (Occur.MustNot, without_words)])
    for _, address in searcher.search(query, 1, count=False).hits:
        query = Query.term_query(schema, "body", str(searcher.doc(address).get_first("probe")), "freq")
        for _, found in searcher.search(query, 1, count=False).hits:
            factors = _factors(json.loads(query.explain(searcher, found).to_json()))
            return int(factors["N"]), factors["avgdl"]
    return searcher.num_docs, 0.0


def _factors(explanation: Mapping[str, object]) -> dict[str, float]:
    found = {str(explanation["description"]).split(",")[0]: float(str(explanation["value"]))}
    details = explanation.get("details")
    for detail in details if isinstance(details, list) else []:
        found.update(_factors(detail))
    return found


def _unusable(collection: str) -> Unusable:
    return Unusable("the keyword index of %(collection)s", collection, (ValueError, OSError), or_panic=True)
