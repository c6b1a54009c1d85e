"""Three-field searches: a query by purpose, materials and methods, and how passages compare with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from braid.core.chat.asking.follow_up import content_words
from braid.core.chat.citations import Citation
from braid.core.chat.marks import literal, mark
from braid.core.chat.quoting.extractive import best_sentence
from braid.core.chat.texts import Language, say
from braid.core.errors import InvalidInputError
from braid.core.text.analyzer import Analyzer
from braid.core.text.units import quantities, unify_units
from braid.core.types import MAX_QUERY_CHARS

MAX_INSTRUCTION_CHARS = 2_000

Weigh = Callable[[str], Mapping[str, float]]
"""Text → its terms with their idf."""


@dataclass(frozen=True, slots=True)
class ThreeFields:
    """A search by what is done (purpose), with what (materials), and how (methods).

    ``instruction`` is a further instruction for the comparison. Raises InvalidInputError when all three are empty,
    or a text is too long.

    >>> from braid import ChatRequest, Conversation
    >>> fields = ThreeFields(purpose="close a valve", methods="by hand")
    >>> asked = ChatRequest(1, fields=fields, dataset_ids=[1], options={"mode": "hybrid"})
    >>> Conversation(braid).ask(asked).citations[0].passage.source
    'valve.md'
    """

    purpose: str = ""
    materials: str = ""
    methods: str = ""
    instruction: str = ""

    def __post_init__(self) -> None:
        if not any(text.strip() for text in (self.purpose, self.materials, self.methods)):
            raise InvalidInputError("purpose, materials and methods are all empty; fill in one", field="purpose")
        if len(self.query) > MAX_QUERY_CHARS:
            raise InvalidInputError(
                f"the fields have {len(self.query)} characters; at most {MAX_QUERY_CHARS} are allowed", field="purpose"
            )
        if len(self.instruction) > MAX_INSTRUCTION_CHARS:
            raise InvalidInputError(
                f"the instruction has {len(self.instruction)} characters; at most {MAX_INSTRUCTION_CHARS} are allowed",
                field="instruction",
            )

    @property
    def named(self) -> dict[str, str]:
        """The non-empty fields by name, without the instruction."""
        fields = {"purpose": self.purpose, "materials": self.materials, "methods": self.methods}
        return {name: text.strip() for name, text in fields.items() if text.strip()}

    @property
    def query(self) -> str:
        """The three fields as one text."""
        return "\n".join(self.named.values())

    def with_unified_units(self) -> ThreeFields:
        """Normalize units; return the fields unchanged if that would make them too long."""
        texts = map(unify_units, (self.purpose, self.materials, self.methods, self.instruction))
        try:
            return ThreeFields(*texts)
        except InvalidInputError:
            return self

    def describe(self, language: Language) -> str:
        """Write the fields for people and models, one line per field."""
        named = {**self.named, "instruction": self.instruction.strip()}
        return "\n".join(f"{say(name, language)}: {text}" for name, text in named.items() if text)


@dataclass(frozen=True, slots=True)
class _Agreement:
    agrees: tuple[str, ...]
    differs: tuple[tuple[str, str], ...]
    """Pairs of a quantity in the passage and the one that was asked for."""
    missing: tuple[str, ...]


def compare(
    asked: ThreeFields, citations: Sequence[Citation], weigh: Weigh, analyzer: Analyzer, language: Language
) -> str:
    """Return a marked text: for each passage and field what agrees and what differs; then a summary.

    Compares words by their terms, and quantities across units.
    """
    parts = [say("compared_without_model", language)]
    found: dict[int, dict[str, _Agreement]] = {}
    for citation in citations:
        found[citation.number] = {name: _agreement(text, citation, analyzer) for name, text in asked.named.items()}
        title = literal(" ".join(citation.passage.title.split()))
        parts.append(f"\n### {mark(citation.number)} {title}")
        for name, agreement in found[citation.number].items():
            quote = best_sentence(weigh(asked.named[name]), citation.text, analyzer)
            parts.append(_line(name, agreement, quote, citation.number, language))
    return "\n".join([*parts, f"\n### {say('summary', language)}", *_summary(found, language)])


def _agreement(text: str, citation: Citation, analyzer: Analyzer) -> _Agreement:
    there = quantities(citation.text)
    same, other, absent = list[str](), list[tuple[str, str]](), list[str]()
    asked = quantities(text)
    for quantity in asked:
        comparable = [found for found in there if found.dimension == quantity.dimension]
        if any(quantity.equals(found) for found in comparable):
            same.append(quantity.text)
        elif comparable:
            other.append((comparable[0].text, quantity.text))
        else:
            absent.append(quantity.text)
    terms = frozenset(analyzer.tokens(f"{citation.passage.title} {citation.passage.heading_path} {citation.text}"))
    words = content_words(_remove(unify_units(text), [quantity.text for quantity in asked]), analyzer)
    same += [word for word, needed in words.items() if needed <= terms]
    absent += [word for word, needed in words.items() if not needed <= terms]
    return _Agreement(tuple(same), tuple(other), tuple(absent))


def _remove(text: str, parts: Sequence[str]) -> str:
    for part in parts:
        text = text.replace(part, " ")
    return text


def _line(name: str, agreement: _Agreement, quote: str, number: int, language: Language) -> str:
    differs = [say("instead_of", language, found=found, asked=asked) for found, asked in agreement.differs]
    if agreement.missing:
        differs.append(f"{say('not_mentioned', language)}: {', '.join(agreement.missing)}")
    agrees = f"{', '.join(agreement.agrees)} {mark(number)}" if agreement.agrees else say("nothing", language)
    differing = f"{'; '.join(differs)} {mark(number)}" if differs else say("nothing", language)
    line = (
        f"- **{say(name, language)}** — {say('agrees', language)}: {agrees}. {say('differs', language)}: {differing}."
    )
    return f"{line}\n  > {quote} {mark(number)}" if quote else line


def _summary(found: Mapping[int, Mapping[str, _Agreement]], language: Language) -> list[str]:
    counts = {
        number: (sum(len(a.agrees) for a in fields.values()), sum(map(_size, fields.values())))
        for number, fields in found.items()
    }
    order = sorted(counts, key=lambda number: (-counts[number][0], number))
    lines = [
        "- " + say("closest", language, cited=mark(number), agreed=counts[number][0], total=counts[number][1])
        for number in order
    ]
    missing = [{word for a in fields.values() for word in a.missing} for fields in found.values()]
    everywhere = sorted(set.intersection(*missing)) if missing else []
    return lines + ([say("in_none", language, terms=", ".join(everywhere))] if everywhere else [])


def _size(agreement: _Agreement) -> int:
    return len(agreement.agrees) + len(agreement.differs) + len(agreement.missing)
