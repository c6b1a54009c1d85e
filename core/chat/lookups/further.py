"""A second search without a model: for what the first passages name but do not tell, and for what none of them has.

"In which room does the leader of Project Heron sit?" finds the sentence that names the leader; the room is in another
passage, which has the leader's name alone. So the names in the sentences that answer a part of the question are
searched for, with the words that these sentences lack. "A or B" is searched for each of both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from time import monotonic

from braid.core.admission import give_way
from braid.core.chat.asking.follow_up import content_words
from braid.core.chat.lookups.lookup import NO_BILL, Bill, Lookup, Why
from braid.core.chat.lookups.names import MOST_NAMES, Name, leads_on, possible_names
from braid.core.chat.lookups.two_things import named_things
from braid.core.chat.quoting.wanted import Wanted
from braid.core.search.term_weights import TermWeights
from braid.core.text.analyzer import Analyzer
from braid.core.text.scripts import HAN, HANGUL, HIRAGANA
from braid.core.text.sentences import sentences
from braid.core.types import MAX_QUERY_CHARS, Hit, Passage, SearchResult

MOST_SEARCHES = 2
MOST_TAKEN = 3
"""Passages of a further search that are added, at most."""
READ_HITS, READ_CHARS, READ_SENTENCES = 10, 4_000, 60
"""What is read of the first passages to find names: passages, characters of each, and sentences of all."""
LEADING = 4
"""Sentences whose names are looked at."""
ABOUT_CHARS = 40
"""Characters at a passage's beginning that say what it is about, beside its title and headings."""
COVERED = 0.97
"""Share of the question's terms in one passage from which nothing is missing."""
HEADING_WEIGHT = 0.5
"""Weight of a term that only the title or a heading has, where sentences are compared."""
FEW_PASSAGES, MOST_SHARE = 10, 0.05
"""A name leads on from one passage to another if no more passages, or no larger share of them, have it."""
LEAST_OF_BEST = 0.5
"""Least part of the best sentence's weight for another one to lead on."""
LEAST_MISSING = 0.25
"""Least share of the question's terms that no passage has, for these terms to be searched for."""
LEAST_GAIN = 0.1
"""Least share of the question's terms that two passages have together, above the best one alone, for the second one to
answer what the first one names."""
LEAST_TOGETHER = 0.9
"""Least share of the question's terms that these two have together."""
LATEST_S = 10.0
"""Seconds after the first search's beginning at which no further one begins."""

_SAYS_NOTHING = re.compile(
    rf"[{HANGUL}]"  # a particle behind a code or a number: P83의
    r"|person|people|somebody|someone|colleague|please|tell|name|names|called"
    r"|give|show|list|explain|describe|overview|summari[sz]e|compare"
    r"|一覧|要約|概要|説明|比較|(?:요약|비교|설명|정리)\w{0,4}|목록|해|줘"
    r"|[誰何人方教幾]|何[人番日時年月円歳個本回]|何号室|何曜日|教えて"
    r"|(?:누구|누가|무엇|무슨|어떤|언제|어디|어느|얼마)\w{0,4}|몇|며칠|알려|궁금\w{0,3}|주세요|사람\w?|번인가요|인가요",
    re.IGNORECASE,
)
"""Particles, and words that ask, which are in no passage as a part of the answer."""

_VERB = re.compile(f"(?<![{HAN}])[{HAN}](?=[{HIRAGANA}])(?![はがをにのとでへもやか])")
"""A verb or adjective of one kanji, 出す or 長い: other words may say the same, and the kanji is in others, 出席."""
_CODE = re.compile(r"(?=.{0,40}[A-Za-z])(?=.{0,40}\d)[\w./-]{2,40}", re.ASCII)
"""A code, such as P83 or E-104: a passage without it is about something else."""

Searches = Callable[[str], SearchResult]
"""Searches for a query as the first search was: in its scope, with its filters, strategy and reranker."""


@dataclass(frozen=True, slots=True)
class FurtherSearch:
    """A further search, and what a passage needs to have for it to be of use."""

    query: str
    why: Why
    names: tuple[frozenset[str], ...] = ()
    """The terms of each name that leads on."""
    words: frozenset[str] = frozenset()
    """The terms of the question that are looked for."""
    leads_from: str = ""
    """Chunk id of the passage with the names."""
    sentence: str = ""
    """The sentence of that passage that has the names."""
    about: str = ""
    """What is looked for, for people; empty where the query says it."""
    may_be_common: bool = False
    """Whether nothing in the letters of the names tells that they are some, so that a passage has to begin with one."""

    def is_met(self, terms: Collection[str]) -> bool:
        """Return whether a passage with these terms is about what is named, or has what no passage had."""
        if self.names:
            return any(name <= frozenset(terms) for name in self.names)
        return not self.words.isdisjoint(terms)


