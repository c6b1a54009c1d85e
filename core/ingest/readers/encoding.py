"""Encodings: finds the encoding of a text file and decodes it.

What the document says of itself comes first. Otherwise each encoding is tried, and its text weighed by how likely it
is in the languages that are written in it (`braid.core.text.letters`): detectors that compare whole code pages take
Korean mixed with English, and a short Japanese table, for something else. For other text (Cyrillic, Greek, Arabic …)
charset-normalizer decides.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Callable
from functools import partial

from braid.core.text.letters import (
    ARABIC,
    BALTIC,
    CENTRAL,
    CYRILLIC,
    GREEK,
    HEBREW,
    LEAST_BITS,
    SOUTHERN,
    THAI,
    TURKISH,
    VIETNAMESE,
    WESTERN,
    LanguageCost,
    alphabetic,
    east_asian,
    latin,
)

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_FAMILIAR = frozenset(map(chr, range(0x20, 0x7F))) | frozenset(
    "\t\n\r"
    + "".join(map(chr, (*range(0x3041, 0x3094), *range(0x30A1, 0x30F7))))
    + "、。「」・ー，"
    + "이다는을의에고가를은로도한하지기인나서사리자어시스대정수있을할해일그보여제부상주전과장라들만것게면니습합된"
    + "的一是不了在人有我他这這中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去之過來國個說們為時會"
    + "éèêëàâäáãåçñíîïóôöõøúûüùßæœÉÈÀÄÁÅÇÑÍÓÖÕØÚÜ¿¡«»°§£€“”‘’–—…·©®"
)
_CANDIDATES: tuple[tuple[str, float, Callable[[str], LanguageCost]], ...] = (
    ("cp932", 0, partial(east_asian, language="ja")),
    ("euc_jp", 0, partial(east_asian, language="ja")),
    ("euc_jis_2004", 4, partial(east_asian, language="ja")),
    ("cp949", 0, partial(east_asian, language="ko")),
    ("johab", 8, partial(east_asian, language="ko")),
    ("gb18030", 3, partial(east_asian, language="zh-Hans")),
    ("big5", 4, partial(east_asian, language="zh-Hant")),
    ("cp1254", 0, partial(latin, languages=TURKISH)),
    ("cp1252", 0, partial(latin, languages=WESTERN)),
    ("iso8859_15", 2, partial(latin, languages=WESTERN)),
    ("latin_1", 4, partial(latin, languages=WESTERN)),
    ("cp1250", 1.5, partial(latin, languages=CENTRAL)),
    ("iso8859_2", 1.5, partial(latin, languages=CENTRAL)),
    ("iso8859_16", 4, partial(latin, languages=CENTRAL)),
    ("cp1257", 2, partial(latin, languages=BALTIC)),
    ("iso8859_3", 3, partial(latin, languages=SOUTHERN)),
    ("cp1258", 2, partial(latin, languages=VIETNAMESE)),
    ("mac_roman", 8, partial(latin, languages=WESTERN)),
    ("cp850", 8, partial(latin, languages=WESTERN)),
    ("cp852", 8, partial(latin, languages=CENTRAL)),
    ("cp1251", 0, partial(alphabetic, alphabets=CYRILLIC)),
    ("koi8_r", 1, partial(alphabetic, alphabets=CYRILLIC)),
    ("koi8_u", 2, partial(alphabetic, alphabets=CYRILLIC)),
    ("iso8859_5", 3, partial(alphabetic, alphabets=CYRILLIC)),
    ("cp866", 3, partial(alphabetic, alphabets=CYRILLIC)),
    ("mac_cyrillic", 4, partial(alphabetic, alphabets=CYRILLIC)),
    ("cp1253", 1, partial(alphabetic, alphabets=GREEK)),
    ("iso8859_7", 2, partial(alphabetic, alphabets=GREEK)),
    ("cp1255", 1, partial(alphabetic, alphabets=HEBREW)),
    ("cp1256", 1, partial(alphabetic, alphabets=ARABIC)),
    ("iso8859_6", 2, partial(alphabetic, alphabets=ARABIC)),
    ("cp874", 1, partial(alphabetic, alphabets=THAI)),
)
"""Encodings, the bits that each costs as it is seldom used, and how its text is weighed."""
_MOST_BITS = 6.3
"""Bits per byte that is not ASCII of a text in the right encoding; a language that is not listed has more."""
_WIDER = {
    **{"shift_jis": "cp932", "euc_kr": "cp949", "gb2312": "gb18030", "gbk": "gb18030"},
    **{"iso8859-1": "cp1252", "iso8859-9": "cp1254", "tis-620": "cp874", "ascii": ""},
}
"""Encodings that are written under another one's name, as browsers read them."""
_LABELS = {"windows-949": "cp949", "x-windows-949": "cp949", "ms949": "cp949", "sjis-win": "cp932", "ms932": "cp932"}
"""Names of encodings that programs write and Python does not know; others have ``x-`` before the usual one."""
_MIN_FAMILIAR = 0.3
_NO_CHARACTER = ("Cc", "Cn", "Co", "Cs")
_IN_PARTS = "cp1258"
"""Vietnamese of Windows, which writes the tone of a letter after it."""
_ASCII = re.compile(r"[\x00-\x7f]+")
_HIGH_BYTE = re.compile(rb"[\x80-\xff]")
_ISO_2022_JP = re.compile(rb"\x1b\$[@B]|\x1b\$\([DOPQ]|\x1b\([IJ]")
_SHIFT = re.compile(rb"\x1b(\$[@B]|\$\([A-Z]|\([A-Z])")
_ISO_2022_KR = b"\x1b$)C"
_SAMPLE_BYTES = 1 << 12
_NOT_OF_TEXTS = frozenset({"idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined"})
_MAX_BROKEN = 0.1
_SURE_BYTES = 24
"""Bytes that are not ASCII of a line that is not valid UTF-8 by chance."""
_ASCII_BYTES = bytes(range(0x80))
_CONTROL = bytes((*range(0x09), *range(0x0E, 0x1B), *range(0x1C, 0x20)))
_MAX_CONTROL, _MAX_CONTROL_SHARE = 4, 0.02


