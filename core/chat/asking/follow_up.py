"""Completes a follow-up question without a model: adds the words that it leaves out, from earlier turns."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from braid.core.chat.asking.items import Item, begins_sentence, item_meant, without_ordinal
from braid.core.chat.quoting.onward import goes_on
from braid.core.chat.quoting.wanted import Wanted, without_asking
from braid.core.text.analyzer import Analyzer
from braid.core.text.identifiers import is_identifier
from braid.core.text.normalization import normalize
from braid.core.text.scripts import HAN, HANGUL, HIRAGANA, KANA

Idf = Callable[[Collection[str]], Mapping[str, float]]
"""Terms → their idf in the collections of the request, without terms that no passage has."""

FEW_WORDS = 2
"""A question with at most this many content words counts as a follow-up."""
CONTEXT_WORDS = 3
DECAY = 0.5
"""Weight of a turn's words, relative to those of the turn after it."""

_WORD = re.compile(
    rf"[{HAN}\u3005]+|[\u30a1-\u30fa\u30fc]+|[{HANGUL}]+"
    rf"|[^\W\u3005{KANA}{HAN}{HANGUL}]+(?:[-'’.][^\W\u3005{KANA}{HAN}{HANGUL}]+)*"
)
_REFERS_BACK = re.compile(
    r"\b(?:it|its|they|them|theirs?|this|that|these|those|he|him|his|she|hers?|there|ones?|same|such|former|latter"
    r"|others?|another)\b"
    r"|^\W*(?:and|or|but|so|what about|how about|any|why|no,|yes|ok|also|then)\b"
    r"|[そこあ](?:れ|の|こ|ちら|んな)|彼|前者|後者|同じ|^(?:では|じゃあ|なぜ|他に|ほかに)"
    r"|(?:^|\s)(?:그|이|저)(?:것|건|게|거|런|들|녀|곳|때)?(?:은|는|이|가|을|를|의|에|도)?(?=\s)|(?:거기|여기|^그럼|^그러면|^왜)",
    re.IGNORECASE,
)
_IN_CAPITALS = re.compile(r"\b[A-Z]{2,}\b")
_BEGINS_BACK = re.compile(
    r"\W*(?:and|or|but|so|what about|how about|why|no,|yes|ok|also|then)\b|では|じゃあ|なぜ|그럼|그러면|왜"
)


# Words that ask politely, or ask at all, and say nothing about what is asked.
_REQUEST = re.compile(
    "(?:about|what|how|then|also|please|tell|show|explain|describe|give|list|know|want|need|compare|let|see|say|thanks?)"
    "|(?:教|知|願|御願|示|説明|表示|紹介|調|聞|伺|何|誰|幾|挙|述|答|回答|質問|比較|要約|確認|検索|探|頼|頂|詳|場合|今|次|他|前|後|一方|年|月|日)"
    "|(?:의|은|는|이|가|을|를|와|과|에|에서|로|으로|도|만|년|월|일|중|것|거|번째|그것|이것|저것)(?:은|는|이|의)?요?"
    "|(?:제발|좀|그럼|그러면|그리고|혹시|무엇|무슨|뭐|얼마|어디|언제|누구|어떻게|어떤|몇)"
    "(?:인가요|인지|예요|이에요|입니까|나요|가요)?"
    "|(?:알려|말해|말씀해|설명|설명해|가르쳐|보여|부탁|비교|비교해|정리|정리해|요약|요약해|찾아|나열|나열해|해){0,2}"
    "(?:주세요|주십시오|주실래요|주시겠어요|줄래요?|줘요?|드려요|드립니다|드려|해요|하세요|합니다|하나요|인가요|있나요|되나요|됩니까|입니까"
    "|싶어요|싶습니다|궁금해요|궁금합니다)"
    "|(?:알려|비교|설명|요약|정리|나열|부탁)(?:해|하고|하여|해서)?",
    re.IGNORECASE,
)
_VERB = re.compile(f"(?<=[をがに])(?!(?:する|して|した|なる|なり|なっ|ある|あり|あっ|いる|つい))[{HIRAGANA}]{{3,}}")
"""A verb of Japanese without a kanji, which is no word of the question otherwise."""
_HOW_MANY = re.compile(r"(?<![가-힣])몇 ?[가-힣]*")
"""What asks for a number in Korean, with what is counted: 몇 시, 몇시인가요."""
_KANA_TOPIC = re.compile(rf"(?:では|じゃあ|それなら)?[、\s]*([{HIRAGANA}]{{3,20}}?)(?:は|って|も)[?？。\s]*")
"""A short follow-up with a topic that has no kanji: おこづかいは？"""
_BESIDE = "zyx"
"""A word beside which stop words are left out."""
_CAPITAL = re.compile(r"[A-Z\u00c0-\u00de][^\W\d_]")


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A question with the words that it leaves out."""

    question: str
    context: tuple[str, ...] = ()
    """Words of earlier turns, names and codes first, then the weightiest; empty when the question is no follow-up."""
    own: str | None = None
    """What of the question is searched for beside the context; None for the whole, twice, so that each word of the
    context counts half.
    """
    own_terms: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The terms of its own words, by the first of each, without those of a request; empty where it means an item."""

    @property
    def query(self) -> str:
        """The text to search for."""
        if not self.context:
            return self.question
        own = (self.question, self.question) if self.own is None else (self.own,)
        return " ".join(filter(None, (*own, *self.context)))

    @property
    def readable(self) -> str:
        """The question as it is shown: with the context in parentheses."""
        return f"{self.question} ({', '.join(self.context)})" if self.context else self.question


