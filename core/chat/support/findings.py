"""What a check finds: the values that travel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["number", "unit", "date", "negation", "opposite", "name", "quotation", "source"]
Verdict = Literal["stands", "open", "not_found", "differs", "elsewhere", "uncited"]


@dataclass(frozen=True, slots=True)
class Finding:
    """Words of a sentence that the cited passages say otherwise, or a number, date or quotation they do not have.

    A finding of the kind ``source`` is the whole sentence: another passage says it, not the one that it cites.

    Characters are counted in the answer as it is shown, and in the passage.
    """

    kind: Kind
    start: int
    end: int
    said: str
    passage: int = 0
    """The number of the passage that says otherwise, or has the sentence; 0 where none does."""
    there_start: int = 0
    there_end: int = 0
    there: str = ""

    @property
    def differs(self) -> bool:
        """Whether a passage says otherwise."""
        return self.passage > 0 and self.kind != "source"


@dataclass(frozen=True, slots=True)
class SupportingSentence:
    """The sentence of a passage that supports one of an answer: characters ``start`` to ``end`` of its text."""

    passage: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Support:
    """A sentence of an answer, characters ``start`` to ``end``, and how it agrees with what it cites.

    ``stands``: nearly in the passage's words. ``open``: nothing was found against it, which is no proof. ``not_found``:
    a number, a date or a quotation is not in what it cites. ``differs``: a passage says otherwise. ``elsewhere``:
    another passage says it, not the one that it cites. ``uncited``: it says something, and cites nothing.
    """

    start: int
    end: int
    verdict: Verdict
    cited: tuple[int, ...] = ()
    """Numbers of the passages that it cites."""
    sources: tuple[SupportingSentence, ...] = ()
    """The sentences that support it, the nearest of each cited passage first."""
    findings: tuple[Finding, ...] = ()
