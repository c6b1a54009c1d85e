"""Parses replies of models, which may number, quote, fence, repeat, explain, refuse, or write far too much."""

from __future__ import annotations

import json
import re
import unicodedata

from braid.core.text.scripts import same_script
from braid.core.text.sentences import sentences

MAX_QUERY_LINE_CHARS = 300
"""Longest line that counts as a query; a longer one is an explanation."""
MAX_PASSAGE_CHARS = 1_500
"""Longest passage; a longer one is cut at the end of a sentence."""

_FENCE = re.compile(r"^[ \t]*(?:```|~~~).*$", re.MULTILINE)
_NUMBER = re.compile(
    r"^(?:[-*+•・‣◦>#]++\s+|[-•・‣◦]++|[(（\[【]?\d{1,2}[)）\]】.．:：、]\s*|[①-⑳]\s*|[a-hA-H][).]\s+)+"
)
_LABEL = re.compile(
    r"^(?:(?:alternative|search|rewritten|reformulated|general|step[- ]?back)?\s*"
    r"(?:query|question|variant|version|passage|answer)|質問|クエリ|検索語|言い換え|質問文|질문|검색어|쿼리|답변|回答)"
    r"\s*+\d{0,2}\s*+[:：]\s*",
    re.IGNORECASE,
)
_QUOTES = "\"'`“”‘’«»„「」『』*_ \t\u3000"
_PREAMBLE_END = (":", "：")
_RAW = 4
"""A line that is so many times longer than a query may be is none, whatever is stripped from it."""
_REFUSAL = re.compile(
    r"^\W*(?:i['’]?m (?:really |very )?sorry|sorry,|i apologi[sz]e"
    r"|i (?:can(?:no|['’])t|am unable|am not able|won['’]t)\b"
    r"|as an ai\b|as a language model|unfortunately,? i\b|i don['’]t (?:have|know)\b|(?:n/?a|none)\W*$"
    r"|申し訳|すみません|ごめんなさい|お答えできません|죄송|미안|답변(?:할|드릴) 수 없)",
    re.IGNORECASE,
)
_SENTENCE_NUMBER = re.compile(r"(?<![\d.])(\d{1,3})\.(\d{1,3})(?![\d.]*\d)")


def parse_queries(text: str, *, question: str, limit: int, max_chars: int = MAX_QUERY_LINE_CHARS) -> list[str] | None:
    """Return up to ``limit`` queries, one per line or in a JSON list, other than the question; None if there is none.

    Queries longer than ``max_chars`` are left out.
    """
    lines = _json_strings(text) or _remove_fence(text).splitlines()
    found: dict[str, str] = {}
    known = {_make_comparable(question)}
    for line in lines:
        if len(line) > _RAW * max_chars:
            continue
        query = _strip_line(line)
        key = _make_comparable(query)
        if not key or key in known or line.rstrip().endswith(_PREAMBLE_END) or len(query) > max_chars:
            continue
        if _REFUSAL.match(query) or not same_script(question, query):
            continue
        found.setdefault(key, query)
    return list(found.values())[:limit] or None


def parse_passage(text: str, *, question: str) -> str | None:
    """Return the passage, cut to MAX_PASSAGE_CHARS; None for a refusal, the question repeated, or another script."""
    lines = [line.strip() for line in _remove_fence(text).splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].endswith(_PREAMBLE_END):
        lines = lines[1:]
    passage = _LABEL.sub("", " ".join(lines)).strip(_QUOTES)
    key = _make_comparable(passage)
    if not key or key == _make_comparable(question) or _REFUSAL.match(passage) or not same_script(question, passage):
        return None
    return cut_at_sentence(passage, MAX_PASSAGE_CHARS)


def parse_sentence_numbers(text: str) -> set[tuple[int, int]] | None:
    """Return numbers such as 1.2, of passage and sentence; empty for NONE; None if the reply is neither."""
    answer = _remove_fence(text)
    numbers = {(int(passage), int(sentence)) for passage, sentence in _SENTENCE_NUMBER.findall(answer)}
    return numbers if numbers or re.fullmatch(r"\W*none\W*", answer, re.IGNORECASE) else None


def cut_at_sentence(text: str, chars: int) -> str:
    """Cut after the last sentence that fits, or within the first one if that is longer than ``chars``."""
    kept = ""
    for sentence in sentences(text):
        if len(kept) + len(sentence.rstrip()) > chars:
            break
        kept += sentence
    return (kept or text[:chars]).rstrip()


def _remove_fence(text: str) -> str:
    return _FENCE.sub("", text).strip()


def _strip_line(line: str) -> str:
    """Strip a line of its number, bullet, label and quotes."""
    before = None
    while before != line:
        before = line
        line = _LABEL.sub("", _NUMBER.sub("", line.strip()).strip(_QUOTES)).rstrip(",")
    return line


def _json_strings(text: str) -> list[str]:
    """Return the texts of a JSON list, or of a list that is the only value of an object."""
    try:
        value = json.loads(_remove_fence(text))
    except (ValueError, RecursionError):
        return []
    if isinstance(value, dict) and len(value) == 1:
        value = next(iter(value.values()))
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _make_comparable(text: str) -> str:
    """Reduce a text for comparison: without case, width, spaces and punctuation."""
    return "".join(c for c in unicodedata.normalize("NFKC", text).casefold() if c.isalnum())
