"""Answers without a language model: a featured passage around the sentence, list or table cell that answers best."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from braid.core.chat.citations import Citation, Featured
from braid.core.chat.marks import mark
from braid.core.chat.quoting.beside import answering
from braid.core.chat.quoting.candidates import (
    NO_TERMS,
    Around,
    Asked,
    Candidate,
    CandidateReader,
    has_word,
    headings_of,
    nothing_around,
)
from braid.core.chat.quoting.featured import (
    LEFT_OUT,
    MOST_CHARS,
    feature,
    feature_list,
    one_line,
    place_of,
)
from braid.core.chat.quoting.logs import version_above
from braid.core.chat.quoting.match import Match
from braid.core.chat.quoting.nearness import MAX_SENTENCES, Nearness, no_nearness
from braid.core.chat.quoting.parts import LIST_MARK, introduces, is_code, is_readable
from braid.core.chat.quoting.wanted import tells_validity, years_in
from braid.core.chat.texts import TEXTS, say
from braid.core.lru import lazy
from braid.core.search.spelling import nearest, words_of
from braid.core.text.analyzer import Analyzer
from braid.core.text.scripts import LATIN, SCRIPTS, is_written_in, main_script, question_script, text_language
from braid.core.text.sentences import sentences
from braid.core.types import Passage

MOST_OTHER_SCRIPT = 8
"""Sentences in another script than the question that are embedded, of all that are."""
MOST_SHOWN = 3
"""The featured passage, and the others below it."""
# The weights were chosen by `python -m benchmarks.answers`, where the featured passage holds the answer most often.
NEARNESS_WEIGHT = 30.0
"""Weight of a cosine of 1.0 above that of unrelated texts, beside the share of the question's terms."""
HEADING_WEIGHT = 0.3
"""Weight of a term that only the title or a heading has."""
HEADED_WEIGHT, LEAD_WEIGHT, LEAD_WEIGHT_OF_NUMBERS = 0.5, 2.0, 0.8
"""Weights of a heading that says what is asked: for all below it, and for what stands right below it, which seldom has
the number that is asked for.
"""
CODE_FACTOR = 0.7
"""Factor of what has few words: names of files, options, commands."""
AROUND_WEIGHT = 0.2
"""Weight of a term that only the sentence before or after has."""
MEANT_WEIGHT = 0.6
"""Weight of a term that the sentence before has, where the sentence points back to it: *It lasts a week.*"""
NUMBER_FACTOR = 1.5
"""Factor of what has a new number, where the question asks for one."""
ECHO_FACTOR = 0.3
"""Factor of a sentence that only repeats the question."""
OTHER_KIND_FACTOR = 0.7
"""Factor of a sentence without the kind of answer that is asked for: a price, a time …"""
KIND_FACTOR = 1.3
"""Factor of a sentence for each kind of answer that is asked for and that it has."""
VALIDITY_FACTOR = 0.5
"""Factor of a sentence that says since when a version is in force, where the question is about something else in it."""
DEFINITION_FACTOR, DEFINITION_WEIGHT = 1.4, 1.0
"""Factor and weight of a sentence that says what the thing is that is asked about."""
INTRODUCTION_FACTOR = 0.7
"""Factor of a sentence that leads to a list or to code, where no list is asked for."""
REPEATED_FACTOR = 0.5
"""Factor of what an earlier answer has quoted and that lacks what a follow-up asks."""
FOLLOWED_FACTOR = 2.0
"""Factor of what the last answer's document says of a word that is new in a follow-up."""
LEAST_OF_OWN = 0.5
"""Least share of a follow-up's own words that a sentence which was quoted before has for it to be an answer."""
CAPTION_FACTOR = 0.4
"""Factor of the caption of a figure that is not asked for."""
UNNAMED_FACTOR = 0.7
"""Factor of a document without the rarest words of the question, where another one has one."""
RAREST_FACTOR = 1.15
"""Factor of a sentence with a noun that is one of the rarest words of the question, and each kind of answer."""
FOREIGN_FACTOR = 0.6
"""Factor of what is in another language than the question, where a passage in its own has one of these words."""
CUT_FACTOR = 0.8
"""Factor of a piece of a sentence that goes on in another passage."""
YEAR_FACTOR, OTHER_YEAR_FACTOR = 1.3, 0.6
"""Factors of a document with the year that is asked for in its title, and with another one."""
OLDER_FACTOR = 0.85
"""Factor of a version of a document of which a newer one was found, where no year is asked for, and of a mail that a
later one follows, for each of up to three.
"""
MOST_LATER = 3
FEW_NEW_TERMS = 0.25
"""Least share of a sentence's terms that the question has not, for it not to be a repetition."""
SECTION_FACTOR = 3.0
"""Factor of what is in the section whose number is asked for."""
RANK_DECAY = 0.05
LEAST_OF_BEST = 0.6
"""Least part of the best one's score for another passage to be shown."""
NEAR_STRONG, NEAR_WEAK, NEAR_WEAK_CJK, SAID = 0.04, 0.06, 0.09, 0.6
"""What makes a quote an answer: its cosine above that of an unrelated text, of a strong match and of a weak one, whose
cosines are greater in Japanese and Korean; or its share of the question's words by weight; or half of each."""
LEAST_LIKE_NOUN, LEAST_LIKE, LEAST_LIKE_WITHOUT = 1.0, 1.4, 2.0
"""Least likeness of a quote whose document lacks a rare noun of the question, for it to be an answer; all of its rare
words; and a noun, where the quote has not the number that is asked for either.
"""
FOREIGN_NEAR = 0.025
"""Least cosine above that of an unrelated text of a quote in another language than the question."""
ABOUT = 0.4
"""Least part of the most that a candidate has of the question's words, for the kind of what it says to count."""
LEAST_OF_LIST = 0.7
"""Least share of the question's terms of a list that is asked for, as a part of that of the best sentence."""
LEAST_NEAR_LIST = 0.7
"""Least score of the best sentence of a passage, as a part of that of all, for a list of it to be what is asked for."""