def decode(content: bytes, declared: str = "") -> str:
    """Return the text of ``content``, without byte order mark and NUL characters, each line ended by ``\\n``.

    ``declared`` is the encoding that the document names; it is used when the bytes are not UTF-8 and it fits them, but
    for a few.
    """
    text = _decode(content, declared)
    return text.replace("\0", "").replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff")


def is_binary(content: bytes) -> bool:
    """Return whether the bytes are not text in any encoding."""
    sample = content[: 1 << 16]
    if any(sample.startswith(bom) for bom, _ in _BOMS) or _bare_utf16(content) or _ISO_2022_KR in sample:
        return False
    return len(sample) - len(sample.translate(None, _CONTROL)) > max(_MAX_CONTROL, _MAX_CONTROL_SHARE * len(sample))


def _decode(content: bytes, declared: str) -> str:
    for bom, encoding in _BOMS:
        if content.startswith(bom):
            return content.decode(encoding, "replace")
    if utf16 := _bare_utf16(content):
        return content.decode(utf16, "replace")
    if _ISO_2022_KR in content and (text := _decode_strictly(content, "iso2022_kr")) is not None:
        return text
    if _ISO_2022_JP.search(content):
        return _decode_iso_2022_jp(content)
    if b"+" in content and _is_utf7(declared) and (text := _decode_strictly(content, "utf_7")) is not None:
        return text
    if (text := _decode_strictly(content, "utf-8")) is not None:
        return text
    if (text := _decode_mixed(content, declared)) is not None:
        return text
    if (text := _decode_utf8(content)) is not None:
        return text
    return _decode_otherwise(content, declared)


def _decode_otherwise(content: bytes, declared: str) -> str:
    """Decode what is not UTF-8."""
    if declared and (text := _decode_declared(content, declared)) is not None:
        return text
    return _legacy(content)


def _is_utf7(declared: str) -> bool:
    return declared.strip().lower() in ("utf-7", "unicode-1-1-utf-7", "x-unicode-1-1-utf-7")


def _decode_declared(content: bytes, declared: str) -> str | None:
    """Decode as the document says, or as everybody takes what it says; None where that does not fit the bytes."""
    label = declared.strip().lower()
    try:
        name = codecs.lookup(_LABELS.get(label, label).removeprefix("x-")).name
    except (LookupError, ValueError):
        return None
    wider = _WIDER.get(name, name)
    if not wider or name in _NOT_OF_TEXTS or name.startswith("utf"):
        return None
    if (text := _decode_strictly(content, wider)) is not None:
        return unicodedata.normalize("NFC", text) if wider == _IN_PARTS else text
    if name != "iso8859-1" and (text := _decode_strictly(content, name)) is not None:  # it takes any byte
        return text
    try:
        text = content.decode(wider, "replace")
    except (LookupError, ValueError):
        return None
    letters = len(_ASCII.sub("", text))
    return text if text.count("\ufffd") <= max(1, _MAX_BROKEN * letters) and letters > 1 else None


