"""Words around a number that say whether it is rounded, or is the least or the most: about, 以上, 이하."""

from __future__ import annotations

import re

_ABOUT_BEFORE = re.compile(
    r"(?:\b(?:about|around|roughly|approximately|approx\.?|nearly|almost|some|circa|ca\.)\s|~\s?|約|およそ|ほぼ|概ね"
    r"|약\s?|대략\s?|거의\s?)$",
    re.I,
)
_ABOUT_AFTER = re.compile(r"\s?(?:ほど|程度|くらい|ぐらい|余り?|前後|정도|여|가량|남짓|내외|or so\b)")
_BOUND_BEFORE = (
    (
        -1,
        re.compile(
            r"(?:\b(?:under|at (?:the )?most|(?:less|fewer|lower|younger|shorter|cheaper) than|up to|below|maximum"
            r"(?: \w+)? (?:of|is)|limit(?: \w+)? (?:of|is)|within|(?:not|never|cannot|n['’]t) exceed\w*"
            r"|(?:no|not) (?:more|older|longer|later|higher|greater) than)|最大|最高|上限は?|최대|최고)\s?$",
            re.I,
        ),
    ),
    (
        1,
        re.compile(
            r"(?:\b(?:over|at least|(?:more|older|longer|higher|greater) than|exceed\w*|above"
            r"|minimum(?: \w+)? (?:of|is)"
            r"|(?:no|not) (?:less|fewer|younger|lower|shorter) than|not below)"
            r"|最低でも?|最小|下限は?|少なくとも|최소|최저|적어도)\s?$",
            re.I,
        ),
    ),
)
_NO_MORE = (
    r"超え(?:ない|ず|ては|ることはでき|ません)|超過し(?:ない|ては)|上回らない"
    r"|초과(?:하지 ?(?:않|못)|할 ?수 ?없)|넘(?:지 ?(?:않|못|말)|을 ?수 ?없)"
)
_FROM = re.compile("부터|에서")
_PARTICLE = r"[가-힣\u4e00-\u9fff]{0,2}?\s?"
_BOUND_AFTER = (
    (
        -1,
        re.compile(
            rf"{_PARTICLE}(?:以下|未満|以内|を下回(?:る|った|れば|り)?|이하|미만|이내|까지"
            r"|에 ?(?:미달|못 ?미치)|을? ?밑도"
            rf"|[をは을를이가]? ?(?:{_NO_MORE})"
            r"|보다 ?(?:적|작|낮|짧|젊)|より(?:も)?(?:少な|小さ|低|短|若)"
            r"|or (?:less|fewer|below|under|younger|lower|earlier)\b|and (?:below|under|younger)\b|at (?:the )?most\b)"
        ),
    ),
    (
        1,
        re.compile(
            rf"{_PARTICLE}(?:以上|超|を超え(?:る|た|て|れば)?|を上回(?:る|った|れば|り)?"
            r"|を過ぎ|余り?|여\s?[명개]|이상|초과(?:할 ?수 ?있)?"
            rf"|[을를이가]? ?(?:초과할 ?수 ?있|넘|지나)"
            r"|보다 ?(?:많|크|큰|높|길|긴)|より(?:も)?(?:多|大き|高|長)"
            r"|or (?:more|above|over|older|higher|later)\b|and (?:above|over|older|up)\b|at least\b)"
        ),
    ),
)


def is_about(before: str, text: str, end: int) -> bool:
    """Return whether a number that ends at ``end``, behind ``before``, is said to be rounded."""
    return bool(_ABOUT_BEFORE.search(before) or _ABOUT_AFTER.match(text, end))


def bound(before: str, text: str, start: int, end: int) -> tuple[int, tuple[int, int]]:
    """Return 1 for *at least*, -1 for *at most*, else 0, and the characters of the number with those words."""
    for sign, words in _BOUND_BEFORE:
        if found := words.search(before):
            return sign, (start - len(before) + found.start(), end)
    for sign, words in _BOUND_AFTER:
        if (found := words.match(text, end)) and not (found[0].endswith("까지") and _FROM.search(before)):
            return sign, (start, found.end())
    return 0, (start, end)
