"""What a question is about as a whole: a document, or the difference of two; and what is said of it."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from braid.core.chat.asking.follow_up import content_words
from braid.core.chat.citations import Citation
from braid.core.chat.lookups.lookup import Lookup
from braid.core.chat.lookups.two_things import named_things
from braid.core.chat.quoting.extractive import Extract
from braid.core.chat.quoting.logs import without_numbers
from braid.core.chat.quoting.wanted import without_asking
from braid.core.chat.texts import Language
from braid.core.chat.whole.changes import Compared, Read, compare_documents, tell_changes, told_changes
from braid.core.chat.whole.find import (
    ALL_OF_IT,
    SUMMARY,
    WholeDocument,
    asks_for_whole,
    find_whole,
    passages_of,
    whole_dataset,
    whole_of,
)
from braid.core.chat.whole.find import Read as ReadPassages
from braid.core.chat.whole.outline import outline
from braid.core.chat.whole.pairs import asks_for_changes, pair_meant, without_versions
from braid.core.chat.whole.versions import asks_for_versions, find_versions, tell_versions
from braid.core.errors import Reason
from braid.core.ledger.ledger import Ledger
from braid.core.metadata.where import Condition, parse_where
from braid.core.models.untrusted_text import as_data
from braid.core.search.term_weights import TermWeights
from braid.core.text.analyzer import Analyzer
from braid.core.types import Filters, Hit, Passage, Scope

MOST_COMPARED = 2_000
"""Passages of each of two documents that are compared."""
LEAST_ABOUT = 0.6
"""Least part of the best difference's words of the question for another difference to be one that is asked for."""
_ALL = re.compile(
    r"\b(?:what(?:['’]s)?|chang\w{1,4}|differ\w{0,6}|compar\w{1,6}|versus|vs|between|since|from|new|main|important|key|all|every|please|list|show|tell|documents?|files?|versions?|editions?|texts?|years?"
    r"|releases?d?|updates?d?|features?|notes|latest|newest|current|recent|come|came|made|happen\w{0,3})\b"
    r"|違|異な|変更|[どう何]{0,3}変わ|改正|改定|差分|相違|差異|比較|比べ|主な|主要|重要|すべて|全て|教えて|挙げ|一覧|文書|ファイル|資料|点|最新|バージョン|リリース|更新|新しい|新機能|機能|[版判]|以[降来後]"
    r"|(?:사항|차이|다른|달라|다릅|바뀌|바뀐|변경|변화|변했|비교|개정|주요|중요|모두|모든|알려|주세요|문서|파일|목록|어떻게|무엇|최신|최근|버전|릴리스|업데이트|새로|이후|이래)\w{0,8}",
    re.IGNORECASE,
)
"""Words of a question about changes by which no change is meant rather than another one."""

_OF_REQUEST = re.compile(
    r"\b(?:an?|the|give|me|my|our|your|you|can|could|please|these|those|this|selected|whole|entire|short|brief|quick|of|in)\b"
    r"|(?:を)?(?:して)?(?:ください|下さい|ほしい|欲しい)|これら|この|全体|해 ?(?:주세요|줘)|주세요|이 |전체",
    re.IGNORECASE,
)
"""Words of a request for a summary that say nothing of what it is about."""
_DATASET = re.compile(r"\bdatasets?\b|データセット|데이터셋", re.IGNORECASE)

Whole = WholeDocument | Compared


