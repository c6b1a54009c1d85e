"""Pages of Arabic and Hebrew: what shares a drawn letter, Latin words within lines, columns and tables."""

from __future__ import annotations

from collections.abc import Sequence

from braid.core.ingest.readers import read_document
from braid.core.ingest.readers.paged.right_to_left import is_right_to_left, spaced

LAM_ALEF = "\ufefb"
"""How these tests write the one drawn letter that is lam and alef."""
SIZE = 12.0
Line = tuple[float, float, str]
"""The place of its right end, or of its left end where it is Latin alone, and its height, in points; its letters in
their order.
"""


def drawn(line: str) -> str:
    """The letters from left to right, as programs draw them: words of Latin letters and numbers stay as they are."""
    words: list[str] = []
    for letter in line:
        if words and letter.isascii() and letter.isalnum() and words[-1][-1].isascii() and words[-1][-1].isalnum():
            words[-1] += letter
        else:
            words.append(letter)
    return "".join(reversed(words))


def pdf(lines: Sequence[Line], rules: Sequence[tuple[float, float, float, float]] = ()) -> bytes:
    """A page whose font has letters of 6 points each, and says which they are."""
    codes = {letter: 33 + at for at, letter in enumerate(sorted({letter for _, _, text in lines for letter in text}))}
    shown = []
    for x, y, text in lines:
        row = drawn(text) if is_right_to_left(text.replace(LAM_ALEF, "لا")) else text
        left = x - 6 * len(row) if row != text else x
        code = "".join(f"{codes[letter]:02x}" for letter in row)
        shown.append(f"BT /F1 {SIZE} Tf {left} {y} Td <{code}> Tj ET")
    shown += [f"{left} {low} {right - left} {high - low} re S" for left, low, right, high in rules]
    content = "\n".join(shown).encode()
    meant = "\n".join(
        f"<{code:02x}> <{letter.replace(LAM_ALEF, 'لا').encode('utf-16-be').hex()}>" for letter, code in codes.items()
    )
    cmap = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def /CMapType 2 def\n"
        f"1 begincodespacerange <00> <ff> endcodespacerange\n{len(codes)} beginbfchar\n{meant}\nendbfchar\n"
        "endcmap end end"
    ).encode()
    last = 33 + len(codes) - 1
    widths = " ".join(["500"] * len(codes))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(content), content),
        f"<</Type/Font/Subtype/TrueType/BaseFont/Helvetica/FirstChar 33/LastChar {last}/Widths[{widths}]"
        "/Encoding/WinAnsiEncoding/ToUnicode 6 0 R>>".encode(),
        b"<</Length %d>>stream\n%s\nendstream" % (len(cmap), cmap),
    ]
    body, places = b"%PDF-1.7\n", []
    for number, each in enumerate(objects, start=1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return body + (
        b"xref\n0 %d\n0000000000 65535 f \n%strailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n"
        % (len(objects) + 1, table, len(objects) + 1, len(body))
    )


def read(content: bytes) -> list[str]:
    parsed = read_document("page.pdf", content, max_bytes=10**8)
    return [line for section in parsed.sections for line in section.text.split("\n") if line]


def test_lam_stands_before_alef_where_one_drawn_letter_is_both() -> None:
    line = f"حل المشك{LAM_ALEF}ت من خ{LAM_ALEF}ل العمل"
    assert read(pdf([(500, 700, line)])) == ["حل المشكلات من خلال العمل"]


def test_a_latin_word_and_a_number_stay_where_they_are_read() -> None:
    lines = ["פתחו את הקובץ report ושמרו", "אותו בתיקייה 2026 של הצוות", "ואז שלחו את הקישור לכולם."]
    placed = [(500.0, 700 - 16.0 * at, line) for at, line in enumerate(lines)]
    assert " ".join(read(pdf(placed))) == " ".join(lines)


def test_the_right_column_is_read_first() -> None:
    right = [f"בעמודה הימנית שורה מספר {number} עד הסוף" for number in ("אחת", "שתיים", "שלוש", "ארבע", "חמש")]
    left = [f"בעמודה השמאלית שורה מספר {number} עד סוף" for number in ("אחת", "שתיים", "שלוש", "ארבע", "חמש")]
    placed = [
        (x, 700 - 16.0 * at, line)
        for at, pair in enumerate(zip(left, right, strict=True))
        for x, line in zip((270.0, 540.0), pair, strict=True)
    ]
    text = " ".join(read(pdf(placed)))
    assert text.index("הימנית שורה מספר חמש") < text.index("השמאלית שורה מספר אחת")


def test_the_first_column_of_a_table_is_the_right_one() -> None:
    rows = [("שם", "מחיר"), ("חבל", "12"), ("עוגן", "340")]
    lines: list[Line] = []
    for at, (name, price) in enumerate(rows):
        lines += [(490, 700 - 20.0 * at, name), (390 if price.isascii() else 420, 700 - 20.0 * at, price)]
    boxes = [
        (left, 695 - 20.0 * at, right, 715 - 20.0 * at) for at in range(3) for left, right in ((350, 430), (430, 500))
    ]
    assert read(pdf(lines, boxes)) == ["שם | מחיר", "חבל | 12", "עוגן | 340"]


def test_a_page_of_latin_lines_with_a_hebrew_word_stays_as_it_is() -> None:
    lines = [(72.0, 700.0, "The word for peace is written so on the gate"), (72.0, 684.0, "of the old harbour.")]
    assert not is_right_to_left("The word for peace is שלום")
    assert " ".join(read(pdf(lines))) == "The word for peace is written so on the gate of the old harbour."


def test_a_mark_that_stands_apart_goes_to_its_letter() -> None:
    assert spaced("أي \u064bضا") == "أيض\u064bا"
    assert spaced("بلغة Rوبرنامج") == "بلغة R وبرنامج"
    assert spaced("plain text") == "plain text"
