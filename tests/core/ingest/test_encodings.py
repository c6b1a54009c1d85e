"""Old encodings of short texts: what a document declares comes first, then the letters that its language has."""

from __future__ import annotations

import pytest

from braid.core.ingest.readers import read_document
from braid.core.ingest.readers.encoding import decode, is_binary
from tests import samples


@pytest.mark.parametrize(
    ("text", "encodings"),
    [
        ("部署,担当者\n営業部,岡田\n", ("cp932", "euc_jp")),
        ("購買部,森田,350\n", ("cp932",)),
        ("品名,数量,単価\n消火器,四,九千円\n", ("cp932", "euc_jp")),
        ("이름,부서\n최서연,기획실\n", ("cp949", "euc_kr", "johab")),
        ("날짜: 2024년 5월", ("cp949",)),
        ("Edit → Undo, then “Save”, 서울", ("cp949",)),
        ("姓名,部门\n刘洋,销售部\n陈静,客服部\n", ("gb18030",)),
        ("姓名,電話\n陳建宏,02-123\n", ("big5",)),
        ("Müller, José, François", ("cp1252", "latin_1")),
        ("España: mañana por la mañana", ("cp1252",)),
        ("Łódź, Gdańsk, Kraków", ("cp1250", "iso8859_2")),
        ("Příliš žluťoučký kůň", ("cp1250", "iso8859_2")),
        ("Győr és Pécs között", ("cp1250", "iso8859_2")),
        ("İzmir,Çeşme\nMuğla,Köyceğiz\n", ("cp1254", "iso8859_9")),
        ("Það er gott veður í dag", ("cp1252",)),
        ("Įmonės adresas šiame lape", ("cp1257",)),
        ("Ħadd ma jiftaħ l-uffiċċju", ("iso8859_3",)),
        ("Ĉiuj laboristoj venos ĵaŭdon", ("iso8859_3",)),
        ("Книги никто не ждёт", ("cp1251", "koi8_r", "iso8859_5", "cp866", "mac_cyrillic")),
        ("Η βιβλιοθήκη δανείζει", ("cp1253", "iso8859_7")),
        ("הספרייה משאילה ספרים", ("cp1255",)),
        ("المكتبة تعير الكتب", ("cp1256",)),
        ("ห้องสมุดให้ยืมหนังสือ", ("cp874",)),
    ],
)
def test_a_line_is_enough(text: str, encodings: tuple[str, ...]) -> None:
    for encoding in encodings:
        assert decode(text.encode(encoding)) == text, encoding


@pytest.mark.parametrize("declared", ["", "windows-1258"])
def test_letters_of_vietnamese_are_one_character_with_their_tones(declared: str) -> None:
    written = "Gia\u0301 dây th\u01b0\u0300ng la\u0300 bô\u0301n m\u01b0\u01a1i nghi\u0300n đô\u0300ng"
    assert decode(written.encode("cp1258"), declared) == "Giá dây thừng là bốn mươi nghìn đồng"


def test_what_is_declared_comes_first() -> None:
    text = "ダレデモ"
    assert decode(text.encode("euc_jp"), "euc-jp") == text
    assert decode("部署①㈱髙".encode("cp932"), "Shift_JIS") == "部署①㈱髙"
    assert decode("뷁 한글".encode("cp949"), "ks_c_5601-1987") == "뷁 한글"
    assert decode(text.encode("euc_jp"), "x-euc-jp") == text
    assert decode("髙橋".encode("cp932"), "x-sjis") == decode("髙橋".encode("cp932"), "sjis-win") == "髙橋"
    assert decode("뷁".encode("cp949"), "windows-949") == "뷁"
    assert decode("“quoted” – 5 €".encode("cp1252"), "iso-8859-1") == "“quoted” – 5 €"


@pytest.mark.parametrize(
    ("subject", "encoding"),
    [("設備点検の資料を送ります", "cp932"), ("설비 점검 자료를 보냅니다", "cp949"), ("Prüfung über Öl", "cp1252")],
)
def test_a_subject_that_is_not_encoded_is_read(subject: str, encoding: str) -> None:
    content = b"From: a@example.org\nSubject: " + subject.encode(encoding) + b"\n\nx"
    assert read_document("m.eml", content, max_bytes=10**6).title == subject


