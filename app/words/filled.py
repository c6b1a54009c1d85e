"""Translated texts with their values: numbers with separators, and the Korean particles that go with them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

from babel import Locale
from babel.support import NullTranslations
from flask import g
from flask_babel import Domain, get_locale, get_translations
from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup

Text = TypeVar("Text", str, Markup)

NOT_COUNTED = ("id", "ids")
"""Variables whose numbers are names."""

BEFORE_JAPANESE = re.compile(r"(%\((\w+)\)s) (?=[ぁ-んァ-ヶ一-龠])")
"""A variable with the blank that stands between Latin letters and Japanese, and not after these."""
ENDS_IN_JAPANESE = ("」", "さん")


def number(value: int) -> str:
    """Return a number with separators, as English, Japanese and Korean write it."""
    return f"{value:,}"


def fill(text: Text, variables: Mapping[str, Any]) -> Text:
    """Return the text with its variables, which are escaped in Markup. What a variable says is never changed.

    >>> fill("%(num)s passages", {"num": 2173})
    '2,173 passages'
    >>> fill("%(name)s을(를) 삭제했어요.", {"name": "보고서"})
    '보고서를 삭제했어요.'
    >>> fill("%(name)s も読めます。", {"name": "グループ「東京」"})
    'グループ「東京」も読めます。'
    """
    shown = {name: _shown(name, value) for name, value in variables.items()}
    if any(str(value).endswith(ENDS_IN_JAPANESE) for value in shown.values()):
        text = type(text)(
            BEFORE_JAPANESE.sub(lambda one: one[1] if str(shown[one[2]]).endswith(ENDS_IN_JAPANESE) else one[0], text)
        )
    if "(" not in text or not PARTICLE.search(text):
        return text % shown
    kind, filled, start = type(text), type(text)(""), 0
    for found in PARTICLE.finditer(text):
        filled += kind(text[start : found.start()]) % shown
        before = filled.striptags() if isinstance(filled, Markup) else filled
        filled += kind(choose(found[0], before))
        start = found.end()
    return filled + kind(text[start:]) % shown


def _shown(name: str, value: object) -> object:
    is_count = isinstance(value, int) and not isinstance(value, bool) and name not in NOT_COUNTED
    return number(value) if is_count else value  # type: ignore[arg-type]


class FilledDomain(Domain):  # type: ignore[misc]  # Flask-Babel's is not typed
    """The texts of another domain, filled by `fill`."""

    def __init__(self, domain: Domain) -> None:
        self._domain = domain

    def get_translations(self) -> Any:
        """Return the other domain's texts in the language of the request."""
        return self._domain.get_translations()

    def gettext(self, string: str, **variables: Any) -> str:
        """Return a text in the language of the request."""
        text: str = self.get_translations().ugettext(string)
        return fill(text, variables) if variables else text

    def ngettext(self, singular: str, plural: str, num: int, **variables: Any) -> str:
        """Return the text for this number of things."""
        text: str = self.get_translations().ungettext(singular, plural, num)
        return fill(text, {"num": num, **variables})

    def pgettext(self, context: str, string: str, **variables: Any) -> str:
        """Return a text that has a context."""
        text: str = self.get_translations().upgettext(context, string)
        return fill(text, variables) if variables else text

    def npgettext(self, context: str, singular: str, plural: str, num: int, **variables: Any) -> str:
        """Return the text that has a context for this number of things."""
        text: str = self.get_translations().unpgettext(context, singular, plural, num)
        return fill(text, {"num": num, **variables})


def _translations() -> NullTranslations:
    """Return the translations of the current locale, which may differ from the page's while a template is rendered."""
    locale = get_locale()
    if locale is None:  # outside of requests
        return NullTranslations()
    kept: tuple[Locale, NullTranslations] | None = g.get("braid_translations")
    if kept is None or kept[0] is not locale:
        kept = g.braid_translations = (locale, get_translations())
    return kept[1]


def _filled(context: Context, text: str, variables: Mapping[str, Any]) -> str:
    return fill(Markup(text) if context.eval_ctx.autoescape else text, variables)


@pass_context
def _gettext(context: Context, text: str, /, **variables: Any) -> str:
    return _filled(context, _translations().ugettext(text), variables)


@pass_context
def _ngettext(context: Context, one: str, many: str, number: int, /, **variables: Any) -> str:
    return _filled(context, _translations().ungettext(one, many, number), {"num": number, **variables})


@pass_context
def _pgettext(context: Context, sense: str, text: str, /, **variables: Any) -> str:
    return _filled(context, _translations().upgettext(sense, text), variables)


@pass_context
def _npgettext(context: Context, sense: str, one: str, many: str, number: int, /, **variables: Any) -> str:
    return _filled(context, _translations().unpgettext(sense, one, many, number), {"num": number, **variables})


TEXTS: Mapping[str, Callable[..., str]] = {
    "_": _gettext,
    "gettext": _gettext,
    "ngettext": _ngettext,
    "pgettext": _pgettext,
    "npgettext": _npgettext,
}
"""The functions of templates that return texts, as Jinja's extension for them calls them."""


