"""Questions about the versions of one document, a log of changes: *What changed since 2.5?*, *What is the latest?*"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from braid.core.admission import give_way
from braid.core.chat.citations import Citation
from braid.core.chat.marks import mark
from braid.core.chat.quoting.extractive import Extract
from braid.core.chat.quoting.featured import one_line
from braid.core.chat.quoting.logs import LOG, NEWS, Numbers, Version, asks_since, days_in, numbers_in, told_of_versions
from braid.core.chat.texts import Language, say
from braid.core.chat.whole.find import Read, WholeDocument
from braid.core.chat.whole.outline import MOST_LINES
from braid.core.chat.whole.pairs import CHANGES
from braid.core.text.scripts import may_be_same_language
from braid.core.types import Hit

_LATEST = re.compile(
    r"\b(?:latest|newest|current|most recent|last) (?:\w+ )?(?:version|release|update|change|revision)s?\b"
    r"|\bwhat(?:['’]s| is) new\b|最新(?:の)?(?:版|バージョン|リリース|更新|変更)|最新は"
    r"|최신 ?(?:판|버전|릴리스|업데이트)|최근 ?(?:버전|업데이트|변경)|가장 최근",
    re.IGNORECASE,
)
MOST_LOGS = 10


def asks_for_versions(question: str) -> bool:
    """Return whether a question may be about versions of one document.

    >>> [asks_for_versions(text) for text in ("What's new since 2.5?", "最新バージョンは？", "What changed?")]
    [True, True, False]
    """
    if _LATEST.search(question):
        return True
    asks = CHANGES.search(question) or NEWS.search(question)
    return asks is not None and bool(numbers_in(question) or days_in(question))


def find_versions(
    question: str,
    found: Sequence[Hit],
    read: Read,
    aspect: Callable[[str], Sequence[frozenset[str]]],
    about: Callable[[Sequence[frozenset[str]], Sequence[str]], Sequence[int]],
) -> WholeDocument | None:
    """Return the log that a question is about, with what its versions that are meant say; None where none is found.

    That is the one that has the versions which the question names; where it names none, or days, the one whose title
    has the question's words. ``aspect`` returns these, but for those of a title, and ``about`` the places of the texts
    that have the given words.
    """
    having = {hit.passage.document_id for hit in found if [*told_of_versions(_cited(hit))]}
    first = {hit.passage.document_id: hit.passage for hit in reversed(found)}
    best: tuple[tuple[int, bool, bool], WholeDocument] | None = None
    words = aspect("")
    for passage in list(reversed(first.values()))[:MOST_LOGS]:
        left = aspect(f"{passage.title} {passage.source}")
        is_named = 2 * len(left) <= len(words)
        if passage.document_id not in having and not (LOG.search(passage.title) or (is_named and words)):
            continue
        give_way()
        hits, total = read(passage)
        told = [(hit, each) for hit in hits for each in told_of_versions(_cited(hit))]
        versions = list({version.name: version for _, (version, _, _) in told}.values())
        meant = _meant(question, versions, is_named=is_named) if len(versions) > 1 else None
        key = len(meant[0]) if meant else 0, is_named, may_be_same_language(question, passage.text)
        is_cut = len(hits) < total and bool(meant) and versions[0] == min(versions, key=_age)  # without the newest ones
        if meant is None or is_cut or not (meant[1] or asks_since(question)) or (best and best[0] >= key):
            continue
        lines = [(hit, (version.name, text)) for hit, (version, _, text) in told if version in meant[1]]
        lines = [lines[place] for place in about(left, [text for _, (_, text) in lines])] or lines
        newest = [hit for hit, (version, _, _) in told if version == _newest(versions)]
        of_it = tuple({hit.passage.chunk_id: hit for hit in [hit for hit, _ in lines] or newest}.values())
        kept, name = frozenset(line for _, line in lines), passage.title or passage.source
        best = key, WholeDocument("versions", name, of_it, total, is_selection=True, lines=kept)
    return best[1] if best else None


def tell_versions(whole: WholeDocument, citations: Sequence[Citation], language: Language) -> Extract:
    """Return what the versions that are meant say, each under its heading; or that there is no newer one."""
    told = [(each.number, *one) for each in citations for one in told_of_versions(each)]
    newest = [each for each in told if each[1] == _newest([version for _, version, *_ in told])]
    meant = [each for each in told if (each[1].name, each[3]) in whole.lines] if whole.lines else newest
    if not meant:
        return Extract("", False)
    lines = [say("versions" if whole.lines else "no_newer_version", language, title=one_line(whole.title)), ""]
    above: Sequence[str] = ()
    for number, _, headings, text in meant[:MOST_LINES]:
        if headings != above and headings:
            lines += [*([""] if above else []), f"**{' · '.join(map(one_line, headings))}** {mark(number)}"]
        lines += [f"- {one_line(text)} {mark(number)}"]
        above = headings
    if (more := len(whole.lines) - len({(version.name, text) for _, version, _, text in meant[:MOST_LINES]})) > 0:
        lines += ["", say("changes_left_out_bare", language, count=more)]
    return Extract("\n".join(lines), True)


def _cited(hit: Hit) -> Citation:
    return Citation(0, hit.passage, hit.passage.text)


def _meant(question: str, versions: Sequence[Version], *, is_named: bool) -> tuple[list[Numbers], list[Version]] | None:
    """Return which of a log's versions a question names, and those that it is about; None where it is about none."""
    if asked := numbers_in(question):
        there = [each for each in asked if any(_begins(version.numbers, each) for version in versions)]
        numbers = sorted(version.numbers for version in versions)
        if len(there) < len(asked):
            return None
        low = min(number for number in numbers if _begins(number, min(asked)))
        high = max(number for number in numbers if _begins(number, max(asked)))
        if len(asked) > 1:
            return there, [version for version in versions if low < version.numbers <= high]
        if asks_since(question):
            return there, [version for version in versions if version.numbers > low]
        return there, [version for version in versions if _begins(version.numbers, asked[0])]
    if not is_named or (days_in(question) and not any(each.day for each in versions)):
        return None
    if days := days_in(question):
        year = max(each.day for each in versions)[:1]
        low, high = sorted((*year, *day[1:]) if not day[0] else day for day in (days[0], days[-1]))
        high = (9999,) if len(days) == 1 and asks_since(question) else high
        return [], [each for each in versions if each.day[: len(low)] >= low and each.day[: len(high)] <= high]
    return [], [_newest(versions)]


def _begins(numbers: Numbers, asked: Numbers) -> bool:
    """Return whether numbers are those asked for, which may leave out the last ones."""
    return numbers[: len(asked)] == asked


def _newest(versions: Sequence[Version]) -> Version:
    return max(versions, key=_age)


def _age(version: Version) -> tuple[Numbers, bool, Numbers]:
    return version.numbers, version.is_final, version.day