def test_a_declared_encoding_counts_although_a_byte_is_broken() -> None:
    content = samples.JAPANESE.encode("euc_jp")
    assert decode(content[:-1], "euc-jp").startswith(samples.JAPANESE[:-1])


@pytest.mark.parametrize("declared", ["", "utf-8", "us-ascii", "nonsense", "idna", "hex"])
def test_a_wrong_declaration_changes_nothing(declared: str) -> None:
    assert decode(samples.KOREAN.encode("cp949"), declared) == samples.KOREAN


@pytest.mark.parametrize(("many", "one"), [("utf-8", "cp949"), ("cp949", "utf-8"), ("utf-8", "cp932")])
@pytest.mark.parametrize("times", [3, 300])
def test_a_line_in_another_encoding_costs_no_other(many: str, one: str, times: int) -> None:
    lines = [
        "弁を毎日確認し、圧力を記録する。" if one == "cp932" else "담당자는 매일 압력을 확인하고 기록한다.",
        "plain",
    ] * times
    last = "報告書は月末に送る。" if one == "cp932" else "보고서는 매월 말일에 보낸다."
    content = b"\r\n".join([*(line.encode(many) for line in lines), last.encode(one)])
    assert decode(content) == "\n".join([*lines, last])
    assert decode(content, "cp949") == "\n".join([*lines, last]) or one == "cp932"


def test_short_lines_that_could_be_utf8_are_in_the_encoding_of_the_others() -> None:
    by_chance = bytes.fromhex("c6bec7b3").decode("cp949")  # these bytes are valid UTF-8 as well
    lines = ["담당자는 매일 확인한다.", by_chance] * 5
    assert decode("\n".join(lines).encode("cp949")) == "\n".join(lines)


def test_iso_2022_jp_with_signs_of_nec_and_ibm_and_katakana() -> None:
    def shifted(text: str) -> bytes:
        """As mail programs write it: the rows of Shift_JIS's code page in seven bits."""
        said = b""
        for letter in text:
            first, second = letter.encode("cp932")
            row = (first - (0x81 if first <= 0x9F else 0xC1)) * 2 + (1 if second >= 0x9F else 0)
            cell = second - 0x9F if second >= 0x9F else second - 0x40 - (second > 0x7F)
            said += bytes((row + 0x21, cell + 0x21))
        return b"\x1b$B" + said + b"\x1b(B"

    assert decode(shifted("議題①と㈱髙島の件") + b" No. 5") == "議題①と㈱髙島の件 No. 5"
    assert decode(b"\x1b(I6@6E\x1b(B ok") == "ｶﾀｶﾅ ok"
    assert decode(shifted("一行目") + b"\n" + shifted("二行目")) == "一行目\n二行目"


def test_one_damaged_character_of_iso_2022_jp_costs_no_other() -> None:
    content = "会議は三階です。".encode("iso2022_jp")
    broken = content[:5] + b"\x7f\x7f" + content[7:]
    assert decode(broken).endswith("は三階です。")


def test_iso_2022_kr_is_text() -> None:
    content = "회의는 삼 층에서 합니다.".encode("iso2022_kr")
    assert not is_binary(content)
    assert decode(content) == "회의는 삼 층에서 합니다."


def mail(charset: str, content: bytes, subject: bytes = b"plan") -> bytes:
    return (
        b"From: a@example.jp\r\nSubject: " + subject + b"\r\nMIME-Version: 1.0\r\n"
        b'Content-Type: multipart/mixed; boundary="x"\r\n\r\n--x\r\n'
        b"Content-Type: text/plain\r\n\r\nSee there.\r\n--x\r\n"
        b"Content-Type: text/csv; charset=" + charset.encode() + b"\r\n"
        b'Content-Disposition: attachment; filename="list.csv"\r\n\r\n' + content + b"\r\n--x--\r\n"
    )


def test_the_charset_that_a_mail_gives_its_attachment_counts() -> None:
    parsed = read_document("a.eml", mail("euc-jp", "宛,件\n畠,乙\n".encode("euc_jp")), max_bytes=10**6)
    assert "畠" in parsed.sections[-1].text


def test_a_subject_that_the_standard_library_cannot_decode() -> None:
    subject = b"=?ISO-2022-JP?B?GyRCMnE1RC0hJE4wRkZiGyhC?="
    assert read_document("a.eml", mail("utf-8", b"a,b\n", subject), max_bytes=10**6).title == "会議①の案内"