@dataclass(frozen=True, slots=True)
class Extract:
    """An answer made of quotes, as a marked text; not ``found``, it has what is related, or nothing."""

    text: str
    found: bool
    shown: tuple[Featured, ...] = ()
    """The featured passage, and the others below it; where nothing was found, those that are related."""
    is_weak: bool = False
    """Whether the passages may not answer, which the text says."""
    asks_back: bool = False
    """Whether the text asks what is meant."""


def extract(
    asked: Asked,
    citations: Sequence[Citation],
    analyzer: Analyzer,
    *,
    match: Match,
    nearness: Nearness = no_nearness,
    around: Around = nothing_around,
    not_calculated: str = "",
) -> Extract:
    """Feature the passage that answers best, and up to two others, each with its citation.

    Where absence is claimed, no more is shown than the passages with the rarest words of the question, but for a
    section whose number is asked for; a weak match, and a passage that lacks the kind of answer that is asked for, are
    said to be such, and what is neither near by meaning nor has the words of the question is only related.
    So is what an earlier answer has quoted where it lacks what a follow-up asks, and so are rows where
    ``not_calculated`` says why their number is not given. Passages in another script than the question cannot have its
    words: then the nearest are quoted. What is only related is shown where it is close.
    """
    script = main_script(" ".join(asked.weights))
    comparable = any(is_written_in(script, citation.text) for citation in citations)
    citations = [each for each in citations if each.passage.chunk_kind != "contents"]
    asked = _without_versions(asked, citations)
    reader = CandidateReader(asked, analyzer, around)
    match = "strong" if _has_section(reader, citations) else match
    having = _having(asked, citations, analyzer)
    is_absent = match == "absent" and comparable
    if is_absent and not any(having.values()):
        asked, having = _as_meant(asked, citations, analyzer)
    if is_absent:
        citations = [each for each in citations if having[each.number]]
    reader = CandidateReader(asked, analyzer, around)
    every = reader.candidates(citations)
    candidates = [each for each in every if len(each.text) <= MOST_CHARS] or every
    if not candidates:
        return Extract("", False)
    by_number = {citation.number: citation for citation in citations}
    followed = _followed(asked, every, by_number)
    chooser = _Chooser(asked, by_number, nearness, _newest_years(citations), match, followed.candidates, having)
    best = chooser.choose(candidates)
    chosen = _list_first(reader, citations, best, chooser.shares_of(candidates)) or _first_of_each(candidates)
    chosen = [each for each in chosen if chooser.goes_with(each, chosen[0])]
    shown = [
        _feature(reader, by_number[each.number], each, chooser, alone=bool(at))
        for at, each in enumerate(chosen[:MOST_SHOWN])
    ]
    is_named, told = chosen[0].is_named, reader.terms(shown[0].text)
    is_far = not any(chooser.answers(each, told) for each in (*best[:1], chosen[0]))
    is_foreign = _is_foreign(asked, shown[0].text, by_number[chosen[0].number])
    if match == "absent" and not is_foreign:
        is_near = chooser.near.get(chosen[0].text, 0.0) >= NEAR_WEAK and chooser.like(chosen[0], told) >= LEAST_LIKE
        is_absent = (is_absent or bool(main_script(shown[0].text))) and not is_near
        match = "weak"  # nothing could be compared in a passage without letters
    if is_absent or is_far or chooser.lacks_name(chosen[0]):
        title = "related"
    elif is_foreign and not comparable:
        title = _in_language(by_number[chosen[0].number].text)
    elif asked.own_share(chosen[0]) < LEAST_OF_OWN or (not is_named and asked.lacks_kind(shown[0].text)):
        title = "related"
    else:
        match = chooser.judged(match, chosen[0], told)
        is_weak = match == "weak" or followed.is_lost
        title = "related" if match == "absent" else "weak" if is_weak else "extractive"
        title = _in_language(by_number[chosen[0].number].text) if is_foreign and match == "strong" else title
    lead = say(title, asked.language)
    if not_calculated and any(each.value for each in chosen[:1]):
        title, lead = "related", not_calculated
    names = {each.citation: by_number[each.citation].passage.title for each in shown} if asked.wanted.comparison else {}
    versions = (
        version_above(by_number[a.number], a.text, one_line(b.text)) for a, b in zip(chosen, shown, strict=False)
    )
    names |= {each.citation: version for each, version in zip(shown, versions, strict=True) if version}
    found = title != "related"
    if not found and not not_calculated:
        chosen = [each for each in chosen[:MOST_SHOWN] if chooser.is_close(each)]
        if not chosen:
            return Extract("", False)
    if not found:
        shown = [_feature(reader, by_number[each.number], each, chooser, alone=True) for each in chosen]
    text = quoted_text(lead, asked, shown, names, featured=int(found))
    return Extract(text, found, tuple(shown), is_weak=title == "weak")


