"""What the answers of all users tell an administrator: what is missing, what is used. Never who asked."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from sqlalchemy import ColumnElement, Integer, case, cast, func, select, true
from sqlalchemy.orm import aliased

from braid.core.chat.columns import COPIED
from braid.core.chat.turns.rows import OF_THOSE_THERE
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.tables import CitationRow, ConversationRow, MessageRow
from braid.core.text.analyzer import Analyzer

DAY_S = 86_400
LEAST_ASKERS = 3
"""Users who have to have asked something before it is shown, so that it is nobody's own question."""
MOST_QUESTIONS = 1_000
"""Newest questions without an answer that are compared with each other."""
MOST_WORDINGS = 10
ALIKE = 0.5
"""Share of terms in common (Jaccard) from which two questions are one."""


@dataclass(frozen=True, slots=True)
class Unanswered:
    """Questions in nearly the same words for which nothing was found; ``question`` is the shortest of them."""

    question: str
    askers: int
    times: int
    wordings: tuple[str, ...] = ()
    """Different wordings of the question, the newest first, at most `MOST_WORDINGS`: to be asked again."""


@dataclass(frozen=True, slots=True)
class CitedDocument:
    """A document of a shared dataset, the number of answers that cite it, and how many of them were rated down."""

    dataset_id: int
    source: str
    title: str
    answers: int
    down: int


@dataclass(frozen=True, slots=True)
class ModelUse:
    """Answers of one generator, and the tokens of their prompts and texts, which are estimated."""

    generator: str
    answers: int
    prompt_tokens: int
    answer_tokens: int


@dataclass(slots=True)
class _Group:
    terms: frozenset[str]
    questions: list[str] = field(default_factory=list)
    users: set[int] = field(default_factory=set)


class Tally:
    """Counts over the answers of the last days."""

    def __init__(self, ledger: Ledger, analyzer: Analyzer) -> None:
        self._database = ledger.database
        self._analyzer = analyzer

    def unanswered(self, *, days: int = 30, limit: int = 20) -> list[Unanswered]:
        """Return what at least `LEAST_ASKERS` users asked in vain, what most of them asked first."""
        question = aliased(MessageRow)
        statement = (
            select(question.text, ConversationRow.user_id)
            .select_from(MessageRow)
            .join(question, question.id == MessageRow.parent_id)
            .join(ConversationRow, ConversationRow.id == MessageRow.conversation_id)
            .where(*_answers(days), MessageRow.settings["found"].as_boolean().is_(False))
            .order_by(MessageRow.id.desc())
            .limit(MOST_QUESTIONS)
        )
        asked = self._database.fetch(statement)
        groups: list[_Group] = []
        for text, user_id in asked:
            terms = frozenset(self._analyzer.tokens(text))
            group = next((each for each in groups if _alike(terms, each.terms)), None)
            if group is None:
                group = _Group(terms)
                groups.append(group)
            group.questions.append(text)
            group.users.add(user_id)
        found = [
            Unanswered(
                min(group.questions, key=len),
                len(group.users),
                len(group.questions),
                tuple(dict.fromkeys(group.questions))[:MOST_WORDINGS],
            )
            for group in groups
            if len(group.users) >= LEAST_ASKERS
        ]
        return sorted(found, key=lambda each: (-each.askers, -each.times, each.question))[:limit]

    def cited(self, *, days: int = 30, limit: int = 20) -> list[CitedDocument]:
        """Return the documents of shared datasets that most answers cite; never of personal ones."""
        answers = func.count(MessageRow.id.distinct())
        down = func.count(case((MessageRow.thumb == "down", MessageRow.id)).distinct())
        statement = (
            select(CitationRow.dataset_id, CitationRow.source, func.max(CitationRow.title), answers, down)
            .join(MessageRow, MessageRow.id == CitationRow.message_id)
            .where(*_answers(days), CitationRow.dataset_id < 0)
            .group_by(CitationRow.dataset_id, CitationRow.source)
            .order_by(answers.desc(), CitationRow.source)
            .limit(limit)
        )
        return [CitedDocument(*row) for row in self._database.fetch(statement)]

    def models(self, *, days: int = 30) -> list[ModelUse]:
        """Return the use of each generator of answers, the most used first; `extractive` is none of a model's."""
        generator = MessageRow.settings["generator"].as_string()
        tokens = [
            func.sum(func.coalesce(cast(MessageRow.settings[name].as_integer(), Integer), 0))
            for name in ("prompt_tokens", "answer_tokens")
        ]
        statement = select(generator, func.count(), *tokens).where(*_answers(days)).group_by(generator)
        rows = self._database.fetch(statement)
        found = [ModelUse(name or "none", count, *(int(each or 0) for each in sums)) for name, count, *sums in rows]
        return sorted(
            (each for each in found if each.generator != "none"), key=lambda each: (-each.answers, each.generator)
        )


def _answers(days: int) -> tuple[ColumnElement[bool], ...]:
    since = time.time() - days * DAY_S
    own = MessageRow.settings[COPIED].as_boolean().is_not(true())
    return MessageRow.role == "assistant", MessageRow.created_at >= since, OF_THOSE_THERE, own


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= ALIKE * len(one | other) if one and other else one == other
