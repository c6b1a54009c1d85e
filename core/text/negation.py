"""Finds what denies in a sentence. Idioms that only look like it are left out."""

from __future__ import annotations

import re

_NEGATIONS = {
    "en": re.compile(
        r"\bno longer\b(?! than)"
        r"|\b(?:not|never|cannot|none|neither(?:\b[^.;]{0,80}?\bnor)?|nor|without|nobody|nothing|unable|no)\b|\b[a-z]+n['’]t\b"
        r"|\b(?:do|does|did|is|are|was|were|wo|ca|could|would|should|have|has|had)nt\b",
        re.IGNORECASE,
    ),
    "ja": re.compile(
        r"(?:で(?:は|も)|じゃ|には?|も|は|が)?な(?:い|かった|く|けれ)|ません|無い|なし(?!と)"
        r"|[さたなまらわがばえけせてねめれべきりいじしび]ず(?=[、にと。\s]|$)|[得出来見経着寝似居]ず(?=[、にと。\s])|ざる|ぬ(?=[。、\s]|$)|不可(?!欠|避|分)"
    ),
    "ko": re.compile(
        r"(?:(?:지|진|지는|지도|질)\s?(?:않|못|마)|(?<![가-힣])(?:안|못)\s(?=[가-힣])|(?<![가-힣])못(?=[하한할함했해합])|(?<![가-힣])안(?=[되된될됨됐돼])|아니|아닙|아닌(?!가)|아님|아닐|없|(?<=지)\s?말)[가-힣]*"
    ),
}
_IDIOMS = {
    "en": re.compile(
        r"\bnot only\b|\bno later than\b"
        r"|\bno (?:more|less|fewer)\b|\bn(?:ot|o) (?:more|less|fewer|later|longer|older|younger|higher|lower|greater"
        r"|shorter) than\b"
        r"|\bwhether or not\b|\bif not\b|\bno\.\s?\d|\bnot to mention\b|\bnone the less\b|\bnothing but\b|\bno doubt\b"
        r"|\bnot necessarily\b|\bnot all\b|\bno matter\b|\bif not\b|\bnot just\b|\bnot exceed\w*",
        re.IGNORECASE,
    ),
    "ja": re.compile(
        r"な(?:いわけ|くは|いことは|いとは限ら)(?:では|も)?(?:ない|ありません)|な(?:ければ|くては|いと)(?:なら|いけ)な[いく]|なければ(?:なりません|いけません)|だけで(?:は)?なく|のみならず|ばかりで(?:は)?なく|しかな[いく]"
        r"|かもしれ(?:ない|ません)|に(?:ほか|他)なら(?:ない|ず)|に(?:過|す)ぎ(?:ない|ず|ません)|やむを得(?:ない|ず)|少な[いくかけ]|すくな[いく]|危な[いく]|つまらない|とんでもない"
        r"|もったいない|間もなく|まもなく|限りな[いく]|さりげな[いく]|ぎこちな[いく]|何気な[いく]|向こう見ず|かかわらず|関わらず|問わず|必ず|まず|いわず|思わず|やむなく"
        r"|わけではない|ざるを得な[いく]|はなし|おなじ|みなす|みなし|おこな[いくっわ]|伴な[いくっわ]|行な[いくっわ]|うしな[いくっわ]|ともな[いくっわ]|つな[いくが]"
        r"|そこな[いくっわ]|たいな[いく]|くない(?:うち|ところ)|はじめ|とはいえず|以外にな[いく]|ではなく|でなく|はなく|もなく|がなく"
    ),
    "ko": re.compile(
        r"뿐(?:만)?\s?아니라|수밖에\s?없|않으면\s?안|지\s?않을\s?수\s?없|지\s?않으면|틀림\s?없|관계\s?없|상관\s?없|끊임\s?없|다름\s?없|빠짐\s?없|어쩔\s?수\s?없"
        r"|아니(?:라|며|고)|없애|없어지|불가능성|불가결|불가피|못지\s?않"
    ),
}


def negations(text: str, language: str) -> list[tuple[int, int]]:
    """Return the characters of a normalized sentence that deny something."""
    idioms = [found.span() for found in _IDIOMS[language].finditer(text)]
    return [
        found.span()
        for found in _NEGATIONS[language].finditer(text)
        if not any(start < found.end() and found.start() < end for start, end in idioms)
    ]