@dataclass(frozen=True, slots=True)
class _Followed:
    """What of the passages a follow-up is about."""

    candidates: frozenset[tuple[int, str]] = frozenset()
    """Those of the last answer's document, by their numbers and texts."""
    is_lost: bool = False
    """Whether that document has nothing of the words that are new in the follow-up."""


def _followed(asked: Asked, candidates: Sequence[Candidate], citations: Mapping[int, Citation]) -> _Followed:
    """Return what the last answer's document says of the words that are new in a follow-up.

    Where it has none of them, that is all of it, unless another document has one beside a word of the earlier
    questions. A year is another version.
    """
    places = {each.number: at for each in reversed(candidates) if (at := asked.place_in_last(each)) >= 0}
    if not asked.new or not places or years_in(asked.question):
        return _Followed()
    document = citations[min(places, key=places.__getitem__)].passage.document_id
    told = [each.terms | each.heading for each in candidates]
    counts = [sum(has_word(word, terms) for word in asked.new) for terms in told]
    own = [citations[each.number].passage.document_id == document for each in candidates]
    most = max(count for count, is_own in zip(counts, own, strict=True) if is_own)
    is_elsewhere = any(
        count > most and (most or not asked.earlier.isdisjoint(terms))
        for count, terms in zip(counts, told, strict=True)
    )
    rated = zip(candidates, counts, own, strict=True)
    of_it = frozenset((each.number, each.text) for each, count, is_own in rated if is_own and count == most)
    return _Followed(frozenset() if is_elsewhere else of_it, not most)


def _has_section(reader: CandidateReader, citations: Sequence[Citation]) -> bool:
    """Return whether the citations have a section whose number, which is its name, is asked for."""
    return bool(reader.asked.wanted.sections) and any(each.is_section for each in reader.candidates(citations))


def _having(asked: Asked, citations: Sequence[Citation], analyzer: Analyzer) -> dict[int, list[str]]:
    """Return those of the rarest words of a question that each citation has, by number."""
    return {
        each.number: asked.said_in(asked.rarest, frozenset(analyzer.tokens(" ".join((*headings_of(each), each.text)))))
        for each in citations
    }