def complete(question: str, earlier: Sequence[str], analyzer: Analyzer, idf: Idf, *, answered: str = "") -> FollowUp:
    """Return the question with up to three content words of the user's ``earlier`` turns (the oldest first).

    Only a question that refers back gets them: by a pronoun, by how it begins, or because it has no more than two
    content words and does not ask what something is. Names and codes come first, those of turns that the question goes
    on from. Other words' weight is their idf in each turn that has them, halved for each turn in between. ``the second
    one`` is the second item of the last question, or of ``answered``, its answer: then that item, and what was asked of
    it, is searched for.
    """
    if not earlier:
        return FollowUp(question)
    if item := item_meant(question, earlier[-1], answered):
        return _of_item(question, earlier[-1], item, analyzer)
    own = content_words(_HOW_MANY.sub(" ", question), analyzer)
    if not _refers_back(question, own):
        return FollowUp(question)
    own_terms = frozenset[str]().union(*own.values())
    turns = [_saying_words(turn, analyzer) for turn in reversed(earlier)]
    weights = _weights(turns, idf)
    # The newest turn's spelling of a word comes last, and so is the one that is kept.
    spelling = {terms: word for turn in reversed(turns) for word, terms in turn.items()}
    named = _named(earlier, turns)
    new = [terms for terms in weights if not terms & own_terms]
    best = sorted(new, key=lambda terms: (terms not in named, -weights[terms], spelling[terms]))[:CONTEXT_WORDS]
    context = tuple(spelling[terms] for terms in best)
    return FollowUp(question, context, own_terms=_own_terms(question, analyzer))


def _of_item(question: str, asked: str, item: Item, analyzer: Analyzer) -> FollowUp:
    """Return the question for one item: with its own words, else with those that were asked of all."""
    items = frozenset(analyzer.tokens(" ".join((item.text, *item.others))))

    def beside_items(text: str) -> list[str]:  # in one text with an item, so that stop words alone are none
        words = _saying_words(f"{text} {item.text}", analyzer)
        return [word for word, terms in words.items() if not terms <= items]

    own = beside_items(without_ordinal(question))
    asked_of_all = [] if own else beside_items(asked)
    return FollowUp(question, (item.text, *asked_of_all[:CONTEXT_WORDS]), " ".join(own))


def _named(earlier: Sequence[str], turns: Sequence[Mapping[str, frozenset[str]]]) -> set[frozenset[str]]:
    """Return the terms of names and codes, back to the last turn that is no follow-up itself."""
    named: set[frozenset[str]] = set()
    for text, words in zip(reversed(earlier), turns, strict=True):
        named.update(terms for word, terms in words.items() if _is_name(word, text))
        if len(words) > FEW_WORDS and not _REFERS_BACK.search(_without_names(text)):
            break
    return named


def _is_name(word: str, text: str) -> bool:
    """Return whether a word is a code, or has a capital although no sentence begins with it."""
    if is_identifier(word) or (any(map(str.isdigit, word)) and any(map(str.isalpha, word)) and word.isascii()):
        return True
    return bool(_CAPITAL.match(word)) and not begins_sentence(text, text.find(word))


