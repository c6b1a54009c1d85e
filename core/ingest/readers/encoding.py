"""Encodings: finds the encoding of a text file and decodes it.

Detectors that compare whole code pages take Korean mixed with English, and short Japanese, for something else. Text in
its right encoding is full of the commonest letters of its language, and in a wrong one has next to none of them: that
alone distinguishes the East Asian encodings and Western European ones. For other text (Cyrillic, Greek, Arabic …)
charset-normalizer decides.
"""

from __future__ import annotations

import codecs
import re
import unicodedata

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_HIRAGANA_KATAKANA = "".join(map(chr, (*range(0x3041, 0x3094), *range(0x30A1, 0x30F7)))) + "、。「」・ー"
_KOREAN = "이다는을의에고가를은로도한하지기인나서사리자어시스대정수있을할해일그보여제부상주전과장라들만것게면니습합된"
_CHINESE = "的一是不了在人有我他这这中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去之過這來國個說們為時會"
_WESTERN = "éèêëàâäáãåçñíîïóôöõøúûüùßæœÉÈÀÄÁÅÇÑÍÓÖÕØÚÜ¿¡«»°§£€“”‘’–—…·©®"
_CANDIDATES = (
    ("cp932", _HIRAGANA_KATAKANA),
    ("euc_jp", _HIRAGANA_KATAKANA),
    ("euc_jis_2004", _HIRAGANA_KATAKANA),
    ("cp949", _KOREAN),
    ("gb18030", _CHINESE + "，。、"),
    ("big5", _CHINESE + "，。、"),
    ("cp1252", _WESTERN),
    ("latin_1", _WESTERN),
)
_FAMILIAR = frozenset(map(chr, range(0x20, 0x7F))) | frozenset("\t\n\r").union(*(x for _, x in _CANDIDATES))
_MIN_FAMILIAR = 0.3
_NO_CHARACTER = ("Cc", "Cn", "Co", "Cs")
_ASCII = re.compile(r"[\x00-\x7f]+")
_LONE = re.compile(r"(?<![^\x00-\x7f])[^\x00-\x7f](?![^\x00-\x7f])")
_HIGH_BYTE = re.compile(rb"[\x80-\xff]")
_ISO_2022_JP = re.compile(rb"\x1b\$[@B]|\x1b\([IJ]")
_SAMPLE_BYTES = 1 << 16
_NOT_OF_TEXTS = frozenset({"idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined"})
_MIN_SHARE = 0.12
_MAX_BROKEN = 0.1
_DAMAGE_WEIGHT = 10
_CONTROL = bytes((*range(0x09), *range(0x0E, 0x1B), *range(0x1C, 0x20)))
_MAX_CONTROL, _MAX_CONTROL_SHARE = 4, 0.02


def decode(content: bytes, declared: str = "") -> str:
    """Return the text of ``content``, without byte order mark and NUL characters, each line ended by ``\\n``.

    ``declared`` is the encoding that the document names; it is used when the bytes are not UTF-8 and it fits them.
    """
    text = _decode(content, declared)
    return text.replace("\0", "").replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff")


def is_binary(content: bytes) -> bool:
    """Return whether the bytes are not text in any encoding."""
    sample = content[: 1 << 16]
    if any(sample.startswith(bom) for bom, _ in _BOMS) or _bare_utf16(content):
        return False
    return len(sample) - len(sample.translate(None, _CONTROL)) > max(_MAX_CONTROL, _MAX_CONTROL_SHARE * len(sample))


def _decode(content: bytes, declared: str) -> str:
    for bom, encoding in _BOMS:
        if content.startswith(bom):
            return content.decode(encoding, "replace")
    if utf16 := _bare_utf16(content):
        return content.decode(utf16, "replace")
    if _ISO_2022_JP.search(content) and (text := _decode_strictly(content, "iso2022_jp_ext")) is not None:
        return text
    if (text := _decode_utf8(content)) is not None:
        return text
    if declared and (text := _decode_strictly(content, declared)) is not None:
        return text
    return _legacy(content)


def _decode_strictly(content: bytes, encoding: str) -> str | None:
    """Decode strictly; None when the bytes are not in this encoding, or it is no encoding of text."""
    try:
        return None if codecs.lookup(encoding).name in _NOT_OF_TEXTS else content.decode(encoding)
    except (LookupError, ValueError):
        return None


def _decode_utf8(content: bytes) -> str | None:
    """Decode UTF-8, also with a few broken bytes (a file that was cut off, or patched by hand)."""
    text = content.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    if not broken:
        return text
    letters = len(_ASCII.sub("", text)) - broken
    return text if broken <= max(1, _MAX_BROKEN * letters) and letters > broken else None


def _legacy(content: bytes) -> str:
    """Return the encoding whose language's commonest letters are most frequent; the first of equals."""
    sample = _sample(content)
    best_share, best = _MIN_SHARE, ""
    for encoding, letters in _CANDIDATES:
        share = _share(sample.decode(encoding, "replace"), letters)
        if share > best_share:
            best_share, best = share, encoding
    return content.decode(best, "replace") if best else _guess(content)


def _sample(content: bytes) -> bytes:
    """Return whole lines, from the first one that is not plain ASCII."""
    first = _HIGH_BYTE.search(content)
    start = content.rfind(b"\n", 0, first.start()) + 1 if first else 0
    end = start + _SAMPLE_BYTES
    if end >= len(content):
        return content[start:]
    newline = content.rfind(b"\n", start, end)
    return content[start : newline if newline > start else end]


def _share(text: str, letters: str) -> float:
    """Return the share of ``letters`` among the characters that are not ASCII; undecodable bytes count against it.

    Accented letters stand alone among ASCII ones; rows of them are another script, wrongly decoded.
    """
    foreign = _ASCII.sub("", text)
    counted = "".join(_LONE.findall(text)) if letters is _WESTERN else foreign
    common = len(counted) - len(counted.translate(dict.fromkeys(map(ord, letters))))
    return (common - _DAMAGE_WEIGHT * foreign.count("\ufffd")) / max(1, len(foreign))


def _guess(content: bytes) -> str:
    """Guess the encoding of a text with too few letters to recognize a language, or in a language not listed here."""
    from charset_normalizer import from_bytes  # slow to load, and seldom needed

    korean = _decode_strictly(content, "cp949")
    if korean is not None and _mostly_hangul(_ASCII.sub("", korean)):
        return korean
    best = from_bytes(content).best()
    return str(best) if best is not None else content.decode("latin_1")


def _bare_utf16(content: bytes) -> str:
    """Return ``utf-16-le`` or ``utf-16-be`` for UTF-16 without its mark, else an empty string."""
    sample = content[: 1 << 12]
    if b"\0" not in sample or len(content) % 2:
        return ""
    shares = {encoding: _familiar_share(sample.decode(encoding, "replace")) for encoding in ("utf-16-le", "utf-16-be")}
    best = max(shares, key=lambda encoding: shares[encoding])
    return best if shares[best] >= _MIN_FAMILIAR else ""


def _familiar_share(text: str) -> float:
    """Return the share of characters that are common in any text; 0 when one is no character at all."""
    if any(char not in "\t\n\r\f" and unicodedata.category(char) in _NO_CHARACTER for char in text[:-1]):
        return 0.0
    return sum(char in _FAMILIAR for char in text) / max(1, len(text))


def _mostly_hangul(text: str) -> bool:
    return 2 * sum("가" <= char <= "힣" for char in text) > len(text)
