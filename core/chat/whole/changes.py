"""What differs between two documents, without a model: sentence by sentence, each beside the one that took its place.

Equal sentences are found by their text, wherever they stand; those that are left are paired by the words that both
have, weighed by rarity, sooner within sections of one heading. The work grows with the number of sentences, and has a
deadline: of documents that take longer, the beginnings are compared.
"""

from __future__ import annotations

import math
import re
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from braid.core.admission import give_way
from braid.core.chat.citations import Citation
from braid.core.chat.marks import mark
from braid.core.chat.quoting.candidates import headings_of
from braid.core.chat.quoting.extractive import Extract
from braid.core.chat.quoting.featured import one_line
from braid.core.chat.quoting.parts import parts_of
from braid.core.chat.quoting.tables import is_row, split_tables
from braid.core.chat.support.facts import is_found
from braid.core.chat.support.reading import Sentence, read_sentence
from braid.core.chat.texts import Language, say
from braid.core.text.analyzer import Analyzer
from braid.core.text.contents import section_number
from braid.core.text.token_budget import estimate_tokens
from braid.core.types import Hit, Passage

MOST_UNITS = 6_000
"""Sentences and table rows of a document that are compared."""
READ_S = 4.0
"""Seconds for reading the sentences that are not in both documents; pairing takes no longer than reading them."""
MOST_SHOWN = 40
"""Differences that are shown; the sections of the others are named."""
MOST_SECTIONS = 20
"""Sections that are named where differences are left out."""
MOST_HAVING = 25
"""A word that more sentences of a document have than this is not used to look for counterparts."""
MOST_LOOKED_FOR = 12
"""Rarest words of a sentence by which it is looked for."""
LEAST_ALIKE, SAME_SECTION = 0.6, 0.35
"""Least share of common words of a sentence and the one that took its place, and what a common heading counts for."""
LEAST_COMMON = 0.2
"""Least share of the shorter document that the other one has, too, for two documents of different titles."""
_YEARS = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)(?:\s?[年년]度?도?[版판]?)?")
_EMPHASIS = re.compile(r"\*{1,3}|`+")