def _as_meant(asked: Asked, citations: Sequence[Citation], analyzer: Analyzer) -> tuple[Asked, dict[int, list[str]]]:
    """Return the question with words of the citations instead of its rarest ones, where these are slips of those."""
    known = words_of(each.text for each in citations)
    meant = {word: nearest(word, known) for word in asked.rarest if word.isalpha()}
    terms = {word: frozenset(analyzer.tokens(other)) for word, other in meant.items() if other}
    most = max(asked.weights.values(), default=1.0)
    weights = {**asked.weights, **{term: most for of_word in terms.values() for term in of_word}}
    asked = replace(asked, weights=weights, words={**asked.words, **terms})
    return asked, _having(asked, citations, analyzer)


def _is_foreign(asked: Asked, quoted: str, citation: Citation) -> bool:
    """Return whether a quote is in another language than the question: a number is in none, nor is a name or a line of
    a table in a passage that is in the question's, with its heading.
    """
    script = question_script(asked.text)
    told = main_script(quoted)
    if not told or told == script or (script != LATIN and is_written_in(script, quoted)):
        return False  # of another script, a tenth in Latin letters is names
    told = f"{citation.passage.heading_path}\n{citation.text}"
    language = text_language(told)
    return SCRIPTS.get(language, LATIN) != script if language else not is_written_in(script, told)


def _in_language(text: str) -> str:
    """Return the name of the text that leads to quotes in another language than the question."""
    name = f"in_{text_language(text)}"
    return name if name in TEXTS else "another_script"


def coverage(weights: Mapping[str, float], terms: frozenset[str]) -> float:
    """Return the share of the weights whose terms are given, 0.0–1.0."""
    total = sum(weights.values())
    return sum(weight for term, weight in weights.items() if term in terms) / total if total else 0.0


def best_coverage(weights: Mapping[str, float], citations: Sequence[Citation], analyzer: Analyzer) -> float:
    """Return the largest share of the weights that one passage has with its title and heading, 0.0–1.0."""
    shares = (passage_coverage(weights, each.passage, analyzer, each.text) for each in citations)
    return max(shares, default=0.0)


def passage_coverage(weights: Mapping[str, float], passage: Passage, analyzer: Analyzer, text: str = "") -> float:
    """Return the share of the weights that a passage has with its title and heading, 0.0–1.0; or a ``text`` of it."""
    whole = f"{passage.title} {passage.heading_path} {text or passage.text}"
    return coverage(weights, frozenset(analyzer.tokens(whole)))


def best_sentence(weights: Mapping[str, float], text: str, analyzer: Analyzer) -> str:
    """Return the sentence with the greatest weight; empty if none has any of the terms."""
    scored = [(sum(weights.get(t, 0.0) for t in set(analyzer.tokens(s))), s) for s in sentences(text)]
    weight, best = max(scored, key=lambda pair: pair[0], default=(0.0, ""))
    return quotable(best) if weight else ""


def quotable(sentence: str) -> str:
    """Put a sentence on one line, not too long, without a list mark; otherwise literally."""
    return one_line(LIST_MARK.sub("", " ".join(sentence.split())))


def quoted_text(lead: str, asked: Asked, shown: Sequence[Featured], names: Mapping[int, str], *, featured: int) -> str:
    """Return the answer as a marked text behind its ``lead``; every line that quotes cites what it quotes. The first
    ones are ``featured``, with the sentences around what answers.
    """
    first, others = shown[:featured], shown[featured:]
    lines = [lead]
    for each in first:
        name, gap = names.get(each.citation), "\n" if LIST_MARK.match(each.text) else " "
        named = f"{one_line(name)}:{gap}" if name else ""
        lines += ["", *(f"{line} {mark(each.citation)}" for line in (named + _emphasised(each)).split("\n"))]
    if others:
        lines += ["", *([say("also", asked.language)] if first else [])]
    for each in others:
        named = f"{one_line(name)}: " if (name := names.get(each.citation)) else ""
        items = (LIST_MARK.sub("", line) for line in each.text[each.start : each.end].split("\n"))
        sign = LEFT_OUT if each.start == len(LEFT_OUT) and each.text.startswith(LEFT_OUT) else ""
        lines.append(f"- {named}{sign}{' '.join(items)} {mark(each.citation)}")
    return "\n".join(lines)


