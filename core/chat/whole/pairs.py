"""Questions about two documents, such as "What changed in the policy since 2023?", and which two are meant."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import PurePath

from braid.core.chat.whole.find import LANGUAGE_OF_FILE, LEAST_OF_TITLE, Weigh, parts_of_name
from braid.core.metadata.versions import VALID_FROM
from braid.core.text.analyzer import Analyzer
from braid.core.text.scripts import may_be_same_language
from braid.core.types import Passage

CHANGES = re.compile(
    r"\bwhat (?:has |have |had |was |were |is )?(?:been )?chang(?:ed|es)\b"
    r"|\bwhat(?:'s| is| was| are)? (?:new|different)\b"
    r"|\bhow (?:has|have|had|did|does|do|is|are)\b[^.?!]{0,80}?\b(?:changed?|differ|different)\b(?! the| an?\b| my\b)"
    r"|\b(?:differences?|differs?)\b|\bchanges? (?:between|from|since|in|to|of)\b"
    r"|\b(?:compare[ds]?|comparison|comparing|versus|vs)\b"
    r"|違い|違う|違って|異な|変更(?:点|内容|箇所|され|した)|[何どこ]が変|どう変|変わっ|変わり|変わる"
    r"|改正|改定(?!版)|差分|相違|差異|比較|比べ"
    r"|차이|다른 ?점|[어무]\w{1,3} 다른|달라|다릅|바뀌|바뀐|변경(?:된|되|사항| 사항|점| 내용)|변화|변했|비교"
    r"|개정(?!판)",
    re.IGNORECASE,
)
"""Wordings that ask for what differs; found in a question, they are no words of a title or of a section."""
_DIGITS = r"\d{1,4}(?:\.\d{1,4}){0,3}"
_VERSION = re.compile(
    r"(?<![\d.])(?:19|20)\d\d(?!\.?\d)(?:\s?[年년]度?도?[版판]?)?"
    rf"|\b(?:version|ver|v|revision|rev|edition|ed)s?[. _-]?(?P<number>{_DIGITS}|[a-d])(?![^\W_])"
    r"|(?<!\d)(?P<nth>\d{1,4})(?:st|nd|rd|th) (?:edition|version|revision)\b"
    rf"|(?:第|제)?(?<![\d.])(?P<edition>{_DIGITS})\s?(?:版|판)"
    r"|\b(?:old|new|draft|final|previous|current|latest|revised|original)\b"
    r"|旧版?|新版?|改[訂定]版|初版|草案|現行|최종|초안|개정판|구판|신판|현행",
    re.IGNORECASE,
)
_NUMBER = re.compile(rf"(?<![\d.]){_DIGITS}(?!\.?\d)")
_SINCE = re.compile(r"\b(?:since|from|after)\b|以降|以来|から|이후|이래|부터", re.IGNORECASE)
_FIRST = frozenset(("old", "draft", "previous", "original", "旧", "旧版", "初版", "草案", "초안", "구판"))
"""Words for the earlier one of two versions."""
MOST_CANDIDATES = 40
"""Documents of which two are chosen."""


@dataclass(frozen=True, slots=True)
class NamedDocument:
    """A document that a question may name: its words without those of its version, and what its version is called."""

    passage: Passage
    words: frozenset[str]
    versions: frozenset[str]
    share: float
    """Share of its words that the question has, weighed by idf."""

    def is_named_by(self, asked: Collection[str]) -> bool:
        """Return whether the question names the version."""
        return not self.versions.isdisjoint(asked)


def asks_for_changes(question: str) -> bool:
    """Return whether a question asks for what differs.

    >>> asks_for_changes("What changed in the travel policy?"), asks_for_changes("出張規程の変更点は？")
    (True, True)
    >>> asks_for_changes("When is the office open?")
    False
    """
    return CHANGES.search(question) is not None


def without_versions(text: str) -> str:
    """Return a text without what it calls versions: years, numbers of editions, and words such as *draft*."""
    return _VERSION.sub(" ", text)


def pair_meant(
    question: str, found: Sequence[Passage], weigh: Weigh, analyzer: Analyzer
) -> tuple[Passage, Passage] | None:
    """Return a passage of each of the two documents whose difference is asked for, the earlier version first.

    Two are meant that the question names by their titles, or two versions of one title: those that the question names,
    else the newest and, of the others, the newest. None where there are no two.
    """
    named = _named(question, found, weigh, analyzer)
    asked = _versions(question) | frozenset(_NUMBER.findall(_plain(question)))
    for first, second in _by_promise(named, asked, since=_SINCE.search(question) is not None):
        if first.words != second.words and not _name_each_other(first, second, question, analyzer):
            continue
        if first.words == second.words and not first.versions ^ second.versions and not _dates_differ(first, second):
            continue
        return _in_order(first, second, question)
    return None


def _named(question: str, found: Sequence[Passage], weigh: Weigh, analyzer: Analyzer) -> list[NamedDocument]:
    """Return the documents of which the question has enough words of the title or the file's name, each once; those in
    the question's language first.
    """
    asked = frozenset(analyzer.tokens(CHANGES.sub(" ", question))) | frozenset(analyzer.tokens(question))
    by_id = {passage.document_id: passage for passage in reversed(found)}
    names = [
        (passage, _words(name, analyzer), _versions(name))
        for passage in list(reversed(by_id.values()))[:MOST_CANDIDATES]
        for name in (passage.title, PurePath(passage.source).stem)
        if name.strip()
    ]
    idf = weigh(frozenset[str]().union(*(words for _, words, _ in names)))
    best: dict[int, NamedDocument] = {}
    for passage, words, versions in names:
        total = sum(idf.get(word, 1.0) for word in words)
        share = sum(idf.get(word, 1.0) for word in words & asked) / total if total else 0.0
        known = best.get(passage.document_id)
        if share >= LEAST_OF_TITLE and (known is None or (share, bool(versions)) > (known.share, bool(known.versions))):
            best[passage.document_id] = NamedDocument(passage, words, versions, share)
    return sorted(best.values(), key=lambda each: not may_be_same_language(question, each.passage.text))


def _words(name: str, analyzer: Analyzer) -> frozenset[str]:
    """Return the words of a title or a file's name, without its version and its language."""
    parts = parts_of_name(_VERSION.sub(" ", _plain(name)))
    return frozenset(analyzer.tokens(LANGUAGE_OF_FILE.sub("", parts)))


