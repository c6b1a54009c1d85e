"""Scripts and languages of texts: character ranges, and guesses that are good for a label, not for more."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from typing import Literal

from braid.core.text.stopwords import STOP_WORDS

# Ranges for a character class of a regular expression.
HIRAGANA = "\u3041-\u309f"
KANA = "\u3041-\u30ff"
HAN = "\u3400-\u4dbf\u4e00-\u9fff"
HANGUL = "\uac00-\ud7a3"

LATIN, JAPANESE, KOREAN = "LATIN", "JAPANESE", "HANGUL"
"""Names of scripts. Han and kana count as one: Han alone does not tell Chinese from Japanese."""
SCRIPTS = {
    "ja": JAPANESE, "zh": JAPANESE, "ko": KOREAN, "th": "THAI", "lo": "LAO", "my": "MYANMAR", "km": "KHMER",
    "ar": "ARABIC", "fa": "ARABIC", "ur": "ARABIC", "he": "HEBREW", "yi": "HEBREW", "el": "GREEK", "hy": "ARMENIAN",
    "ru": "CYRILLIC", "uk": "CYRILLIC", "bg": "CYRILLIC", "sr": "CYRILLIC", "hi": "DEVANAGARI", "ne": "DEVANAGARI",
    "ta": "TAMIL", "ka": "GEORGIAN",
}  # fmt: skip
"""Scripts of languages, most named as their letters' Unicode names begin; all other languages are written in Latin."""
SEEN_CHARS = 400
"""Characters at a text's beginning that its language is guessed from."""
LEAST_STOP_WORDS = 0.12
"""Share of stop words from which a text is prose: English has a third, lists and code have hardly any."""
LEAST_HAN = 20
"""Han characters without kana from which a text is Chinese; a Japanese heading may do without kana, too."""
LEAST_SHARE_OF_SCRIPT = 0.1
"""Share of letters from which a text is written in a script, too: technical Japanese is half Latin."""

_ANY_CJK = re.compile(f"[{KANA}{HAN}]")
_KANA = re.compile(f"[{KANA}]")
_HAN = re.compile(f"[{HAN}]")
_HANGUL = re.compile(f"[{HANGUL}]")
_WORD = re.compile(r"[^\W\d_]+")
LEAST_OF_WORD = 2
"""Letters that a word of a question's script has more than: λ and μm are quantities."""
_OTHERS = frozenset(SCRIPTS.values()) - {JAPANESE, KOREAN}
_JAPANESE = frozenset({"CJK", "HIRAGANA", "KATAKANA"})


def text_language(text: str) -> str:
    """Return an ISO 639-1 code, by script and commonest words; empty for tables, code and unknown languages."""
    start = text[:SEEN_CHARS]
    return _east_asian_language(start) or _language_by_stop_words(_WORD.findall(start.lower()))


def display_language(text: str) -> Literal["ja", "ko", ""]:
    """Return the language that glyphs and screen readers are chosen by; Chinese is displayed as Japanese."""
    language = _east_asian_language(text[:SEEN_CHARS])
    return "ja" if language == "zh" else language


def question_language(text: str) -> Literal["en", "ja", "ko"]:
    """Return the language to answer in: Korean for any Hangul, Japanese for any kana or Han, else English."""
    if _HANGUL.search(text):
        return "ko"
    return "ja" if _ANY_CJK.search(text) else "en"


def script_of(character: str) -> str:
    """Return a letter's script as its Unicode name begins, such as ``LATIN``; empty for what is not a letter."""
    if not character.isalpha():
        return ""
    return LATIN if character.isascii() else unicodedata.name(character, "").partition(" ")[0]


def question_script(text: str) -> str:
    """Return the script that a question, or a line, is asked in: `KOREAN` for any Hangul, `JAPANESE` for any kana or
    Han; another one than `LATIN` if a tenth of the letters are in words of it, as a question may name products in
    Latin, and one in Latin quantities in Greek.

    >>> question_script("Как настроить Kubernetes Ingress?"), question_script("How large is λ, in μm?")
    ('CYRILLIC', 'LATIN')
    """
    language = question_language(text)
    if language != "en":
        return SCRIPTS[language]
    words = Counter({LATIN: 0})
    for word in _WORD.findall(text):
        if len(word) > LEAST_OF_WORD:
            words[script_of(word[0])] += len(word)
    others = {script: number for script, number in words.items() if script in _OTHERS}
    most = max(others, key=lambda script: (others[script], script), default=LATIN)
    return most if words[most] >= LEAST_SHARE_OF_SCRIPT * words.total() else LATIN


def may_be_same_language(question: str, text: str) -> bool:
    """Return whether a text may be in the language of a question, by scripts and commonest words."""
    asked, told = text_language(question), text_language(text)
    if {asked, told} == {"ja", "zh"}:
        return told == "zh" and not _KANA.search(question)  # a short question in Han alone may be either
    script = question_script(question)
    if told in ("ja", "ko", "zh") or script in (JAPANESE, KOREAN):
        return is_written_in(script, text) and SCRIPTS.get(told, script) == script
    return main_script(text) == script and (asked == told or not asked or not told)


def same_script(question: str, text: str) -> bool:
    """Return whether the text `is_written_in` the `main_script` of the question."""
    return is_written_in(main_script(question), text)


def main_script(text: str) -> str:
    """Return the script of most of the text's letters, by its Unicode name; empty for a text without letters."""
    scripts = _letters_by_script(text)
    return max(scripts, key=lambda name: (scripts[name], name), default="")


def is_written_in(script: str, text: str) -> bool:
    """Return whether a tenth of the text's letters are in the script, or there is none."""
    if not script:
        return True
    written = _letters_by_script(text)
    return bool(written) and written[script] >= LEAST_SHARE_OF_SCRIPT * written.total()


def _letters_by_script(text: str) -> Counter[str]:
    scripts = Counter(script_of(character) for character in text if character.isalpha())
    for name in _JAPANESE & scripts.keys():
        scripts[JAPANESE] += scripts.pop(name)
    return scripts


def _east_asian_language(start: str) -> Literal["ja", "ko", "zh", ""]:
    if len(_HANGUL.findall(start)) * 5 > len(start):
        return "ko"
    kana, han = len(_KANA.findall(start)), len(_HAN.findall(start))
    if kana * 8 > len(start) or (kana and han * 3 > len(start)):
        return "ja"
    if han * 3 > len(start):
        return "zh" if han >= LEAST_HAN else "ja"
    return ""


def _language_by_stop_words(words: list[str]) -> str:
    """Return the language with the most stop words among the words; single letters are variables as often as words."""
    if not words:
        return ""
    longer = [word for word in words if len(word) > 1]
    known = Counter({code: sum(word in common for word in longer) for code, common in STOP_WORDS.items()})
    [(code, most), (_, second)] = known.most_common(2)
    return code if most > second and most >= LEAST_STOP_WORDS * len(words) else ""
