"""An answer from passages: by the summary model, or without one when there is none or it fails."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from braid.core.chat.extractive import Extract
from braid.core.chat.texts import Language, say
from braid.core.chat.types import Answer, AnswerText, AnswerWithdrawn, Event
from braid.core.chat.writer import Written, write
from braid.core.errors import ModelError
from braid.core.models.chat import ChatModel
from braid.core.models.citations import Citation, CitationFilter
from braid.core.models.passage_block import PassageBlock, passage_block
from braid.core.models.prompts import Prompt
from braid.core.text.token_budget import estimate_tokens, fitting
from braid.core.types import Degraded, Passage

EXTRACT_TOKENS = 50_000
"""Extracts are chosen from whole passages; this only keeps enormous ones out."""
QUESTION_SHARE = 1 / 3
"""Of the prompt, at most, is the question with what it refers back to."""

Emit = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class AnswerTask:
    """What is asked of the passages."""

    prompt: Prompt
    """With the placeholders ``passages`` and ``question``."""
    question: str
    language: Language
    without_model: Callable[[Sequence[Citation]], Extract]


class Answerer:
    """Answers by the model when there is one. ``prompt_tokens`` is the most that it is given, estimated."""

    def __init__(self, model: ChatModel | None, prompt_tokens: int) -> None:
        self._model = model
        self._prompt_tokens = prompt_tokens

    @property
    def generator(self) -> str:
        """Who is asked first: the name of the model, or ``extractive``."""
        return self._model.name if self._model else "extractive"

    def answer(self, task: AnswerTask, passages: Sequence[Passage], emit: Emit, stopped: threading.Event) -> Answer:
        """Emits the text as it comes. A model that fails is named, and its text withdrawn."""
        if not passages:
            text = say("not_found", task.language)
            emit(AnswerText(text))
            return Answer(text, "extractive")
        if self._model is None:
            return _without_model(task, passages, emit)
        try:
            return self._by_model(self._model, task, passages, emit, stopped)
        except ModelError as error:
            emit(AnswerWithdrawn(str(error)))
            failed = Degraded("model", "", f"{error}; the answer is made of sentences of the passages instead")
            return _without_model(task, passages, emit, degraded=(failed,))

    def _by_model(
        self, model: ChatModel, task: AnswerTask, passages: Sequence[Passage], emit: Emit, stopped: threading.Event
    ) -> Answer:
        messages, block = self._messages(task, passages)
        limit = f"answer_prompt_tokens ({self._prompt_tokens})"
        if not block.citations:
            reason = "no passage fits into the prompt, so the model was not asked; shorten the prompt, or raise"
            return _without_model(task, passages, emit, degraded=(Degraded("model", "", f"{reason} {limit}"),))
        notes = _left_out(passages, block, limit)
        tokens = sum(estimate_tokens(text) for _, text in messages)
        pieces = _until(stopped, model.stream(messages))
        written = write(
            pieces,
            block.numbers,
            show=lambda text: emit(AnswerText(text)),
            withdraw=lambda reason: emit(AnswerWithdrawn(reason, model.name)),
        )
        missing = _cut(model, written)
        if not written.found:
            text = say("not_found", task.language)
            emit(AnswerText(text))
            return Answer(text, model.name, prompt_tokens=tokens, degraded=missing, notes=notes)
        citations = {citation.number: citation for citation in block.citations}
        return Answer(
            written.text,
            model.name,
            found=True,
            citations=tuple(citations[number] for number in written.cited),
            removed_citations=written.removed,
            prompt_tokens=tokens,
            degraded=missing,
            notes=notes,
        )

    def _messages(self, task: AnswerTask, passages: Sequence[Passage]) -> tuple[list[tuple[str, str]], PassageBlock]:
        """System and user message within the budget, and the passages in the latter.

        Only our own words stand in the system message: the prompt and the rules for passages.
        """
        question = fitting(task.question, int(self._prompt_tokens * QUESTION_SHARE))
        empty = task.prompt.messages(passages="", question=question)
        rules = passage_block(passages, tokens=self._prompt_tokens).rules
        left = self._prompt_tokens - sum(estimate_tokens(text) for _, text in empty) - estimate_tokens(rules) - 8
        block = passage_block(passages, tokens=left)
        (role, system), user = task.prompt.messages(passages=block.text, question=question)
        return [(role, system + block.rules), user], block


def _left_out(passages: Sequence[Passage], block: PassageBlock, limit: str) -> tuple[str, ...]:
    """That the budget is too small for some of the passages, if it is."""
    count = len(passages) - len(block.citations)
    if not count:
        return ()
    left_out = f"the last {count} of {len(passages)} passages do not fit into the prompt"
    return (f"{left_out}; ask for fewer, or raise {limit}",)


def _cut(model: ChatModel, written: Written) -> tuple[Degraded, ...]:
    if not written.cut:
        return ()
    return (Degraded("model", "", f"the model {model.name} stopped within a thought; its answer may lack the end"),)


def _until(stopped: threading.Event, pieces: Iterator[str]) -> Iterator[str]:
    for piece in pieces:
        if stopped.is_set():
            return
        yield piece


def _without_model(
    task: AnswerTask, passages: Sequence[Passage], emit: Emit, *, degraded: tuple[Degraded, ...] = ()
) -> Answer:
    block = passage_block(passages, tokens=EXTRACT_TOKENS)
    extract = task.without_model(block.citations)
    checked = CitationFilter(block.numbers)
    text = checked.feed(extract.text) + checked.flush()
    emit(AnswerText(text))
    citations = {citation.number: citation for citation in block.citations}
    return Answer(
        text,
        "extractive",
        found=extract.found,
        citations=tuple(citations[number] for number in checked.cited),
        degraded=degraded,
    )