def _decode_iso_2022_jp(content: bytes) -> str:
    """Decode ISO-2022-JP as it is written: with the signs of NEC and IBM, such as ① and 髙, and half-width katakana
    (CP50221), and with JIS X 0212 and 0213. What is damaged costs no more than itself.
    """
    parts = _SHIFT.split(content)
    said = [parts[0].decode("cp932", "replace")]
    for escape, part in zip(parts[1::2], parts[2::2], strict=True):
        lines = part.split(b"\n")  # each line begins in ASCII again
        said.append("\n".join([_shifted(lines[0], escape), *(line.decode("cp932", "replace") for line in lines[1:])]))
    return "".join(said)


def _shifted(line: bytes, escape: bytes) -> str:
    """Decode a part of a line after an escape sequence."""
    if escape == b"(I":
        return bytes(byte | 0x80 if 0x21 <= byte <= 0x5F else byte for byte in line).decode("cp932", "replace")
    if escape.startswith(b"("):
        return line.decode("cp932", "replace")
    high = bytes(byte | 0x80 if 0x21 <= byte <= 0x7E else byte for byte in line)
    if escape in (b"$@", b"$B"):
        return _as_shift_jis(high).decode("cp932", "replace")
    if escape == b"$(D":
        return re.sub(rb"[\xa1-\xfe]{2}", rb"\x8f\g<0>", high).decode("euc_jp", "replace")
    return high.decode("euc_jis_2004", "replace")


def _as_shift_jis(high: bytes) -> bytes:
    """Return pairs of EUC bytes as Shift_JIS, whose code page has the signs of NEC and IBM."""

    def pair(found: re.Match[bytes]) -> bytes:
        row, cell = found[0][0] - 0xA0, found[0][1] - 0xA0
        lead = (row - 1) // 2 + 0x81
        lead += 0x40 if lead > 0x9F else 0
        trail = cell + 0x9E if row % 2 == 0 else cell + 0x3F + (cell >= 0x40)
        return bytes((lead, trail))

    return re.sub(rb"[\xa1-\xfe]{2}", pair, high)


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


def _decode_mixed(content: bytes, declared: str) -> str | None:
    """Decode a file whose lines are in UTF-8 and in another encoding, as in logs that were joined; None for others."""
    lines = content.split(b"\n")
    high = [len(line.translate(None, _ASCII_BYTES)) for line in lines]
    texts = [_decode_strictly(line, "utf-8") for line in lines]
    whole = sum(count for count, text in zip(high, texts, strict=True) if text is not None)
    is_mostly = 2 * whole > sum(high)
    foreign = [
        at
        for at, (line, text) in enumerate(zip(lines, texts, strict=True))
        if (_is_foreign(line) if text is None else not is_mostly and 0 < high[at] < _SURE_BYTES)
    ]
    if not foreign or not (is_mostly or any(high[at] >= _SURE_BYTES for at, text in enumerate(texts) if text)):
        return None
    others = _decode_otherwise(b"\n".join(lines[at] for at in foreign), declared).split("\n")
    if len(others) != len(foreign):
        return None
    found = dict(zip(foreign, others, strict=True))
    replaced = (
        line.decode("utf-8", "replace") if text is None else text for line, text in zip(lines, texts, strict=True)
    )
    return "\n".join(found.get(at, text) for at, text in enumerate(replaced))


def _is_foreign(line: bytes) -> bool:
    """Return whether a line is in another encoding, and not in UTF-8 with a few broken bytes."""
    text = line.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    return broken > 1 and broken >= len(_ASCII.sub("", text)) - broken


def _legacy(content: bytes) -> str:
    """Return the text in the encoding in which it is likeliest."""
    sample = _sample(content)
    best, least = "", float("inf")
    for encoding, more, weigh in _CANDIDATES:
        text = sample.decode(encoding, "replace")
        if more + LEAST_BITS * (len(text) - len(text.encode("ascii", "ignore"))) >= least:
            continue
        found = weigh(text)
        if found.bits + more < least:
            foreign_bytes = len(sample) - len(text) + found.foreign
            least, best = found.bits + more, encoding if found.foreign_bits <= _MOST_BITS * foreign_bytes else ""
    text = content.decode(best, "replace") if best else _guess(content)
    return unicodedata.normalize("NFC", text) if best == _IN_PARTS else text


def _sample(content: bytes) -> bytes:
    """Return the words of whole lines that are not plain ASCII, from the first one: others are alike in any encoding.

    White space is no part of a character of several bytes.
    """
    first = _HIGH_BYTE.search(content)
    start = content.rfind(b"\n", 0, first.start()) + 1 if first else 0
    end = start + _SAMPLE_BYTES
    if end < len(content):
        newline = content.rfind(b"\n", start, end)
        end = newline if newline > start else end
    return b" ".join(word for word in content[start:end].split() if not word.isascii())


def _guess(content: bytes) -> str:
    """Guess the encoding of a text with too few letters to recognize a language, or in a language not listed here."""
    from charset_normalizer import from_bytes  # slow to load, and seldom needed

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
