"""Spelling: words of a query that no passage has, and words of passages that may have been meant."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING

from rapidfuzz import process
from rapidfuzz.distance import OSA

from braid.core.errors import IndexUnavailableError
from braid.core.search.calls import Calls, Deadline
from braid.core.text.analyzer import Analyzer, without_particle
from braid.core.text.scripts import HAN, HANGUL, HIRAGANA, KOREAN, LATIN, script_of
from braid.core.text.stemming import fold
from braid.core.types import Scope

if TYPE_CHECKING:
    from braid.core.search.context import SearchContext

MAX_WORDS = 4
"""Unknown words of a query that are looked at; a text of more is no query with a slip in it."""
MAX_PASSAGES = 60
"""Passages that are read for words that begin alike, of all words and collections together."""
MAX_FOUND = 20
"""Passages that were found whose words are looked at first."""
MAX_WORD_CHARS = 40
LEAST_SIGNS = 5
"""Shortest word that is compared, in letters, kana or jamo: shorter ones are near to too many."""
LEAST_SYLLABLES = 3
"""Shortest word of Hangul: of two syllables, another letter makes another word (가상, 가장)."""
SIGNS_PER_SLIP, MOST_SLIPS = 4, 2
"""A word may differ by one sign from this length on, by two from twice this length on."""
LEAST_REPLACED = 8
"""Shortest word of Latin letters in which one may stand for another: in a shorter one that mostly makes another word
(cells, calls), and a slip is a letter too many, too few, or swapped with the next.
"""
_ENDINGS = frozenset(
    "가거게겠고구기까나네는니다던데도되된든들라려로록를리만며면서세습시아야어었에여와요으은을의이인자지한할함해했하"
)
"""Syllables of which endings and particles are made: another one there is another form of the word, and no slip."""
LEAST_STEM = 2
"""Syllables that a word of Hangul begins with and that are no ending."""
BEGINNING, LEAST_BEGINNING = 0.55, 4
"""Share of a word that its stem is not shorter than; and letters, of which fewer begin half of an index's words."""

