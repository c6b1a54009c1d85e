"""Writes the query of a chat turn: completes the question, then asks the search model for a query."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from braid.core.chat.asking.follow_up import complete
from braid.core.chat.asking.other_languages import NAMES, wordings_in
from braid.core.chat.comparison import ThreeFields
from braid.core.chat.marks import CitationFilter, marked, without_marks
from braid.core.chat.quoting.onward import goes_on
from braid.core.chat.types import ChatRequest, QueryWritten, Turn
from braid.core.errors import InvalidInputError, ModelError, Reason
from braid.core.models.chat import ChatModel
from braid.core.models.prompts import Prompt, Prompts
from braid.core.models.replies import MAX_QUERY_LINE_CHARS, parse_queries
from braid.core.models.untrusted_text import as_data
from braid.core.search.term_weights import TermWeights
from braid.core.text.scripts import same_script
from braid.core.text.token_budget import estimate_tokens, fitting
from braid.core.types import MAX_QUERY_CHARS, Degraded

QUERY_TIMEOUT_S = 20.0
"""The longest that the model of the answers is waited for, which may take longer for an answer."""
HISTORY_TOKENS = 1_500
HISTORY_TURNS = 12
TURN_TOKENS = 300
ALL_NUMBERS = frozenset(range(1, 100))
_FIELD_LINE = re.compile(r"^[\W_]*(purpose|materials?|methods?)[\s*_]*[:：]\s*(.+)$", re.IGNORECASE)

Missing = tuple[Degraded, ...]


@dataclass(frozen=True, slots=True)
class NormalizedQuestion:
    """A question that can be understood alone. ``generator`` rewrote it: ``none``, ``feedback`` or a model's name."""

    text: str
    """The question as it was typed, unless the search model rewrote it."""
    query: str
    """The text to search for."""
    generator: str = "none"
    fields: ThreeFields | None = None
    readable: str = ""
    """The text with what it leaves out, as it is shown; empty where it is the text itself."""
    own: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Terms of its own words, by the first of each, where ``feedback`` has added others; they choose what is quoted."""
    after: str = ""
    """The last answer, where the question asks for no more than what follows it; not where a model rewrote it."""
    wordings: tuple[str, ...] = ()
    """The same in other languages, where the model that rewrote it has written these."""

    @property
    def alone(self) -> str:
        """The question as a model rewrote it, else as it was typed."""
        return self.text if self.generator == "feedback" else self.readable or self.text

    def earlier(self, history: Sequence[Turn]) -> str:
        """Return the earlier turns for the summary model; empty if the search model has put them into the question."""
        if not self.readable or not history:
            return ""
        return f"\n\n(Earlier in the conversation, for what the question refers to:\n{history_text(history)})"


def normalize_question(
    request: ChatRequest,
    model: ChatModel | None,
    prompts: Prompts,
    term_weights: TermWeights,
    *,
    writer: ChatModel | None = None,
    languages: Sequence[str] = (),
) -> tuple[NormalizedQuestion, Missing]:
    """Rewrite the request's question so that it can be understood alone; report the model if it failed.

    ``writer``, the model of the answers, rewrites what is searched for where there is no other ``model``, and in the
    same call into the ``languages``, which are codes.
    Without a model, or when it fails, generator ``feedback`` takes its place: words of the earlier turns are added.
    """
    if request.fields is not None:
        return _normalize_fields(request.fields, model, prompts)
    if not request.history:
        return NormalizedQuestion(request.text, request.text), ()
    by_writer, model = model is None, model or writer
    timeout_s = QUERY_TIMEOUT_S if by_writer else None
    history = history_text(request.history)
    question, wordings, missing = _lines(
        model,
        prompts.normalize,
        request.text,
        languages=languages if by_writer else (),
        timeout_s=timeout_s,
        history=history,
        question=request.text,
    )
    if model is not None and question:
        if by_writer:  # its prompt has the turns themselves, and the question as it was typed
            rewritten = NormalizedQuestion(request.text, question, model.name, readable=question, wordings=wordings)
            return rewritten, ()
        return NormalizedQuestion(question, question, model.name), ()
    earlier = [turn.text for turn in request.history if turn.role == "user"]
    answered = next((turn.text for turn in reversed(request.history) if turn.role == "assistant"), "")
    found = complete(request.text, earlier, term_weights.analyzer, term_weights.known, answered=answered)
    query = found.query if len(found.query) <= MAX_QUERY_CHARS else request.text
    normalized = NormalizedQuestion(
        request.text,
        query,
        "feedback",
        readable=found.readable,
        own=found.own_terms,
        after=answered if goes_on(request.text) else "",
    )
    return normalized, missing


def write_query(
    question: NormalizedQuestion, model: ChatModel | None, prompts: Prompts, *, languages: Sequence[str] = ()
) -> tuple[QueryWritten, tuple[str, ...], Missing]:
    """Write the query for the question, and its wordings in the ``languages``; report the model if it failed."""
    query, wordings, missing = _lines(
        model, prompts.generate_query, question.text, languages=languages, question=question.text
    )
    wordings = wordings or question.wordings
    if model is not None and query:
        return QueryWritten(question.text, query, model.name), wordings, ()
    as_it_is = QueryWritten(question.readable or question.text, question.query, question.generator)
    return as_it_is, wordings, missing


def write_wordings(
    question: NormalizedQuestion, writer: ChatModel | None, prompts: Prompts, languages: Sequence[str]
) -> tuple[tuple[str, ...], Missing]:
    """Word the question in the ``languages`` by the model of the answers; report the model if it failed."""
    _, wordings, missing = _lines(
        writer,
        prompts.generate_query,
        question.text,
        languages=languages,
        timeout_s=QUERY_TIMEOUT_S,
        question=question.text,
    )
    return wordings, missing


def history_text(history: Sequence[Turn]) -> str:
    """Return the last turns, one per line, the oldest first; escaped, since an answer may quote a passage.

    The citations of earlier answers are left out: their numbers are not those of this question's passages.
    """
    lines: list[str] = []
    left = HISTORY_TOKENS
    for turn in reversed(history[-HISTORY_TURNS:]):
        text = turn.text if turn.role == "user" else _uncited(turn)
        line = fitting(as_data(" ".join(text.split())), min(left, TURN_TOKENS))
        if not line:
            break
        lines.insert(0, f"{'User' if turn.role == 'user' else 'Assistant'}: {line}")
        left -= estimate_tokens(line)
        if left <= 0:
            break
    return "\n".join(lines)


def _uncited(answer: Turn) -> str:
    if answer.marks is None:
        return without_marks(CitationFilter(ALL_NUMBERS).read(answer.text))
    return without_marks(marked(answer.text, answer.marks))


def _normalize_fields(
    fields: ThreeFields, model: ChatModel | None, prompts: Prompts
) -> tuple[NormalizedQuestion, Missing]:
    """Normalize units; a model, if there is one, normalizes terms as well."""
    unified = fields.with_unified_units()
    written, missing = _ask(model, prompts.normalize_fields, fields=unified.describe("en"))
    if model is not None and not missing:
        merged = _merge(unified, _read_fields(written, unified))
        if merged is not None:
            return NormalizedQuestion(merged.query, merged.query, model.name, merged), ()
        missing = (_unusable(model, written),)
    return NormalizedQuestion(unified.query, unified.query, "feedback", unified), missing


def _merge(asked: ThreeFields, rewritten: dict[str, str]) -> ThreeFields | None:
    """Return the fields with the rewritten ones in place; None if there is none, or together they are too long."""
    if not rewritten:
        return None
    try:
        return ThreeFields(**{**asked.named, **rewritten}, instruction=asked.instruction).with_unified_units()
    except InvalidInputError:
        return None


def _read_fields(written: str, asked: ThreeFields) -> dict[str, str]:
    """Return the asked fields that the model wrote, each on its own line and in the same script."""
    found: dict[str, str] = {}
    for line in written.splitlines():
        if match := _FIELD_LINE.match(line):
            name = {"p": "purpose"}.get(match[1][0].lower()) or f"{match[1].lower().rstrip('s')}s"
            text = match[2].strip(" *_\"'`")
            if name in asked.named and text and same_script(asked.named[name], text):
                found[name] = text[: 2 * len(asked.named[name]) + 200]
    return found


def _lines(
    model: ChatModel | None,
    prompt: Prompt,
    asked: str,
    *,
    languages: Sequence[str] = (),
    timeout_s: float | None = None,
    **values: object,
) -> tuple[str, tuple[str, ...], Missing]:
    """Ask for one line in the script of ``asked``, and for the same in each of the languages; empty if there is no
    model, or its reply is unusable.
    """
    names = [NAMES[code] for code in languages]
    written, missing = _ask(model, prompt.also_in(names), timeout_s=timeout_s, **values)
    if model is None or missing:
        return "", (), missing
    longest = min(MAX_QUERY_CHARS, max(MAX_QUERY_LINE_CHARS, 2 * len(asked)))
    lines = parse_queries(written, question="", limit=1 + len(languages), max_chars=longest) or []
    first = lines[0] if lines and same_script(asked, lines[0]) else ""
    wordings = wordings_in(languages, lines[1:] if first else lines)
    return first, wordings, () if first or wordings else (_unusable(model, written),)


def _ask(
    model: ChatModel | None, prompt: Prompt, *, timeout_s: float | None = None, **values: object
) -> tuple[str, Missing]:
    if model is None:
        return "", ()
    try:
        return model.complete(prompt.messages(**values), timeout_s=timeout_s), ()
    except ModelError as error:
        return "", (Degraded("model", "", Reason("%(reason)s; feedback is used instead", reason=error)),)


def _unusable(model: ChatModel, written: str) -> Degraded:
    reply = " ".join(written.split())[:80]
    reason = Reason("the model %(model)s gave nothing usable (%(said)s)", model=model.name, said=repr(reply))
    return Degraded("model", "", Reason("%(reason)s; feedback is used instead", reason=reason))