def _by_promise(
    named: Sequence[NamedDocument], asked: Collection[str], *, since: bool
) -> list[tuple[NamedDocument, NamedDocument]]:
    """Return the pairs of documents, those that the question more probably means first.

    Of one version that is named, what it changed is asked for; with ``since``, what has changed after it.
    """

    def promise(pair: tuple[NamedDocument, NamedDocument]) -> tuple[bool, int, float, bool, list[tuple[int, ...]]]:
        older, newer = sorted(pair, key=_numbers)
        versions = sum(each.is_named_by(asked) for each in pair)
        is_way = versions != 1 or (older if since else newer).is_named_by(asked)
        share = sum(each.share for each in pair)
        return older.words == newer.words and versions == 2, versions, share, is_way, [_numbers(newer), _numbers(older)]

    return sorted(combinations(named, 2), key=promise, reverse=True)


def _name_each_other(first: NamedDocument, second: NamedDocument, question: str, analyzer: Analyzer) -> bool:
    """Return whether a question names two titles: each has words of it that the other has not, or both are in it as
    they are written.
    """
    asked = frozenset(analyzer.tokens(question))
    if (first.words - second.words) & asked and (second.words - first.words) & asked:
        return True
    text = _plain(question)
    longer, shorter = sorted((_plain(first.passage.title), _plain(second.passage.title)), key=len, reverse=True)
    return bool(shorter) and longer in text and shorter in text.replace(longer, " ")


def _dates_differ(first: NamedDocument, second: NamedDocument) -> bool:
    return _date(first) != _date(second)


def _in_order(first: NamedDocument, second: NamedDocument, question: str) -> tuple[Passage, Passage]:
    """Return the earlier version first; where nothing says which it is, the one that the question names first."""
    keys = [(_numbers(each), _date(each)) for each in (first, second)]
    early = [not each.versions.isdisjoint(_FIRST) for each in (first, second)]
    if early[0] != early[1]:
        is_first = early[0]
    elif keys[0] != keys[1]:
        is_first = keys[0] < keys[1]
    else:
        places = [_plain(question).find(_plain(each.passage.title)) for each in (first, second)]
        is_first = places[0] <= places[1] or places[1] < 0
    return (first.passage, second.passage) if is_first else (second.passage, first.passage)


def _numbers(named: NamedDocument) -> tuple[int, ...]:
    """Return the numbers of a version, the longest (a year) first; the parts of 2.10 one by one."""
    found = sorted((each for each in named.versions if each[0].isdigit()), key=len, reverse=True)
    return tuple(int(part) for each in found for part in each.split(".") if len(part) < 10)


def _date(named: NamedDocument) -> str:
    """Return since when a version is valid, by what its document says."""
    since: Mapping[str, object] = named.passage.metadata
    return str(since.get(VALID_FROM, ""))


def _versions(text: str) -> frozenset[str]:
    """Return what a text calls versions: years, numbers, and words such as *draft*."""
    found = set[str]()
    for match in _VERSION.finditer(_plain(text)):
        numbers = [each for each in match.groupdict().values() if each] or _NUMBER.findall(match[0])
        found.update(numbers or [match[0].lower()])
    return frozenset(found)


def _plain(text: str) -> str:
    return re.sub(r"[_\s]+", " ", unicodedata.normalize("NFKC", text)).casefold()