def _saying_words(text: str, analyzer: Analyzer) -> dict[str, frozenset[str]]:
    """Return the content words of a text without those of a request."""
    return {word: terms for word, terms in content_words(text, analyzer).items() if not _REQUEST.fullmatch(word)}


def _own_terms(question: str, analyzer: Analyzer) -> dict[str, frozenset[str]]:
    """Return the terms of a follow-up's own words by the first of each, of a topic in hiragana, too."""
    if words := _saying_words(_HOW_MANY.sub(" ", question), analyzer):
        return _by_first(words, analyzer)
    topic = _KANA_TOPIC.fullmatch(normalize(question))
    if topic is None or _REFERS_BACK.search(topic[1]):
        return {}
    if without_asking(beside := f"{_BESIDE} {topic[1]}") != beside:
        return {}
    terms = analyzer.tokens(topic[1])
    return {terms[0]: frozenset(terms)} if terms else {}


def _by_first(words: Mapping[str, frozenset[str]], analyzer: Analyzer) -> dict[str, frozenset[str]]:
    """Return the terms of each word by its first one, which has the stem where particles follow."""
    first = {word: min(analyzer.spans(word), key=lambda piece: (piece.start, piece.end)).token for word in words}
    return {first[word]: terms for word, terms in words.items()}


def refers_to_nothing(question: str, history: Collection[object], analyzer: Analyzer) -> bool:
    """Return whether a question of words that refer back alone begins a conversation: *And after that?*, なぜですか.

    >>> [refers_to_nothing(text, (), Analyzer()) for text in ("And the second one?", "Why is the sky blue?")]
    [True, False]
    """
    if history:
        return False
    if goes_on(question):
        return True
    bare = without_ordinal(question)
    is_bare = not _saying_words(f"{bare} {_BESIDE}", analyzer).keys() - {_BESIDE}
    has_name = _without_names(question) != normalize(question)
    return is_bare and not has_name and (bare != normalize(question) or bool(_REFERS_BACK.search(bare)))


def only_goes_on(question: str) -> bool:
    """Return whether a question can be nothing but the next one: by how it begins, or by an ordinal. Another one that
    refers back may be about what is selected, or be a heading: *What is this about?*, その他.

    >>> [only_goes_on(text) for text in ("And after that?", "Why?", "The second one?", "What happens next?", "その他")]
    [True, True, True, False, False]
    """
    text = normalize(question).lower()
    is_next = goes_on(question) and not text.startswith("what")
    return is_next or without_ordinal(question) != normalize(question) or bool(_BEGINS_BACK.match(text))


def _without_names(question: str) -> str:
    """Return a question without words in capitals, which are names: *IT*, *WHO*. Where all are, none is."""
    is_loud = question.isupper() and len(question.split()) > 1
    return normalize(question if is_loud else _IN_CAPITALS.sub(" ", question))


def _refers_back(question: str, words: Collection[str]) -> bool:
    if _REFERS_BACK.search(_without_names(question)):
        return True
    if words and Wanted.of(question).definition:
        return False
    return len(words) + len(_VERB.findall(question)) <= FEW_WORDS


def _weights(turns: Sequence[Mapping[str, frozenset[str]]], idf: Idf) -> dict[frozenset[str], float]:
    """Weigh the words of the turns, the newest first: the terms of each word → its weight."""
    known = idf({term for turn in turns for terms in turn.values() for term in terms})
    weights: dict[frozenset[str], float] = {}
    for age, turn in enumerate(turns):
        for terms in turn.values():
            if found := [known[term] for term in terms if term in known]:
                weights[terms] = weights.get(terms, 0.0) + DECAY**age * sum(found) / len(found)
    return weights


def content_words(text: str, analyzer: Analyzer) -> dict[str, frozenset[str]]:
    """Return the words of a text with their terms, each set of terms once. Stop words have none and are left out."""
    pieces = sorted(analyzer.spans(text), key=lambda piece: piece.start)
    starts = [piece.start for piece in pieces]
    words: dict[frozenset[str], str] = {}
    for match in _WORD.finditer(text):
        within = pieces[bisect_left(starts, match.start()) : bisect_left(starts, match.end())]
        terms = frozenset(piece.token for piece in within if piece.end <= match.end())
        if terms:
            words.setdefault(terms, match[0])
    return {word: terms for terms, word in words.items()}