@dataclass(frozen=True, slots=True)
class QuotedPart:
    """A part of an answer without a model: the passages to quote, best first, and the terms to choose by."""

    chunk_ids: tuple[str, ...]
    terms: frozenset[str]
    text: str = ""
    """What is asked for in this part, where that is not the whole question."""


@dataclass(frozen=True, slots=True)
class FurtherResult:
    """A search with what further ones added to it."""

    search: SearchResult
    lookups: tuple[Lookup, ...] = ()
    bill: Bill = NO_BILL
    calculated: tuple[str, ...] = ()
    """What a model had calculated from tables, for the one that answers."""
    parts: tuple[QuotedPart, ...] = ()
    """The parts of an answer without a model, where there is more than one."""


class Further:
    """Searches further for one question. Reads the first passages, and asks no model.

    ``query`` is the question with what it leaves out of the turns before it.
    """

    def __init__(self, question: str, query: str, term_weights: TermWeights) -> None:
        self._question = question
        self._analyzer = term_weights.analyzer
        words = content_words(query, self._analyzer)
        words = {word: terms for word, terms in words.items() if not _SAYS_NOTHING.fullmatch(word)} or words
        verbs = frozenset(_VERB.findall(query))
        self._words = {word: terms for word, terms in words.items() if word not in verbs} or words
        self._known = term_weights.known(frozenset[str]().union(*self._words.values()))
        self._weights = {terms: _mean(self._known, terms) for terms in self._words.values()}
        """The terms of each word, as far as a passage has them, with their mean idf."""
        self._passages_with = term_weights.passages_with
        self._passages = term_weights.passages
        self._wanted = Wanted.of(question)

    def search(
        self, first: SearchResult, searches: Searches, *, stopped: Callable[[], bool], tell: Callable[[Lookup], object]
    ) -> FurtherResult:
        """Search up to twice more and return all passages, the first ones first. Each further search is told of.

        Nothing more is searched for where a part of the first search failed, or took long.
        """
        begun = monotonic() - first.timings_ms.get("total", 0.0) / 1000
        found, answered = FurtherResult(first), list[tuple[FurtherSearch, Sequence[Hit]]]()
        if not first.hits or any(part.leg != "model" for part in first.degraded):
            return found
        wishes = self.wishes(first.hits)
        while wishes and len(answered) < MOST_SEARCHES:
            wish = wishes.pop(0)
            if stopped() or monotonic() - begun > LATEST_S:
                break
            give_way()
            started = monotonic()
            more = searches(wish.query)
            useful = self._useful(wish, more.hits)
            merged = merge(found.search, more, useful)
            new = len(merged.hits) - len(found.search.hits)
            ms = (monotonic() - started) * 1000
            lookup = Lookup("search", wish.query, wish.why, len(more.hits), new, ms, about=wish.about)
            tell(lookup)
            found = FurtherResult(merged, (*found.lookups, lookup))
            answered.append((wish, useful))
            if wish.why == "words" and new:
                wishes += self._by_names(merged.hits[-new:])
        bill = Bill(1 + len(found.lookups), ms=sum(each.ms for each in found.lookups))
        return replace(found, bill=bill, parts=self._parts(answered, first))

    def _useful(self, wish: FurtherSearch, hits: Sequence[Hit]) -> list[Hit]:
        """Return the passages that meet a wish: those with the words that were missing first, wherever they are."""
        found = [(rank, hit, self._terms_of(hit.passage)) for rank, hit in enumerate(hits)]
        met = [
            (wish.words.isdisjoint(terms), rank, hit)
            for rank, hit, terms in found
            if wish.is_met(terms) and (rank < MOST_TAKEN or not wish.words.isdisjoint(terms))
            if not wish.may_be_common or self._begins_with(hit.passage, wish)
        ]
        return [hit for _, _, hit in sorted(met, key=lambda each: each[:2])[:MOST_TAKEN]]

    def wishes(self, hits: Sequence[Hit]) -> list[FurtherSearch]:
        """Return up to two further searches, the most promising first."""
        if things := named_things(self._question):
            return [
                FurtherSearch(query, "thing", (frozenset(self._analyzer.tokens(name)),))
                for name, query in zip(things.names, things.questions, strict=True)
            ]
        shares = [self._share(self._terms_of(hit.passage)) for hit in hits[:READ_HITS]]
        lacks_kind = all(self._wanted.lacks_kind(hit.passage.text) for hit in hits)
        if max(shares, default=0.0) >= COVERED and not lacks_kind:
            return []
        return (self._by_codes(hits) + self._by_names(hits))[:MOST_SEARCHES] or self._by_words(hits)

    def _by_codes(self, hits: Sequence[Hit]) -> list[FurtherSearch]:
        """Return a search for the codes of the question that the index has and no passage that was found."""
        there = frozenset[str]().union(*(self._terms_of(hit.passage) for hit in hits))
        codes = {
            word: terms
            for word, terms in self._words.items()
            if _CODE.fullmatch(word) and terms <= self._known.keys() and not terms <= there
        }
        missing = frozenset[str]().union(*codes.values()) - there
        return [FurtherSearch(" ".join(codes), "words", (), missing, about=", ".join(codes))] if codes else []

    def _by_names(self, hits: Sequence[Hit]) -> list[FurtherSearch]:
        """Return searches for names in the sentences that have most of the question."""
        read = list(self._read(hits))
        best = max((weight for weight, *_ in read), default=0.0)
        leading = [each for each in sorted(read, key=lambda each: -each[0]) if each[0] >= LEAST_OF_BEST * best > 0]
        found: list[FurtherSearch] = []
        known = [self._names(sentence, passage) for _, sentence, passage, _ in leading[:LEADING]]
        passages = self._passages_with({term for names in known for name in names for term in name.terms})
        most = max(FEW_PASSAGES, MOST_SHARE * self._passages()) if passages else 0.0
        for (_, sentence, passage, terms), possible in zip(leading, known, strict=False):
            rare = [name for name in possible if 0 < name.rarity(passages) <= most]
            names = sorted(rare, key=lambda name: name.rarity(passages))[:MOST_NAMES]
            names = [name for name in names if all(name.terms not in wish.names for wish in found)]
            words = {word: of_word for word, of_word in self._words.items() if not of_word <= terms}
            sought = frozenset[str]().union(*map(_whole, words.values())) & self._known.keys() - terms
            query = " ".join((*(name.text for name in names), *words))
            if names and sought and len(query) <= MAX_QUERY_CHARS:
                own = tuple(name.terms for name in names)
                about = ", ".join(name.text for name in names)
                common = not any(re.search(r"[A-Z0-9]", name.text) for name in names)
                found.append(FurtherSearch(query, "name", own, sought, passage.chunk_id, sentence, about, common))
        return found

    def _by_words(self, hits: Sequence[Hit]) -> list[FurtherSearch]:
        """Return a search for the words of the question that no passage has, if they weigh enough."""
        there = frozenset[str]().union(*(self._terms_of(hit.passage) for hit in hits))
        words = {
            word: terms for word, terms in self._words.items() if not terms <= there and terms <= self._known.keys()
        }
        missing = frozenset[str]().union(*words.values()) - there
        if not words or self._share(there) > 1 - LEAST_MISSING:
            return []
        return [FurtherSearch(" ".join(words), "words", (), missing, about=", ".join(words))]

    def _read(self, hits: Sequence[Hit]) -> list[tuple[float, str, Passage, frozenset[str]]]:
        """Return the sentences of the first passages: their weight, text, passage, and terms with those above them."""
        found: list[tuple[float, str, Passage, frozenset[str]]] = []
        for hit in hits[:READ_HITS]:
            passage = hit.passage
            above = frozenset(self._analyzer.tokens(f"{passage.title} {passage.heading_path}"))
            for sentence in sentences(passage.text[:READ_CHARS]):
                own = frozenset(self._analyzer.tokens(sentence)) if sentence.strip() else frozenset[str]()
                alone = self._share(own)
                weight = alone + HEADING_WEIGHT * (self._share(own | above) - alone)
                found.append((weight, sentence, passage, own | above))
                if len(found) == READ_SENTENCES:
                    return found
        return found

    def _share(self, terms: Collection[str]) -> float:
        """Return the share of the question's words that are there, weighed by idf; words that no passage has aside."""
        known = self._known.keys()
        there = sum(weight for word, weight in self._weights.items() if word & known <= frozenset(terms))
        total = sum(self._weights.values())
        return there / total if total else 0.0

    def _begins_with(self, passage: Passage, wish: FurtherSearch) -> bool:
        """Return whether a name is in the title or heading of a passage, or where its text begins."""
        above = f"{passage.title} {passage.heading_path} {passage.text[:ABOUT_CHARS]}"
        begin = frozenset(self._analyzer.tokens(above))
        return any(name <= begin for name in wish.names)

    def _is_about(self, passage: Passage, wish: FurtherSearch) -> bool:
        """Return whether a passage begins with a name, and a sentence tells of it what is looked for."""
        if not self._begins_with(passage, wish):
            return False
        above = frozenset(self._analyzer.tokens(f"{passage.title} {passage.heading_path}"))
        told = [above.union(self._analyzer.tokens(each)) for each in sentences(passage.text[:READ_CHARS])]
        return any(
            name <= terms and not wish.words.isdisjoint(terms) for terms in told[:READ_SENTENCES] for name in wish.names
        )

    def _names(self, sentence: str, passage: Passage) -> list[Name]:
        """Return the possible names of a sentence that neither the question has nor what is above its passage, of one
        in another language the proper names.
        """
        asked = frozenset[str]().union(*self._words.values())
        above = frozenset(self._analyzer.tokens(f"{passage.title} {passage.heading_path}"))
        names = possible_names(sentence, self._analyzer)
        names = [name for name in names if not name.terms & asked and not name.terms <= above]
        return [name for name in names if leads_on(name.text, self._question, passage.text)]

    def _terms_of(self, passage: Passage) -> frozenset[str]:
        return terms_of(passage, self._analyzer)

    def _parts(
        self, answered: Sequence[tuple[FurtherSearch, Sequence[Hit]]], first: SearchResult
    ) -> tuple[QuotedPart, ...]:
        """Return the parts of an answer: one for each thing; or where a name has led to, and the sentence with it."""
        if answered and answered[0][0].why == "thing":
            parts = [
                QuotedPart(_chunk_ids(useful), frozenset(self._analyzer.tokens(wish.query)), wish.query)
                for wish, useful in answered
                if useful
            ]
            return tuple(parts) if len(parts) > 1 else ()
        alone = max(self._share(self._terms_of(hit.passage)) for hit in first.hits)
        everything = (*first.hits, *(hit for _, useful in answered for hit in useful))
        passages = {hit.passage.chunk_id: hit.passage for hit in everything}
        for wish, useful in answered:
            others = [hit for hit in useful if hit.passage.chunk_id != wish.leads_from] if wish.why == "name" else []
            before = self._terms_of(passages[wish.leads_from]) if others else frozenset[str]()
            least = max(LEAST_TOGETHER, alone + LEAST_GAIN)
            others = [
                hit
                for hit in others
                if self._is_about(hit.passage, wish) and self._share(before | self._terms_of(hit.passage)) >= least
            ]
            if others:
                sentence = QuotedPart(
                    (wish.leads_from,), frozenset(self._analyzer.tokens(wish.sentence)), wish.sentence
                )
                return QuotedPart(_chunk_ids(others), wish.words.union(*wish.names)), sentence
        return ()


