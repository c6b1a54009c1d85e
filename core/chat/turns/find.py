"""Finds messages by their words, in any script: each word is a part of the text, whatever its case and width."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlalchemy import Connection, and_, func, select

from braid.core.chat.marks import without_marks
from braid.core.ledger.database import storable
from braid.core.ledger.tables import ConversationRow, MessageTextRow
from braid.core.text.normalization import normalize

MAX_WORDS = 8
MAX_WORD_CHARS = 200
BEFORE_CHARS = 15
AFTER_CHARS = 70
"""Characters of an excerpt before and after the first word."""

_BLANKS = re.compile(r"[ \t]+")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_RULE = re.compile(r"^[ \t|:*_=-]*$", re.MULTILINE)
_LINE_START = re.compile(r"^[ \t]*(?:(?:[-*+>]|#{1,6})[ \t]+)*", re.MULTILINE)
_LINK = re.compile(r"\[([^\[\]\n]*)\]\([^()\s]*\)")
_EMPHASIS = re.compile(r"\*\*+|(?<!\w)__+|(?<!_)__++(?!\w)|~~+|`+|\*(?=\w)|(?<=[^\s*])\*")


def fold(text: str) -> str:
    """Return the text as it is compared: NFKC, without case."""
    return normalize(text).casefold()


def words_of(text: str) -> list[str]:
    """Return the folded words of what somebody searches for; of a longer text only the beginning."""
    return [word[:MAX_WORD_CHARS] for word in fold(storable(text)).split()[:MAX_WORDS]]


def find_messages(connection: Connection, user_id: int, words: Sequence[str]) -> dict[int, int]:
    """Return conversation id → id of its newest message that has all the words. Reads this user's messages alone."""
    has_all = and_(*(MessageTextRow.folded.contains(word, autoescape=True) for word in words))
    newest = (
        select(MessageTextRow.conversation_id, func.max(MessageTextRow.message_id))
        .join(ConversationRow, ConversationRow.id == MessageTextRow.conversation_id)
        .where(ConversationRow.user_id == user_id, ConversationRow.deleted_at.is_(None), has_all)
        .group_by(MessageTextRow.conversation_id)
    )
    return {row.conversation_id: row[1] for row in connection.execute(newest)}


def spoken(marked_text: str) -> str:
    """Return an answer without its citations (see `braid.core.chat.marks`) and the signs of Markdown."""
    text = without_marks(_BLANKS.sub(" ", marked_text))
    text = _LINK.sub(r"\1", _ESCAPED.sub(r"\1", _RULE.sub("", text)))
    return _EMPHASIS.sub("", _LINE_START.sub("", text)).replace("|", " ")


def excerpt(text: str, word: str) -> str:
    """Return the part of the text around the first occurrence of a folded word, in one line."""
    line = " ".join(text.split())
    at = fold(line).find(word)  # folding seldom changes a length: the place is about right
    start = max(0, min(at, len(line)) - BEFORE_CHARS)
    if start:  # with a whole word, where blanks part words
        start = line.find(" ", start - 1, at) + 1 or start
    end = max(0, at) + len(word) + AFTER_CHARS
    return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"