@dataclass(frozen=True)
class Unit:
    """A sentence or a row of a table, with its section and its passage."""

    text: str
    section: str
    """The headings above it, as they are compared."""
    heading: str
    """The last heading above it, as it is written."""
    hit: Hit
    place: int


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs in one place: two wordings, or one where the other document has none."""

    old: Unit | None
    new: Unit | None

    @property
    def heading(self) -> str:
        """The heading above it, in the later document where that has one."""
        return (self.new or self.old).heading  # type: ignore[union-attr]  # one of both is there

    @property
    def units(self) -> tuple[Unit, ...]:
        """The wordings that there are."""
        return tuple(unit for unit in (self.old, self.new) if unit is not None)


@dataclass(frozen=True, slots=True)
class Read:
    """A document as it was read: its first passages, and how many it has."""

    title: str
    hits: tuple[Hit, ...]
    total: int

    @property
    def is_whole(self) -> bool:
        """Whether all passages are there."""
        return len(self.hits) == self.total


@dataclass(frozen=True, slots=True)
class Compared:
    """Two documents and what differs, in the order of the later one."""

    old: Read
    new: Read
    changes: tuple[Difference, ...]
    left_out: tuple[str, ...] = ()
    """The headings of the differences that are not among the ``changes``, since the question is about others or there
    are too many."""
    more: int = 0
    """Number of the differences that are not among the ``changes``."""

    @property
    def is_whole(self) -> bool:
        """Whether all passages of both were compared."""
        return self.old.is_whole and self.new.is_whole

    @property
    def hits(self) -> tuple[Hit, ...]:
        """The passages with the differences, those of one difference together; of equal documents the first of each."""
        found = {unit.hit.passage.chunk_id: unit.hit for change in self.changes for unit in change.units}
        return tuple(found.values()) or (*self.old.hits[:1], *self.new.hits[:1])


def compare_documents(
    old: Read,
    new: Read,
    analyzer: Analyzer,
    *,
    about: Callable[[Sequence[str]], Sequence[int]] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Compared | None:
    """Return what differs between two documents; None where they have too little in common to be compared.

    ``about`` is given a text for each difference and returns the places of those that the question is about: none where
    it is about all of them. Where ``clock``, in seconds, reaches the deadline, or the documents have too many
    sentences, their beginnings are compared, and are what `Compared` has of them.
    """
    (before, old), (after, new) = _units(old), _units(new)
    deadline = clock() + READ_S
    gone, came = _differing(before, after)
    placed = [(unit.place / len(before), unit) for unit in gone] + [(unit.place / len(after), unit) for unit in came]
    terms, share = _read_terms(placed, analyzer, lambda: clock() >= deadline)
    if share < 1.0:
        (before, old), (after, new) = _beginning(before, old, share), _beginning(after, new, share)
        gone, came = ([unit for unit in units if unit.text in terms] for units in (gone, came))
    taken = _paired(gone, came, terms)
    changes, common = _changes(gone, came, taken, after), len(before) - len(gone) + len(taken)
    if not before or not after or common < LEAST_COMMON * min(len(before), len(after)):
        return None
    if not (old.is_whole and new.is_whole):
        changes = _before_the_cut(changes, before, after)
    meant = list(about([_as_text(change) for change in changes])) if about else []
    shown = [changes[place] for place in meant] or changes
    kept = frozenset(map(id, shown[:MOST_SHOWN]))
    others = [change for change in changes if id(change) not in kept]
    left_out = dict.fromkeys(change.heading for change in others if change.heading)
    return Compared(old, new, tuple(shown[:MOST_SHOWN]), tuple(left_out)[:MOST_SECTIONS], len(others))


def tell_changes(compared: Compared, citations: Sequence[Citation], analyzer: Analyzer, language: Language) -> Extract:
    """Return the differences as a table, a row for each: the section, and both wordings with their citations. Numbers
    and dates that the other wording has not are in bold. What was not read, or is not shown, is said.
    """
    numbers = {each.passage.chunk_id: each.number for each in citations}
    shown = [each for each in compared.changes if all(unit.hit.passage.chunk_id in numbers for unit in each.units)]
    old, new = _cell(compared.old.title), _cell(compared.new.title)
    read = {"read_old": len(compared.old.hits), "total_old": compared.old.total}
    read |= {"read_new": len(compared.new.hits), "total_new": compared.new.total}
    name = "changes" if compared.changes else "no_changes"
    said = [say(name if compared.is_whole else f"{name}_in_part", language, old=old, new=new, **read)]
    if not compared.changes:
        cited = "".join(mark(each.number) for each in citations)
        return Extract(f"{said[0]} {cited}", True)
    if not shown:
        return Extract("", False)
    lines = [*said, "", f"| {say('section', language)} | {old} | {new} |", "|---|---|---|"]
    lines += [_row(change, numbers, analyzer, language) for change in shown]
    if more := compared.more + len(compared.changes) - len(shown):
        where = "; ".join(map(_cell, compared.left_out))
        lines += ["", say("changes_left_out" if where else "changes_left_out_bare", language, count=more, where=where)]
    return Extract("\n".join(lines), True)


def pairs_for_model(compared: Compared, tokens: int) -> tuple[Compared, str]:
    """Return the first differences that fit into ``tokens``, and these as a marked text whose numbers are the places of
    `Compared.hits`, from 1: a line for each, with both wordings.
    """
    places = {hit.passage.chunk_id: place for place, hit in enumerate(compared.hits, start=1)}
    lines: list[str] = []
    for change in compared.changes:
        said = [
            f"{name}: {one_line(unit.text)} {mark(places[unit.hit.passage.chunk_id])}" if unit else f"{name}: nothing"
            for name, unit in (("earlier", change.old), ("later", change.new))
        ]
        line = f"{one_line(change.heading)}: {' / '.join(said)}" if change.heading else " / ".join(said)
        tokens -= estimate_tokens(line)
        if tokens < 0 and lines:
            break
        lines.append(line)
    kept, rest = compared.changes[: len(lines)], compared.changes[len(lines) :]
    left_out = tuple(dict.fromkeys(filter(None, (*(each.heading for each in rest), *compared.left_out))))
    more = compared.more + len(rest)
    return replace(compared, changes=kept, left_out=left_out[:MOST_SECTIONS], more=more), "\n".join(lines)


def told_changes(compared: Compared) -> str:
    """Return in words what the passages are, for a model: documents, sections, and which ones it is not given."""
    kinds = {"new": list[str](), "gone": list[str](), "changed": list[str]()}
    for change in compared.changes:
        kinds["new" if change.old is None else "gone" if change.new is None else "changed"].append(change.heading)
    told = "; ".join(
        f"{kind}: {', '.join(dict.fromkeys(filter(None, found)))}" for kind, found in kinds.items() if found
    )
    parts = [
        f"The passages are the sentences in which the earlier document {compared.old.title!r} and the later document "
        f"{compared.new.title!r} differ, found by comparing them. All else in them is the same."
    ]
    if told:
        parts.append(f"Sections by kind of difference: {told}.")
    if not compared.changes:
        parts = [f"{compared.old.title!r} and {compared.new.title!r} were compared: their sentences are the same."]
    if compared.more:
        parts.append(f"{compared.more} more differences are left out, in: {'; '.join(compared.left_out)}. Say so.")
    if not compared.is_whole:
        parts.append("Only the first passages of them were compared. Say so.")
    return " ".join(parts)


# ---------------------------------------------------------------- reading


def _units(read: Read) -> tuple[list[Unit], Read]:
    """Return the sentences and rows of a document in order, each text once, since passages overlap; and the document,
    or its beginning where it has more than `MOST_UNITS` of them.
    """
    found: dict[str, Unit] = {}
    for place, hit in enumerate(read.hits):
        give_way()
        passage = hit.passage
        if passage.chunk_kind == "contents":
            continue
        section, heading = _section(passage), passage.heading_path.rpartition(" > ")[2]
        heading = "" if heading == passage.title else heading
        for text in _texts(passage):
            if len(found) == MOST_UNITS:
                return list(found.values()), replace(read, hits=read.hits[: max(1, place)])
            if key := _key(text):
                found.setdefault(key, Unit(text, section, heading, hit, len(found)))
    return list(found.values()), read


def _beginning(units: Sequence[Unit], read: Read, share: float) -> tuple[list[Unit], Read]:
    """Return the first sentences of a document, this share of all, and its passages that these are in."""
    kept = [unit for unit in units if unit.place < share * len(units)]
    chunk_ids = [hit.passage.chunk_id for hit in read.hits]
    last = chunk_ids.index(kept[-1].hit.passage.chunk_id) if kept else 0
    return kept, replace(read, hits=read.hits[: max(1, last)])


def _texts(passage: Passage) -> Iterator[str]:
    prose, rows = split_tables(passage.text)
    headings = headings_of(Citation(0, passage, passage.text))
    for part in parts_of(prose, headings):
        is_lone_row = part.kind == "furniture" and is_row(part.text)
        if is_lone_row or part.kind in ("sentence", "item", "caption"):
            yield part.text
    yield from (row.text for row in rows)


def _section(passage: Passage) -> str:
    """Return the headings above a passage without the document's title, numbers and years."""
    title = _without_years(passage.title)
    names = (_without_years(section_number(each)[1]) for each in passage.heading_path.split(" > "))
    return " > ".join(name for name in names if name and name != title)