def with_hits(found: SearchResult, hits: Sequence[Hit]) -> SearchResult:
    """Return a search with further hits behind its own, each passage once."""
    known = {chunk_id for hit in found.hits for chunk_id in _ids(hit)}
    return replace(found, hits=(*found.hits, *(hit for hit in hits if known.isdisjoint(_ids(hit)))))


def merge(found: SearchResult, more: SearchResult, useful: Sequence[Hit]) -> SearchResult:
    """Return a search with the useful hits of another one behind its own, and what both report."""
    timings = {stage: found.timings_ms.get(stage, 0.0) + ms for stage, ms in more.timings_ms.items()}
    return replace(
        with_hits(found, useful),
        queries=tuple(dict.fromkeys((*found.queries, *more.queries))),
        degraded=tuple(dict.fromkeys((*found.degraded, *more.degraded))),
        notes=tuple(dict.fromkeys((*found.notes, *more.notes))),
        timings_ms={**found.timings_ms, **timings},
        model_calls=found.model_calls + more.model_calls,
        embeddings=found.embeddings + more.embeddings,
    )


def terms_of(passage: Passage, analyzer: Analyzer) -> frozenset[str]:
    """Return the terms of a passage with its title and headings."""
    return frozenset(analyzer.tokens(f"{passage.title} {passage.heading_path} {passage.text[:READ_CHARS]}"))


def _chunk_ids(hits: Sequence[Hit]) -> tuple[str, ...]:
    return tuple(hit.passage.chunk_id for hit in hits)


def _ids(hit: Hit) -> list[str]:
    return [hit.passage.chunk_id, *(place.chunk_id for place in hit.also_in), *hit.covers]


def _whole(terms: frozenset[str]) -> frozenset[str]:
    """Return the terms of a word; of one with digits, such as 3rd-and-9, the whole alone, as 9 is something else."""
    return frozenset({max(terms, key=len)}) if any(map(str.isdigit, "".join(terms))) else terms


def _mean(weights: Mapping[str, float], terms: Collection[str]) -> float:
    known = [weights[term] for term in terms if term in weights]
    return sum(known) / len(known) if known else 0.0