def _emphasised(each: Featured) -> str:
    """Return the text with its main sentence in bold, where that is one and not the whole, as Markdown can say it."""
    main = each.text[each.start : each.end]
    inner = main.rstrip(".。!?！？")  # emphasis that ends behind a full stop is not seen before a letter of Japanese
    if (
        "\n" in main
        or len(main) == len(each.text)
        or not inner
        or set("*_`[]\\") & set(main)
        or inner[-1] in ")）」』】"
    ):
        return each.text
    return f"{each.text[: each.start]}**{inner}**{main[len(inner) :]}{each.text[each.end :]}"


def _without_versions(asked: Asked, citations: Sequence[Citation]) -> Asked:
    """Return the question without the weight of the years that it names, where they are versions of documents."""
    versions = frozenset[str]().union(*(years_in(citation.passage.title) for citation in citations))
    if not versions & asked.wanted.years:
        return asked
    kept = {term: weight for term, weight in asked.weights.items() if not years_in(term)}
    return replace(asked, weights=kept or asked.weights)


def _first_of_each(candidates: Sequence[Candidate]) -> list[Candidate]:
    return list({each.number: each for each in reversed(candidates)}.values())[::-1]


def _feature(
    reader: CandidateReader, citation: Citation, each: Candidate, chooser: _Chooser, *, alone: bool
) -> Featured:
    """Return a chosen sentence with those around it, or the list that is asked for."""
    if each.value:
        line = one_line(each.text)
        return Featured(line, 0, len(line), citation.number)
    place = place_of(citation, reader.around)
    at = place.find(each.text)
    if reader.asked.wanted.list and at is not None and (items := place.list_at(at)):
        return feature_list(place, items)
    if at is not None and not alone:
        each = replace(each, text=place.parts[answering(reader.asked, place.parts, at, reader.terms)].text)
    return feature(each, place, chooser.score_of, alone=alone)


def _list_first(
    reader: CandidateReader, citations: Sequence[Citation], chosen: list[Candidate], shares: Mapping[int, float]
) -> list[Candidate]:
    """Return the chosen ones with an item of the list before them that has most of the question's words, if a list is
    asked for, and one has enough of them. ``shares`` says by number how near each citation is to what is asked.
    """
    weights = reader.asked.weights
    if not reader.asked.wanted.list or not chosen or chosen[0].value:
        return chosen
    said = coverage(weights, chosen[0].terms | chosen[0].heading | chosen[0].around)
    best, most = None, LEAST_OF_LIST * (said + chosen[0].headed)
    for citation in citations:
        place = place_of(citation)
        begins = not reader.around(citation.passage)[0]
        local = reader.terms(f"{citation.passage.title} {citation.passage.heading_path}")
        headed = reader.headed(headings_of(citation)[-1] or citation.passage.title)
        for at, part in enumerate(place.parts):
            if part.kind == "heading":
                local |= reader.terms(part.text)
                headed = max(headed, reader.headed(part.text))
            if part.kind == "item" and (items := place.list_at(at)) and items[0] == at:
                texts = [place.parts[n].text for n in range(max(0, at - 1), items[-1] + 1)]
                share = coverage(weights, local | reader.terms("\n".join(texts))) + headed * (1.0 if begins else 0.5)
                share *= shares.get(citation.number, 0.0) / (1 + RANK_DECAY * citation.number)
                if share >= most and shares.get(citation.number, 0.0) >= LEAST_NEAR_LIST:
                    best, most = Candidate(citation.number, part.text, reader.terms(part.text), local), share
    return chosen if best is None else [best, *(each for each in chosen if each.number != best.number)]