# ---------------------------------------------------------------- Korean particles
# They depend on the sound before them: 문서를, 파일을; 서버로, 폴더로, 파일로, 그룹으로.

Sound = Literal["vowel", "l", "consonant", ""]
"""How a word ends when it is spoken; ``l`` is ㄹ, after which 로 is said. Empty where nobody knows."""

PARTICLE = re.compile(
    r"은\(는\)|는\(은\)|이\(가\)|가\(이\)|을\(를\)|를\(을\)|과\(와\)|와\(과\)|\(으\)로|\(이\)(?=라|란|나|에요)"
)
"""A particle as translations write it, in both of its forms."""

_AFTER_CONSONANT = {"은": "은", "는": "은", "이": "이", "가": "이", "을": "을", "를": "을", "과": "과", "와": "과"}
_AFTER_VOWEL = {"은": "는", "는": "는", "이": "가", "가": "가", "을": "를", "를": "를", "과": "와", "와": "와"}

_FIRST_SYLLABLE, _LAST_SYLLABLE, _FINALS, _FINAL_L = 0xAC00, 0xD7A3, 28, 8
_SEEN_CHARS = 60
_CLOSING = frozenset("\"'`“”‘’<>»›」』)]}…!?,;:*_~·-")
"""What is not spoken at the end, as is what is added in brackets."""
_BRACKETS = {")": "(", "]": "["}
_WORD = re.compile(r"[A-Za-z]+$")
_VOWEL = re.compile(r"[aeiouy]", re.IGNORECASE)
_LETTERS_SPOKEN: dict[str, Sound] = {"L": "l", "R": "l", "M": "consonant", "N": "consonant"}
"""Letters whose Korean names end in a consonant: 엘, 알, 엠, 엔."""
_SAID_BY_LETTER = 4
"""Longest ending of a file's name that is spelled out, such as ``docx``."""
_DIGITS: dict[str, Sound] = {
    **dict.fromkeys("2459", "vowel"),
    **dict.fromkeys("178", "l"),
    **dict.fromkeys("036", "consonant"),
}
_LIQUID = re.compile(r"(?:l|le|[^aeiou]el|al|il|ol|ul)$")
_NASAL = re.compile(r"(?:[mn]|ng|[mn]e)$")
_STOP = re.compile(r"(?:^|[^aeiou])[aeiou](?:p|t|k|ck)$|ook$|[aeiou]b$")
"""A stop after a short vowel is a final consonant (백업, 챗); after other sounds a vowel is added (노트, 마크)."""


def choose(particle: str, before: str) -> str:
    """Return the form of a particle, given as in `PARTICLE`, that is said after a text; both where nobody knows.

    >>> choose("을(를)", "보고서"), choose("을(를)", "파일")
    ('를', '을')
    >>> choose("(으)로", "서울"), choose("이(가)", "report.pdf"), choose("은(는)", "“Python”")
    ('로', '가', '은')
    """
    sound = final_sound(before)
    if not sound:
        return particle
    if particle == "(으)로":
        return "으로" if sound == "consonant" else "로"
    if particle == "(이)":
        return "" if sound == "vowel" else "이"
    return (_AFTER_VOWEL if sound == "vowel" else _AFTER_CONSONANT)[particle[0]]


def final_sound(text: str) -> Sound:
    """Return how the text ends when it is read aloud in Korean; numbers and Latin letters are read, too."""
    spoken = _spoken(text[-_SEEN_CHARS:].rstrip())
    last = spoken[-1:]
    if _FIRST_SYLLABLE <= ord(last or " ") <= _LAST_SYLLABLE:
        final = (ord(last) - _FIRST_SYLLABLE) % _FINALS
        return "vowel" if not final else "l" if final == _FINAL_L else "consonant"
    if last in _DIGITS:
        return _DIGITS[last]
    if last == "%":
        return "vowel"  # 퍼센트
    if "ぁ" <= last <= "ヿ":
        return "consonant" if last in "んン" else "vowel"
    return _sound_of_word(spoken)


def _sound_of_word(spoken: str) -> Sound:
    """Return the sound of the Latin word at the end: abbreviations are spelled out, of others it is guessed."""
    found = _WORD.search(spoken)
    if found is None:
        return ""
    word = found[0]
    is_ending = spoken[found.start() - 1 : found.start()] == "." and len(word) <= _SAID_BY_LETTER
    if is_ending or word.isupper() or not _VOWEL.search(word):
        return _LETTERS_SPOKEN.get(word[-1].upper(), "vowel")
    word = word.lower()
    if _LIQUID.search(word):
        return "l"
    return "consonant" if _NASAL.search(word) or _STOP.search(word) else "vowel"


def _spoken(text: str) -> str:
    """Return the text without what is not spoken at its end; a sign of it at least."""
    end = len(text)
    while end > 1:
        last = text[end - 1]
        opening = text.rfind(_BRACKETS.get(last, last), 0, end - 1)
        if last in _BRACKETS and opening > 0 and last not in text[opening : end - 1]:
            end = opening
        elif last in _CLOSING or last.isspace():
            end -= 1
        else:
            break
    return text[:end]