def _without_years(heading: str) -> str:
    return _key(_YEARS.sub(" ", heading))


def _key(text: str) -> str:
    """Return a text as it is compared: its letters and digits, and what stands between digits."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return re.sub(r"(?<!\d)[^\w]+|[^\w]+(?!\d)", "", plain)


# ---------------------------------------------------------------- aligning


def _differing(before: Sequence[Unit], after: Sequence[Unit]) -> tuple[list[Unit], list[Unit]]:
    """Return the sentences that only the earlier document has, and those that only the later one has."""
    keys = {_key(unit.text) for unit in before} & {_key(unit.text) for unit in after}
    gone, came = ([unit for unit in units if _key(unit.text) not in keys] for units in (before, after))
    return gone, came


def _read_terms(
    placed: Sequence[tuple[float, Unit]], analyzer: Analyzer, is_over: Callable[[], bool]
) -> tuple[dict[str, frozenset[str]], float]:
    """Return the words of sentences by their texts, read in the order of their places, 0.0–1.0; and the place of the
    first one for which the time was over, 1.0 where there is none.
    """
    terms: dict[str, frozenset[str]] = {}
    for place, unit in sorted(placed, key=lambda each: each[0]):
        give_way()
        if is_over():
            return {unit.text: terms[unit.text] for at, unit in placed if at < place}, place
        terms[unit.text] = _terms(unit.text, analyzer)
    return terms, 1.0


@dataclass
class _Words:
    """The words of the sentences that both documents have not alike, and how rare they are."""

    terms: Sequence[frozenset[str]]
    idf: Mapping[str, float] = field(default_factory=dict)
    weights: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        having = Counter(term for terms in self.terms for term in terms)
        self.idf = {term: math.log(1 + len(self.terms) / count) for term, count in having.items()}
        self.weights = [self._weight(terms) for terms in self.terms]

    def _weight(self, terms: Collection[str]) -> float:
        return sum(self.idf[term] for term in terms)

    def alike(self, one: int, other: int) -> float:
        """Return how alike the words of two sentences are, by their places: 0.0–1.0."""
        total = self.weights[one] + self.weights[other]
        return 2 * self._weight(self.terms[one] & self.terms[other]) / total if total else 0.0

    def rarest(self, terms: Collection[str]) -> list[str]:
        return sorted(terms, key=lambda term: (-self.idf[term], term))[:MOST_LOOKED_FOR]


def _terms(text: str, analyzer: Analyzer) -> frozenset[str]:
    """Return the words of a sentence without its numbers and dates, by which it is the same in another version."""
    read = read_sentence(text, 0, analyzer)
    return read.terms or frozenset(term for term in analyzer.tokens(text) if not term[0].isdigit())


def _changes(
    gone: Sequence[Unit], came: Sequence[Unit], taken: Mapping[int, int], after: Sequence[Unit]
) -> list[Difference]:
    """Return what differs in the order of the later document."""
    changes = [Difference(gone[taken[place]] if place in taken else None, unit) for place, unit in enumerate(came)]
    replaced = frozenset(taken.values())
    lost = [Difference(unit, None) for place, unit in enumerate(gone) if place not in replaced]
    return _in_order(changes, lost, after)


def _paired(gone: Sequence[Unit], came: Sequence[Unit], terms: Mapping[str, frozenset[str]]) -> dict[int, int]:
    """Return for places among those that came the place of the one that each replaces, the most alike first."""
    words = _Words([terms[unit.text] for unit in (*gone, *came)])
    having: dict[str, list[int]] = {}
    for place in range(len(gone)):
        for term in words.terms[place]:
            having.setdefault(term, []).append(place)
    scored: list[tuple[float, int, int, int]] = []
    for place, unit in enumerate(came):
        give_way()
        own = len(gone) + place
        looked_for = [having[term] for term in words.rarest(words.terms[own]) if term in having]
        others = {other for places in looked_for if len(places) <= MOST_HAVING for other in places}
        beside = {other: SAME_SECTION if unit.section == gone[other].section else 0.0 for other in others}
        alike = [(words.alike(own, other) + more, other) for other, more in beside.items()]
        scored += [
            (-share, abs(unit.place - gone[other].place), place, other)
            for share, other in alike
            if share >= LEAST_ALIKE
        ]
    taken: dict[int, int] = {}
    used = set[int]()
    for _, _, place, other in sorted(scored):
        if place not in taken and other not in used:
            taken[place] = other
            used.add(other)
    return taken


def _in_order(changes: Sequence[Difference], lost: Sequence[Difference], after: Sequence[Unit]) -> list[Difference]:
    """Put what is gone behind the last difference of its section; what no section of the later document has, at the
    end.
    """
    last = {unit.section: unit.place for unit in after}
    ends = len(after)
    keyed = [((change.new.place, 0), change) for change in changes if change.new]
    keyed += [((last.get(each.old.section, ends), 1 + each.old.place), each) for each in lost if each.old]
    return [change for _, change in sorted(keyed, key=lambda each: each[0])]


def _before_the_cut(changes: Sequence[Difference], before: Sequence[Unit], after: Sequence[Unit]) -> list[Difference]:
    """Leave out what is only in one document behind the last passage that has a counterpart: the other one may have it
    where it was not read.
    """
    keys = {_key(unit.text) for unit in before} & {_key(unit.text) for unit in after}
    both = [change for change in changes if change.old and change.new]
    end_old = max([u.place for u in before if _key(u.text) in keys] + [c.old.place for c in both if c.old], default=0)
    end_new = max([u.place for u in after if _key(u.text) in keys] + [c.new.place for c in both if c.new], default=0)
    return [
        change
        for change in changes
        if (change.old is None or change.new is not None or change.old.place < end_old)
        and (change.new is None or change.old is not None or change.new.place < end_new)
    ]


# ---------------------------------------------------------------- telling


def _as_text(change: Difference) -> str:
    return "\n".join((change.heading, *(unit.text for unit in change.units)))


def _row(change: Difference, numbers: Mapping[str, int], analyzer: Analyzer, language: Language) -> str:
    old, new = (read_sentence(_shown(unit), 0, analyzer) if unit else None for unit in (change.old, change.new))

    def cell(unit: Unit | None, own: Sentence | None, other: Sentence | None, missing: str) -> str:
        if unit is None or own is None:
            return say(missing, language)
        return f"{_emphasised(_shown(unit), own, other)} {mark(numbers[unit.hit.passage.chunk_id])}"

    before, after = cell(change.old, old, new, "is_new"), cell(change.new, new, old, "is_gone")
    return f"| {_cell(change.heading)} | {before} | {after} |"


def _shown(unit: Unit) -> str:
    return _cell(_EMPHASIS.sub("", unit.text))


def _cell(text: str) -> str:
    """Return a text for a cell of a table, on one line."""
    return re.sub(r"(?<!\\)\|", r"\\|", one_line(text)) if text.strip() else ""


def _emphasised(text: str, own: Sentence, other: Sentence | None) -> str:
    """Return a text with those numbers and dates in bold that the other wording has not."""
    if other is None or not own.is_whole or not other.is_whole:
        return text
    parts: list[str] = []
    end = 0
    for fact in own.facts:
        start, stop = own.origin(fact.start, fact.end)
        if not is_found(fact, other.facts) and start >= end:
            parts += [text[end:start], f"**{text[start:stop]}**"]
            end = stop
    return "".join([*parts, text[end:]])