@dataclass(frozen=True, slots=True)
class WholeFinder:
    """Finds what a question is about as a whole, within a turn's scope and filters.

    ``by_title`` searches for the documents that a text names.
    """

    ledger: Ledger
    scope: Scope
    filters: Filters
    term_weights: TermWeights
    by_title: Callable[[str], Sequence[Hit]]

    def find(self, question: str, query: str, first: Sequence[Hit]) -> Whole | None:
        """Return the document, or the two, that a question is about; None for any other question.

        ``query`` is the question with what it leaves out of the turns before it; ``first`` is what was found for it.
        """
        asks, changes, versions = asks_for_whole(question), asks_for_changes(question), asks_for_versions(question)
        if asks is None and not changes and not versions:
            return None
        if asks == "summary" and (dataset := self._dataset_of_filters(question)):
            return dataset
        named = self._named_by_filters() if self.filters != Filters() else []
        if changes and (compared := self._compare(query, first, named)):
            return compared
        read = partial(passages_of, self.ledger, self.scope, self.filters)
        if versions and (log := self._log(query, first, read)):
            return log
        if asks is None:
            return None
        if len(named) == 1:
            return whole_of(asks, named[0], read, is_selection=self.filters.of_passages)
        dataset = self._dataset(question) if asks == "summary" else None
        if dataset is not None and _DATASET.search(question):
            return dataset
        found = [*first, *self.by_title(query)]
        weigh, analyzer = self.term_weights.known, self.term_weights.analyzer
        return find_whole(question, query, found, weigh, analyzer, read) or dataset

    def _named_by_filters(self) -> list[Passage]:
        """Return a passage of each document that the filters select, where these are one or two."""
        ids, _ = self.ledger.matching_documents(self.scope.dataset_ids, self.filters, limit=3)
        several = [self.ledger.document_passages(int(each), self.scope.dataset_ids, limit=1) for each in sorted(ids)]
        return [passages[0] for passages in several if passages] if len(ids) < 3 else []

    def _dataset_of_filters(self, question: str) -> WholeDocument | None:
        """Return the one dataset that the filters are, where all of it is asked for, whatever name the question quotes:
        it is shown under another one in other languages.
        """
        where = parse_where(self.filters.metadata)
        if self.filters != Filters(metadata=self.filters.metadata) or not isinstance(where, Condition):
            return None
        rest = _without_quoted(question)
        if where.key != "dataset_id" or asks_for_changes(rest) or not ALL_OF_IT.search(rest) or _names_more(rest):
            return None
        meant = [each for each in self.ledger.datasets_of(self.scope) if where.values == (each.id, each.id)]
        return whole_dataset(self.ledger, meant[0], self.filters) if meant else None

    def _dataset(self, question: str) -> WholeDocument | None:
        """Return the dataset that a question names, or the only one that is searched, where all of it is asked for."""
        datasets, asked = self.ledger.datasets_of(self.scope), question.casefold()
        named = [each for each in datasets if len(each.name) > 1 and each.name.casefold() in asked]
        meant = named if ALL_OF_IT.search(question) and named else datasets
        if (
            len(meant) != 1
            or not ALL_OF_IT.search(question)
            or _names_more(asked.replace(meant[0].name.casefold(), " "))
        ):
            return None
        return whole_dataset(self.ledger, meant[0], self.filters)

    def _compare(self, query: str, first: Sequence[Hit], named: Sequence[Passage]) -> Compared | None:
        analyzer = self.term_weights.analyzer
        pair = (named[0], named[1]) if len(named) == 2 else None
        if pair is None:
            things = named_things(query)
            found = [*first, *self.by_title(query)]
            for name in things.names if things else ():
                found += self.by_title(name)
            pair = pair_meant(query, [hit.passage for hit in found], self.term_weights.known, analyzer)
        if pair is None:
            return None
        titles = " ".join(f"{each.title} {each.source}" for each in pair)
        about = partial(_asked_for, analyzer, _aspect(query, analyzer, titles))
        return compare_documents(self._read(pair[0]), self._read(pair[1]), analyzer, about=about)

    def _log(self, query: str, first: Sequence[Hit], read: ReadPassages) -> WholeDocument | None:
        analyzer = self.term_weights.analyzer
        aspect, about = partial(_aspect, without_numbers(query), analyzer), partial(_asked_for, analyzer)
        return find_versions(query, [*first, *self.by_title(query)], read, aspect, about)

    def _read(self, passage: Passage) -> Read:
        hits, total = passages_of(self.ledger, self.scope, self.filters, passage, limit=MOST_COMPARED)
        return Read(passage.title or passage.source, hits, total)


