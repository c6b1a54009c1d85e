"""Signs of the fonts Symbol and Wingdings, whose codes are letters of other fonts, as the characters that they show."""

from __future__ import annotations

import re

_SYMBOL = (
    " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼",
    "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪ 〉∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭",
)
"""Adobe's encoding of the font Symbol, from 0x20 and from 0xA0."""
_WINGDINGS = {"☐": "\x6f\x71\x72\xa3\xa8", "☑": "\x52\xfe", "☒": "\x54\x78\xfd", "✓": "\x50\xfc", "✗": "\x4f\xfb"} | {
    "→": "\xe0\xe8", "←": "\xdf\xe7", "↑": "\xe1\xe9", "↓": "\xe2\xea", "↔": "\xf3", "•": "\xb7", "▪": "\xa7",
    "☺": "\x4a", "☹": "\x4c",
}  # fmt: skip
_NUMBERS = "⓪①②③④⑤⑥⑦⑧⑨⑩⓿❶❷❸❹❺❻❼❽❾❿"
"""Those of Wingdings from 0x80."""
_OF_SYMBOL = {
    chr(start + at): sign for start, row in zip((0x20, 0xA0), _SYMBOL, strict=True) for at, sign in enumerate(row)
}
_OF_WINGDINGS = {code: sign for sign, codes in _WINGDINGS.items() for code in codes}
_OF_WINGDINGS |= {chr(0x80 + at): sign for at, sign in enumerate(_NUMBERS)}
_FONTS = {"symbol": _OF_SYMBOL, "wingdings": _OF_WINGDINGS, "webdings": _OF_WINGDINGS}
_PRIVATE = re.compile("[\uf020-\uf0ff]")
_CODES = re.compile("[\uf020-\uf0ff]|[!-\xff]")


def has_codes(text: str) -> bool:
    """Return whether a text has codes for private use, as Office writes those of a symbol font."""
    return _PRIVATE.search(text) is not None


def signs(text: str, font: str, *, letters: bool = False) -> str:
    """Return a text in a font as it is seen, where it has codes for private use, as Office writes those of a symbol
    font; with ``letters`` also its letters and digits, as RTF and web pages write them. What is an ornament of
    Wingdings is left out. A text in another font stays as it is.

    >>> signs("5 mm \\uf0b1 1", "Symbol"), signs("5 m", "Symbol", letters=True), signs("\\uf0fc", "Wingdings")
    ('5 mm ± 1', '5 μ', '✓')
    """
    codes = _CODES if letters else _PRIVATE
    if codes.search(text) is None:  # nearly always
        return text
    name = font.strip("\"' ").lower()
    known = next((known for start, known in _FONTS.items() if name.startswith(start)), None)
    return text if known is None else codes.sub(lambda code: known.get(chr(ord(code[0]) & 0xFF), ""), text)
