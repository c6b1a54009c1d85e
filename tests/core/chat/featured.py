"""Answers quoted from passages that a test gives."""

from __future__ import annotations

from braid.core.chat.citations import Citation
from braid.core.chat.quoting.candidates import Around, Asked, nothing_around
from braid.core.chat.quoting.extractive import Extract, extract
from braid.core.text.analyzer import Analyzer
from braid.core.text.scripts import question_language
from braid.core.types import Passage
from tests.core.chat.test_extractive import passage

ANALYZER = Analyzer()


def answer(question: str, *passages: Passage, around: Around = nothing_around) -> Extract:
    """Answer from passages; each term of the question weighs 1."""
    citations = [Citation(number, one, one.text) for number, one in enumerate(passages, start=1)]
    asked = Asked(question, dict.fromkeys(ANALYZER.tokens(question), 1.0), question_language(question))
    return extract(asked, citations, ANALYZER, match="strong", around=around)


def texts(question: str, *several: str, around: Around = nothing_around) -> list[str]:
    """Return what is shown of these passages, the featured text first."""
    passages = [passage(text, number) for number, text in enumerate(several, start=1)]
    return [each.text for each in answer(question, *passages, around=around).shown]