def tell(whole: Whole, citations: Sequence[Citation], analyzer: Analyzer, language: Language) -> Extract:
    """Return the answer without a model."""
    if isinstance(whole, Compared):
        return tell_changes(whole, citations, analyzer, language)
    if whole.asks == "versions":
        return tell_versions(whole, citations, language)
    return outline(whole, citations, analyzer, language)


def told(whole: Whole | None, *, by_notes: bool = False) -> str:
    """Return what the passages, or the notes of them, are, to follow the question in the prompt of a model."""
    if whole is None:
        return ""
    if isinstance(whole, Compared):
        return f"\n\n({as_data(told_changes(whole))})"
    more = "" if whole.is_whole or whole.asks == "versions" else " Say that the rest of it was not read."
    notes = "notes, taken part by part, of " if by_notes else ""
    kind = "dataset" if whole.by_document else "document"
    return f"\n\n(The passages are {notes}{whole.part} of the {kind} {as_data(whole.title)!r}, in order.{more})"


def lookups_of(whole: Whole, *, is_cut: bool = False) -> tuple[Lookup, ...]:
    """Return what was read, as a page shows it; of a document that ``is_cut`` the prompt had no room for more."""
    if isinstance(whole, Compared):
        return tuple(
            Lookup("read", each.title, "document", each.total, len(each.hits), problem=_part(each))
            for each in (whole.old, whole.new)
        )
    part = "" if whole.is_whole else whole.part
    if part and is_cut:
        part = Reason("%(reason)s; the prompt has no room for more", reason=part)
    return (Lookup("read", whole.title, "document", whole.total, len(whole.hits), problem=part),)


def _part(read: Read) -> str:
    return (
        ""
        if read.is_whole
        else Reason("the first %(count)s of %(total)s passages", count=len(read.hits), total=read.total)
    )


def _aspect(query: str, analyzer: Analyzer, titles: str) -> list[frozenset[str]]:
    """Return the words of a question about two documents that name neither these nor that they differ."""
    left = without_versions(_ALL.sub(" ", without_asking(query)))
    named = frozenset(analyzer.tokens(titles))
    return [terms for terms in content_words(left, analyzer).values() if not terms <= named]


def _without_quoted(question: str) -> str:
    """Return a question without what stands between its first opening and its last closing quotation mark."""
    start = min((at for mark in '“「『"' if (at := question.find(mark)) >= 0), default=-1)
    end = max(question.rfind(mark) for mark in '”」』"')
    return f"{question[:start]} {question[end + 1 :]}" if 0 <= start < end else question


def _names_more(question: str) -> bool:
    """Return whether a request for a summary of all documents is about something in them, by its other words."""
    for words in (SUMMARY, ALL_OF_IT, _ALL, _OF_REQUEST):
        question = words.sub(" ", question)
    return re.search(r"[^\W_]{2}", question) is not None


def _asked_for(analyzer: Analyzer, words: Sequence[frozenset[str]], texts: Sequence[str]) -> list[int]:
    """Return the places of the texts that have the words, weighed by rarity, of those that some text has; none where
    none, or each of them, has half of the words.
    """
    terms = [frozenset(analyzer.tokens(text)) for text in texts]
    having = [frozenset(place for place, word in enumerate(words) if word <= own) for own in terms]
    counts = Counter(place for own in having for place in own)
    weights = {place: math.log(1 + len(texts) / count) for place, count in counts.items()}
    scores = [sum(weights[place] for place in own) if 2 * len(own) >= len(words) else 0.0 for own in having]
    best = max(scores, default=0.0)
    meant = [place for place, score in enumerate(scores) if score >= LEAST_ABOUT * best > 0]
    return meant if len(meant) < len(texts) else []
