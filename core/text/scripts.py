"""In which language a text is written, by its script and its commonest words. Good for a page's label, not for more."""

from __future__ import annotations

import re
from collections import Counter

from braid.core.text.stopwords import STOP_WORDS

SEEN_CHARS = 400
"""Of a text's beginning."""
LEAST_STOP_WORDS = 0.12
"""Of the words, so that it is prose: English has a third, lists and code have hardly any."""
LEAST_HAN = 20
"""Characters without kana that make Chinese; a Japanese heading can do without kana, too."""

_KANA = re.compile(r"[\u3041-\u30ff]")
_HANGUL = re.compile(r"[\uac00-\ud7a3]")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_WORD = re.compile(r"[^\W\d_]+")


def text_language(text: str) -> str:
    """An ISO 639-1 code, or empty for what is in no language that is known here, such as tables and code."""
    start = text[:SEEN_CHARS]
    if len(_HANGUL.findall(start)) * 5 > len(start):
        return "ko"
    kana, han = len(_KANA.findall(start)), len(_HAN.findall(start))
    if kana * 8 > len(start) or (kana and han * 3 > len(start)):
        return "ja"
    if han * 3 > len(start):
        return "zh" if han >= LEAST_HAN else "ja"
    return _by_stop_words(_WORD.findall(start.lower()))


def _by_stop_words(words: list[str]) -> str:
    if not words:
        return ""
    known = Counter({code: sum(word in common for word in words) for code, common in STOP_WORDS.items()})
    [(code, most)] = known.most_common(1)
    return code if most >= LEAST_STOP_WORDS * len(words) else ""