# Han and hiragana have no spaces between words, so that only runs of katakana are words of Japanese.
_KATAKANA = "\u30a1-\u30fa\u30fc-\u30fe"
_WORD = re.compile(rf"[{HANGUL}]+|[{_KATAKANA}]+|(?:(?![{HIRAGANA}{_KATAKANA}{HAN}{HANGUL}])[^\W\d_])+")
_RUN = re.compile(r"[\w.@/\\:+#-]+")
_NAME = re.compile(r"\d|[_@/\\#]|[a-z][A-Z]|\w[.:+]\w")
"""What codes, addresses and files have, and words have not."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """Looks for other spellings in what one scope may read."""

    context: SearchContext
    scope: Scope

    def suggest(self, text: str, unknown: Collection[str], texts: Iterable[str]) -> str:
        """Return the text with near words in place of those that no passage has; empty where there is nothing to say.

        ``unknown`` are tokens that no passage of the scope has, ``texts`` those of passages that were found, best
        first. Only words of passages that the scope may read are suggested, and none for codes, addresses and numbers.
        Where most of the unknown Latin words are near to none, the text is about something else, and what is near is
        chance.
        """
        words = list(unknown_words(text, unknown, self.context.analyzer))
        if not 0 < len(words) <= MAX_WORDS:
            return ""
        known = words_of(islice(texts, MAX_FOUND))
        if unread := [word[0] for word in words if not nearest(word[0], known)]:
            known.update(words_of(self._texts_with_words_like(unread)))
        meant = [(word, best) for word in words if (best := nearest(word[0], known))]
        if len(words) - len(meant) > len(meant) and script_of(words[0][0][0]) == LATIN:
            return ""
        pieces: list[str] = []
        end = 0
        for word, best in meant:
            pieces += [text[end : word.start()], best]
            end = word.end()
        return "".join((*pieces, text[end:])) if end else ""

    def _texts_with_words_like(self, words: Sequence[str]) -> list[str]:
        """Return texts of passages with a word whose beginning is at most one letter away from that of one of these."""
        latin = [fold(word.lower()) for word in words if script_of(word[0]) == LATIN]
        beginnings = [word[: max(LEAST_BEGINNING, round(BEGINNING * len(word)))] for word in latin]
        asked = [(each, beginning) for each in self.scope.collections for beginning in beginnings]
        share = max(1, MAX_PASSAGES // max(1, len(asked)))
        calls = {
            (each.collection, beginning): partial(
                self.context.bm25.beginning_like, each.collection, beginning, share, dataset_ids=each.dataset_ids
            )
            for each, beginning in asked[:MAX_PASSAGES]
        }
        if not calls:
            return []
        deadline, ids = Deadline(self.context.leg_timeout_s), list[str]()
        looking = Calls(self.context.executors["bm25"], calls).start().hasten(deadline)
        for key in looking.keys:
            with suppress(IndexUnavailableError, TimeoutError):  # the search itself has said so
                ids += looking.result(key, deadline)
        found = self.context.ledger.passages(list(dict.fromkeys(ids)), self.scope.dataset_ids)
        return [passage.text for passage in found.values()]


def unknown_words(text: str, unknown: Collection[str], analyzer: Analyzer) -> Iterator[re.Match[str]]:
    """Yield the words of a query of whose tokens no passage has one; of Hangul and kana, those with an unknown pair."""
    names = [run.span() for run in _RUN.finditer(text) if _NAME.search(run[0])]
    for word in _WORD.finditer(text):
        if any(start <= word.start() < end for start, end in names):
            continue
        tokens = analyzer.tokens(word[0])
        if script_of(word[0][0]) in ("HANGUL", "KATAKANA"):
            is_unknown = any(token in unknown for token in tokens if len(token) > 1)
        else:
            is_unknown = bool(tokens) and all(token in unknown for token in tokens)
        if is_unknown and LEAST_SIGNS <= len(_signs(word[0])) <= MAX_WORD_CHARS * 3:
            yield word


def words_of(texts: Iterable[str]) -> Counter[str]:
    """Count the words of texts that others may be slips of."""
    counts: Counter[str] = Counter()
    for word, count in Counter(chain.from_iterable(map(_WORD.findall, texts))).items():
        if len(word) <= MAX_WORD_CHARS:
            counts[word.lower() if _is_latin(word) else word] += count
    return counts


def _is_latin(word: str) -> bool:
    return word.isascii() or script_of(word[0]) == LATIN


def nearest(word: str, known: Counter[str]) -> str:
    """Return the known word that the fewest slips lead to, the most frequent of these; empty where none is near."""
    stem = without_particle(word)
    if script_of(stem[0]) == KOREAN and len(stem) < LEAST_SYLLABLES:
        return ""
    signs = _signs(stem)
    counts: Counter[str] = Counter()
    written: dict[str, str] = {}
    script = script_of(word[0])
    for each, count in known.items():
        if script == LATIN:
            may_be = abs(len(each) - len(stem)) <= MOST_SLIPS and _is_latin(each)
        else:
            may_be = script_of(each[0]) == script
        if may_be:
            bare = without_particle(each)
            counts[_signs(bare)] += count
            written.setdefault(_signs(bare), bare)
    if signs in written:  # a passage has it after all
        return ""
    slips = min(MOST_SLIPS, len(signs) // SIGNS_PER_SLIP)
    found = process.extract(signs, list(written), scorer=OSA.distance, score_cutoff=slips, limit=20)
    near = (each for each in found if _may_be_meant(stem, written[each[0]], is_bare=stem == word))
    best = min(near, key=lambda each: (each[1], -counts[each[0]], each[0]), default=None)
    return "" if best is None else _cased(written[best[0]], stem) + word[len(stem) :]


def _may_be_meant(typed: str, known: str, *, is_bare: bool) -> bool:
    """Return whether a known word differs from the typed one as slips do, and not as another word or form does."""
    pairs = list(zip(typed.lower(), known.lower(), strict=False))
    differing = [place for place, (one, other) in enumerate(pairs) if one != other]
    if script_of(typed[0]) == LATIN and len(typed) == len(known) < LEAST_REPLACED:
        return len(differing) > 1  # two that are swapped
    if script_of(typed[0]) != KOREAN:
        return True
    ends_alike = is_bare or _has_final(typed[-1]) == _has_final(known[-1])  # the particle behind it goes with its end
    is_form = any(place >= LEAST_STEM and typed[place] in _ENDINGS for place in differing)
    return len(typed) == len(known) and ends_alike and not is_form


def _has_final(syllable: str) -> bool:
    """Return whether a syllable of Hangul ends in a consonant."""
    return len(unicodedata.normalize("NFD", syllable)) > 2


def _signs(word: str) -> str:
    """Return the word as it is compared: letters in lower case with their marks apart, Hangul as jamo."""
    return unicodedata.normalize("NFKD", word.lower())


def _cased(word: str, like: str) -> str:
    return word.upper() if like.isupper() else word.capitalize() if like[0].isupper() else word
