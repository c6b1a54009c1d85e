"""Questions about a whole document: "Summarise the handbook", "What are the deadlines in the contract?"."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Literal

from braid.core.chat.lookups.tools import hits_of
from braid.core.chat.quoting.wanted import years_in
from braid.core.errors import Reason
from braid.core.ledger.ledger import Ledger
from braid.core.text.analyzer import Analyzer
from braid.core.text.scripts import may_be_same_language
from braid.core.types import Dataset, Filters, Hit, Passage, Scope

MOST_PASSAGES, MOST_DOCUMENTS = 400, 200
"""Passages of a document or a dataset that are read, and documents of a dataset; the rest is said to be left out."""
LEAST_OF_TITLE = 0.6
"""Least share of the words of a title, without years, that a question names for its document to be meant."""
Asks = Literal["summary", "dates", "amounts", "versions"]
Weigh = Callable[[Collection[str]], Mapping[str, float]]
"""Terms → their idf, without those that no passage has."""
Read = Callable[[Passage], tuple[Sequence[Hit], int]]
"""A passage → the passages of its document that may be read, and how many there are."""
SUMMARY = re.compile(
    r"\b(?:summari[sz]e|summari[sz]ing|summary of|overview of|outline of|outline the|sum up|give me the gist)\b"
    r"|要約|まとめて|概要|要点|あらまし|요약|개요|간추려|정리해",
    re.IGNORECASE,
)
_DATES = re.compile(
    r"\b(?:deadlines|due dates|dates|notice periods|time limits)\b"
    r"|期限|締め?切り?|期日|日付の?一覧|기한|마감일|날짜(?:를|들)",
    re.IGNORECASE,
)
_AMOUNTS = re.compile(
    r"\b(?:amounts|fees|prices|costs|sums of money|payments)\b"
    r"|金額|費用の?一覧|料金の?一覧|금액|요금(?:을|들)|비용(?:을|들)",
    re.IGNORECASE,
)
ALL_OF_IT = re.compile(
    r"\b(?:documents?|files?|datasets?|library|everything|texts?|papers?)\b"
    r"|文書|文章|ファイル|資料|データセット|書類|문서|파일|자료|데이터셋",
    re.IGNORECASE,
)
"""Words for all that is searched, where no document is named."""
_LANGUAGE_NAMES = {
    "en": "english|英語|英文|영어|영문",
    "ja": "japanese|日本語|和文|일본어|일어",
    "jp": "japanese|日本語|和文|일본어|일어",
    "ko": "korean|韓国語|한국어|한글",
    "kr": "korean|韓国語|한국어|한글",
    "zh": "chinese|中国語|중국어",
    "de": "german|ドイツ語|독일어",
    "fr": "french|フランス語|프랑스어|불어",
    "es": "spanish|スペイン語|스페인어",
    "it": "italian|イタリア語|이탈리아어",
    "pt": "portuguese|ポルトガル語|포르투갈어",
    "nl": "dutch|オランダ語|네덜란드어",
    "sv": "swedish|スウェーデン語|스웨덴어",
    "ru": "russian|ロシア語|러시아어",
}
"""How a question names the language of a translation."""
LANGUAGE_OF_FILE = re.compile(r" (en|ja|jp|ko|kr|zh|de|fr|es|it|pt|nl|sv|ru)$", re.IGNORECASE)
"""The language at the end of a file's name, which is no word of what it is called."""
_BETWEEN_PARTS = re.compile(r"(?<=[^\W_])(?:[_-]+|\.(?!\d)|(?<!\d)\.)(?=[^\W_])")
_LISTS = re.compile(
    r"\b(?:list|what are|which|name|show|give me|all|every)\b"
    r"|何ですか|挙げ|一覧|すべて|全て|教えて|모두|모든|나열|무엇|알려|목록",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class WholeDocument:
    """A document that a question is about as a whole, and its passages in order, as far as they were read."""

    asks: Asks
    title: str
    hits: tuple[Hit, ...]
    total: int
    """Passages of the document; more than there are hits where the rest did not fit, or was not asked about."""
    by_document: bool = False
    """Whether these are the first passages of each document of a dataset, of which ``title`` is the name."""
    is_selection: bool = False
    """Whether filters select among its passages, such as those of one page."""
    lines: frozenset[tuple[str, str]] = frozenset()
    """Of a log the versions that are meant, each with a text below it; none where no newer one is there."""

    @property
    def part(self) -> str:
        """What the hits are of the document."""
        if self.is_whole:
            return "all passages"
        if self.is_selection:
            return Reason(
                "%(count)s of %(total)s passages, those that were asked about", count=len(self.hits), total=self.total
            )
        return Reason("the first %(count)s of %(total)s passages", count=len(self.hits), total=self.total)

    @property
    def is_whole(self) -> bool:
        """Whether all passages are there."""
        return len(self.hits) == self.total

    def within(self, hits: Sequence[Hit]) -> WholeDocument:
        """Return the document with these of its passages alone."""
        return replace(self, hits=tuple(hits))


def asks_for_whole(question: str) -> Asks | None:
    """Return what a question wants of a whole document; None for any other question.

    >>> asks_for_whole("Summarise the employee handbook"), asks_for_whole("契約書の期限をすべて挙げてください")
    ('summary', 'dates')
    >>> asks_for_whole("When is the office open?") is None
    True
    """
    if SUMMARY.search(question):
        return "summary"
    if not _LISTS.search(question):
        return None
    if _DATES.search(question):
        return "dates"
    return "amounts" if _AMOUNTS.search(question) else None


def find_whole(
    question: str,
    query: str,
    found: Sequence[Hit],
    weigh: Weigh,
    analyzer: Analyzer,
    read: Read,
) -> WholeDocument | None:
    """Return the document that a question is about as a whole, among those found; None where it is about none.

    ``query`` is the question with what it leaves out of the turns before it. Where dates or amounts are asked for, the
    best passage found must be that document's, too.
    """
    asks = asks_for_whole(question)
    if asks is None or not found:
        return None
    meant = document_meant(query, [hit.passage for hit in found], weigh, analyzer)
    if meant is None or (asks != "summary" and meant.document_id != found[0].passage.document_id):
        return None  # a title's words are in other questions, too: what costs a pump, what are the dates of a course
    return whole_of(asks, meant, read)


def whole_of(asks: Asks, meant: Passage, read: Read, *, is_selection: bool = False) -> WholeDocument | None:
    """Return the document of a passage; None where nothing of it may be read."""
    hits, total = read(meant)
    title = meant.title or meant.source
    return WholeDocument(asks, title, tuple(hits), total, is_selection=is_selection) if hits else None


def whole_dataset(ledger: Ledger, dataset: Dataset, filters: Filters) -> WholeDocument | None:
    """Return the first passages of each document of a dataset, as many of each; of a single one that document. None
    where there are none.
    """
    documents = [each for each in ledger.documents(dataset.id, limit=MOST_DOCUMENTS) if each.chunks]
    of_each = max(1, MOST_PASSAGES // max(1, len(documents)))
    ids = [
        passage.chunk_id
        for document in documents
        for passage in ledger.document_passages(document.id, [dataset.id], limit=of_each)
    ]
    hits = hits_of(ledger, ids, [dataset.id], filters)
    if not hits:
        return None
    is_one, first = len(documents) == 1, hits[0].passage
    title = (first.title or first.source) if is_one else dataset.name
    return WholeDocument("summary", title, hits, max(dataset.chunks, len(hits)), by_document=not is_one)


def document_meant(question: str, found: Sequence[Passage], weigh: Weigh, analyzer: Analyzer) -> Passage | None:
    """Return a passage of the document whose title or file name the question names; None where it names none.

    Of several titles that the question has, the longest is meant; of several versions of one title the newest, or that
    of the year which the question names; of translations the one that the question names, or is written in.
    """
    asked, years = frozenset(analyzer.tokens(question)), years_in(question)
    names = [
        (passage, frozenset(analyzer.tokens(_without_years(LANGUAGE_OF_FILE.sub("", parts_of_name(name))))))
        for passage in found
        for name in (passage.title, PurePath(passage.source).stem)
        if name.strip()
    ]
    idf = weigh(frozenset[str]().union(*(words for _, words in names)))
    best: tuple[float, bool, float, bool, bool, str] = (0.0, False, 0.0, False, False, "")
    meant: Passage | None = None
    for passage, words in names:
        of_title = years_in(passage.title)
        total = sum(idf.get(word, 1.0) for word in words)
        share = sum(idf.get(word, 1.0) for word in words & asked) / total if total else 0.0
        if share < LEAST_OF_TITLE:
            continue
        language = LANGUAGE_OF_FILE.search(parts_of_name(PurePath(passage.source).stem))
        code = language[1].lower() if language else ""
        is_named = bool(code) and (code in asked or re.search(_LANGUAGE_NAMES[code], question.lower()) is not None)
        is_own = may_be_same_language(question, passage.text)
        key = (round(share, 3), bool(of_title & years), total, is_named, is_own, max(of_title, default=""))
        if key > best:
            best, meant = key, passage
    return meant


def passages_of(
    ledger: Ledger, scope: Scope, filters: Filters, passage: Passage, *, limit: int = MOST_PASSAGES
) -> tuple[tuple[Hit, ...], int]:
    """Return the first passages of a passage's document that scope and filters select, and how many it has."""
    all_of_it = ledger.document_passages(passage.document_id, scope.dataset_ids, limit=limit)
    hits = hits_of(ledger, [each.chunk_id for each in all_of_it], scope.dataset_ids, filters)
    document = ledger.document(passage.dataset_id, passage.source)
    return hits, max(document.chunks if document else 0, len(hits))


def parts_of_name(name: str) -> str:
    """Return a title or a file's name with blanks between its parts: people name *debian-faq.en* the Debian FAQ."""
    return _BETWEEN_PARTS.sub(" ", name)


def _without_years(title: str) -> str:
    return re.sub(r"(?<!\d)(?:19|20)\d\d(?!\d)年?", " ", title)