@dataclass(frozen=True)
class _Chooser:
    """Chooses candidates, each of another passage."""

    asked: Asked
    citations: Mapping[int, Citation]
    nearness: Nearness
    newest: Mapping[str, str]
    """The newest year that documents of a title have in it, by the title without it."""
    match: Match = "strong"
    followed: frozenset[tuple[int, str]] = frozenset()
    """The candidates that a follow-up is about, by their numbers and texts."""
    having: Mapping[int, Sequence[str]] = field(default_factory=dict)
    """The rarest words of the question that each citation has, by number."""
    scores: dict[str, float] = field(default_factory=dict)
    """Sentences with their scores, for those that are to be shown around the best."""
    near: dict[str, float] = field(default_factory=dict)
    """Sentences with their nearness, as far as it is known."""

    @lazy
    def own_language_has(self) -> bool:
        """Whether a passage in the question's language has one of its rarest words."""
        return any(self.having.get(n) and not _is_foreign(self.asked, c.text, c) for n, c in self.citations.items())

    @lazy
    def nouns(self) -> frozenset[str]:
        """The codes and nouns that are among the rarest words of the question."""
        return frozenset(word for word in self.asked.rarest if word in self.asked.codes or self.asked.is_noun(word))

    @lazy
    def named(self) -> frozenset[int]:
        """The documents that have one of the rarest words of the question."""
        having = (n for n in self.citations if self.nouns.intersection(self.having.get(n, ())))
        return frozenset(self.citations[n].passage.document_id for n in having)

    def score_of(self, text: str) -> float:
        """Return the score of a sentence of the passages; 0 for one that was not a candidate."""
        return self.scores.get(text, 0.0)

    def shares_of(self, candidates: Sequence[Candidate]) -> dict[int, float]:
        """Return the score of the best sentence of each citation, as a part of that of the best one, 0.0–1.0."""
        best: dict[int, float] = {}
        for each in candidates:
            best[each.number] = max(best.get(each.number, 0.0), self.score_of(each.text))
        most = max(best.values(), default=0.0)
        return {number: score / most if most else 1.0 for number, score in best.items()}

    def choose(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return the best candidates. Among equals come rows whose name is asked for, which another row may have as a
        number, and those of better passages, ranked by more than words.
        """
        weights = self.asked.weights
        least = ABOUT * max(map(self._words, candidates), default=0.0)
        by_words = sorted(candidates, key=lambda each: (-self._score(each, least), -coverage(weights, each.name)))
        texts = {each.text: f"{each.subject} {each.text}".lstrip() for each in self._to_embed(by_words)}
        nearness = self.nearness([*texts.values()])
        self.near.update((text, near) for text, near in zip(texts, nearness, strict=True) if near)
        scored = [(self._score(each, least), each) for each in by_words]
        self.scores.update((each.text, score) for score, each in reversed(scored))
        chosen: list[Candidate] = []
        best = 0.0
        for score, each in sorted(scored, key=lambda pair: -pair[0]):
            enough = 0.0 if self.asked.wanted.comparison else LEAST_OF_BEST * best
            if len(chosen) == MOST_SHOWN or not score:
                break
            if score < enough and not each.is_section and not self._says_later(each, chosen):
                continue
            is_padding = bool(enough) and self.answers(chosen[0]) and not self.answers(each)
            if self._is_another(each, chosen) and not is_padding:
                chosen.append(each)
                best = max(best, score)
        return chosen

    def answers(self, each: Candidate, shown: frozenset[str] = NO_TERMS) -> bool:
        """Return whether a candidate is near enough by meaning, or has enough of the question's words, to be an answer,
        with the terms of what is shown with it; in another language it has to be near. True where that is not known.
        """
        near = self.near.get(each.text)
        if near is None or each.is_section:
            return True
        if _is_foreign(self.asked, each.text, self.citations[each.number]):
            return near >= FOREIGN_NEAR
        said = self.asked.share_of(each.terms | each.heading | each.around | shown)
        weak = NEAR_WEAK if question_script(self.asked.text) == LATIN else NEAR_WEAK_CJK
        return max(0.0, near) / (NEAR_STRONG if self.match == "strong" else weak) + said / SAID >= 1.0

    def lacks_name(self, each: Candidate) -> bool:
        """Return whether a candidate is about something else than the question names: no passage has its codes, or it
        is a row of which the question has no more than the name of a column.
        """
        codes = self.asked.codes
        if each.is_section:
            return False
        if codes and not any(set(codes) & set(words) for words in self.having.values()):
            return True
        if not each.is_named or _is_foreign(self.asked, each.text, self.citations[each.number]):
            return False
        words = self.asked.told_by
        return bool(words) and not self.asked.said_in(words, each.cells | each.heading)

    def like(self, each: Candidate, told: frozenset[str]) -> float:
        """Return how like a candidate is to the question: its cosine above that of an unrelated text, 1.0 where a match
        is no longer weak, and its share of the question's words. Infinite where the cosine is not known.
        """
        near = self.near.get(each.text, float("inf"))
        return near / NEAR_WEAK + self.asked.share_of(each.terms | each.heading | each.around | told)

    def judged(self, match: Match, each: Candidate, told: frozenset[str]) -> Match:
        """Return how well a candidate matches, by the rarest words of the question: a match that has one of them, and
        the kind of answer that is asked for, is not weak; one whose document lacks a noun of them is, or is absent if
        it is not like the question; and weak is one of that kind whose document lacks what is said of it: *the
        overseas allowance*, or what is of another number than the question names.
        """
        asked, terms = self.asked, each.terms | each.heading
        if each.is_section:
            return match
        said, kinds = told | each.heading, asked.wanted.kinds_in(each.text)
        own = self.citations[each.number]
        document = [n for n, c in self.citations.items() if c.passage.document_id == own.passage.document_id]
        there = {*asked.said_in(asked.rarest, said), *(word for n in document for word in self.having.get(n, ()))}
        missing = set() if there.intersection(asked.codes) else set(asked.rarest) - there
        lacks_noun = any(map(asked.is_noun, missing))
        is_one = not (asked.own or asked.wanted.list or asked.wanted.comparison)
        if is_one and not _is_foreign(asked, each.text, own):
            if (like := self.like(each, told)) < self._least_like(missing, kinds):
                return "absent"
            text = "\n".join((*headings_of(own), each.text))
            there_too = "\n".join((text, *(self.citations[n].text for n in document)))
            if (kinds and lacks_noun and like < LEAST_LIKE_WITHOUT) or asked.names_another(text, there_too):
                return "weak"
        if match == "weak" and asked.said_in(asked.rarest, terms):
            is_whole = len(asked.said_in(asked.told_by, terms)) == len(asked.told_by)
            return "strong" if is_whole or kinds else match
        if match == "strong" and kinds:
            return "weak" if any(asked.stands_before(word, said) for word in missing) else match
        return "weak" if lacks_noun else match

    def _least_like(self, missing: Collection[str], kinds: int) -> float:
        """Return the least likeness of an answer whose document lacks these of the rarest words of the question, and
        that has so many of the kinds of answer that are asked for.
        """
        asked = self.asked
        if kinds or not missing:
            return 0.0
        if any(map(asked.is_noun, missing)):
            return LEAST_LIKE_WITHOUT if asked.wanted.number and asked.wanted.kinds else LEAST_LIKE_NOUN
        return LEAST_LIKE if len(missing) == len(asked.rarest) else 0.0

    def goes_with(self, each: Candidate, first: Candidate) -> bool:
        """Return whether a candidate may be shown beside the first one: of another document only with one of the
        question's rarest words, where the first one has some.
        """
        of_first, own = self.citations[first.number].passage, self.citations[each.number].passage
        if self.asked.wanted.comparison or each.is_section or own.document_id == of_first.document_id:
            return True
        return not self.having.get(first.number) or bool(self.having.get(each.number))

    def is_close(self, each: Candidate) -> bool:
        """Return whether a candidate that does not answer is worth showing: it can be read, is in the question's
        language, and its passage has one of the question's rarest words.
        """
        if not is_readable(each.text) or _is_foreign(self.asked, each.text, self.citations[each.number]):
            return False
        return not self.asked.words or bool(self.having.get(each.number)) or self.asked.own_share(each) < LEAST_OF_OWN

    def _to_embed(self, by_words: Sequence[Candidate]) -> list[Candidate]:
        """Return the candidates in the order in which they are embedded: those in another script than the question,
        whose words it cannot have, are among the first.
        """
        script = main_script(self.asked.text)
        others = [each for each in by_words if not each.value and not is_written_in(script, each.text)]
        others = sorted(others, key=lambda each: (-each.lead, each.number))[:MOST_OTHER_SCRIPT]
        return [*by_words[: MAX_SENTENCES - len(others)], *others, *by_words]

    def _is_another(self, each: Candidate, chosen: Sequence[Candidate]) -> bool:
        """Return whether a candidate is of a passage that has none yet; in comparisons, of another document."""
        if not self.asked.wanted.comparison:
            is_new = all(each.number != one.number and each.text != one.text for one in chosen)
            return is_new or self._says_later(each, chosen)
        documents = {self.citations[one.number].passage.document_id for one in chosen}
        return self.citations[each.number].passage.document_id not in documents

    def _says_later(self, each: Candidate, chosen: Sequence[Candidate]) -> bool:
        """Return whether a candidate has the kind of answer that is asked for in a later mail of the one thread that is
        quoted: what an earlier one says may no longer hold.
        """
        is_later = len(chosen) == 1 and each.number == chosen[0].number and each.later < chosen[0].later
        return is_later and self.asked.wanted.kinds_in(each.text) > 0 and self.answers(each)

    def _words(self, each: Candidate) -> float:
        """Return the share of the question's words that a candidate has, and, less, what is around it."""
        weights = self.asked.weights
        total = sum(weights.values()) or 1.0
        words = sum(weights[term] for term in each.terms & weights.keys())
        above = (each.heading - each.terms) & weights.keys()
        words += HEADING_WEIGHT * sum(weights[term] for term in above)
        meant = (each.meant - each.terms - above) & weights.keys()
        words += MEANT_WEIGHT * sum(weights[term] for term in meant)
        words += AROUND_WEIGHT * sum(weights[t] for t in (each.around - each.terms - above - meant) & weights.keys())
        return words / total

    def _score(self, each: Candidate, about: float) -> float:
        words = self._words(each)
        score = words + NEARNESS_WEIGHT * max(0.0, self.near.get(each.text, 0.0))
        score += HEADED_WEIGHT * each.headed
        score += (LEAD_WEIGHT_OF_NUMBERS if self.asked.wanted.number else LEAD_WEIGHT) * each.lead
        score += DEFINITION_WEIGHT * self._defines(each)
        return score * self._factor(each, is_about=words >= about) / (1 + RANK_DECAY * each.number)

    def _defines(self, each: Candidate) -> bool:
        definition = self.asked.wanted.definition
        return definition is not None and not each.value and definition.search(each.text) is not None

    def _factor(self, each: Candidate, *, is_about: bool) -> float:
        asked = self.asked
        factor = self._version_factor(self.citations[each.number])
        new = each.terms - asked.weights.keys()
        wanted = replace(asked.wanted, numbers=frozenset()) if each.value else asked.wanted  # a cell may have its row's
        kinds = wanted.kinds_in(each.text) if is_about else 0
        if is_about and wanted.number and (kinds or wanted.has_number(each.value or each.text)):
            factor *= NUMBER_FACTOR
        elif not each.value and len(new) < FEW_NEW_TERMS * len(each.terms):
            factor *= ECHO_FACTOR
        if not each.value and wanted.lacks_kind(each.text):
            factor *= OTHER_KIND_FACTOR
        factor *= KIND_FACTOR**kinds
        if self._defines(each):
            factor *= DEFINITION_FACTOR
        if wanted.definition and not each.value and introduces(each.text):
            factor *= INTRODUCTION_FACTOR
        if wanted.years and not wanted.validity and tells_validity(each.text):
            factor *= VALIDITY_FACTOR
        if not each.value and is_code(each.text):
            factor *= CODE_FACTOR
        factor *= RAREST_FACTOR if self._has_rarest(each) else 1.0
        factor *= CAPTION_FACTOR if each.is_caption else 1.0
        factor *= SECTION_FACTOR if each.is_section else 1.0
        factor *= OLDER_FACTOR ** min(each.later, MOST_LATER)
        if (each.number, each.text) in self.followed:
            factor *= FOLLOWED_FACTOR
        elif asked.own_share(each) <= LEAST_OF_OWN:
            factor *= REPEATED_FACTOR
        citation = self.citations[each.number]
        if self.named and citation.passage.document_id not in self.named:
            factor *= UNNAMED_FACTOR
        if self.own_language_has and _is_foreign(asked, each.text, citation):
            factor *= FOREIGN_FACTOR
        return factor if each.is_whole else factor * CUT_FACTOR

    def _has_rarest(self, each: Candidate) -> bool:
        wanted = self.asked.wanted
        is_complete = not each.value and wanted.kinds_in(each.text) == len(wanted.kinds)
        return is_complete and bool(self.asked.said_in(self.nouns, each.terms))

    def _version_factor(self, citation: Citation) -> float:
        """Return what a document's year counts: that of the title is its version."""
        own, wanted = years_in(citation.passage.title), self.asked.wanted.years
        if not own:
            return 1.0
        if wanted:
            return YEAR_FACTOR if own & wanted else OTHER_YEAR_FACTOR
        newest = self.newest[_without_years(citation.passage.title)]
        return 1.0 if max(own) == newest else OLDER_FACTOR


def _newest_years(citations: Sequence[Citation]) -> dict[str, str]:
    newest: dict[str, str] = {}
    for title in {citation.passage.title for citation in citations}:
        if years := years_in(title):
            name = _without_years(title)
            newest[name] = max(newest.get(name, ""), *years)
    return newest


def _without_years(title: str) -> str:
    return "".join(title.split()).translate(str.maketrans("", "", "0123456789")).casefold()
