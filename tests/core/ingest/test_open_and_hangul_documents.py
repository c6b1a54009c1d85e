"""OpenDocument, Hangul and rich text as programs really write them: numbers, equations, struck out text, comments."""

from __future__ import annotations

import re

import pytest

from braid.core.errors import UnreadableDocumentError
from tests import more_samples, samples
from tests.office_files import lines_of, read, text_of


def test_numbers_struck_out_text_and_comments_of_open_document_are_read() -> None:
    lists = (
        '<text:list-style style:name="L"><text:list-level-style-number text:level="1" style:num-format="1" '
        'style:num-suffix="."/><text:list-level-style-number text:level="2" style:num-format="a" style:num-suffix=")"/>'
        '<text:list-level-style-bullet text:level="3"/></text:list-style>'
    )
    struck = (
        '<style:style style:name="S" style:family="text"><style:text-properties style:text-line-through-style="solid"/>'
        "</style:style>"
    )
    item = "<text:list-item><text:p>{}</text:p>{}</text:list-item>"
    inner = f"<text:list>{item.format('in the morning', '')}{item.format('at noon', '')}</text:list>"
    body = (
        f'<text:list text:style-name="L">{item.format("Open", inner)}{item.format("Close", "")}</text:list>'
        '<text:p>At <text:span text:style-name="S">eight</text:span> nine'
        "<office:annotation><text:p>Ask Per</text:p></office:annotation></text:p>"
    )
    content = samples.unzipped(more_samples.open_document("text", body))
    styled = content["content.xml"].replace(
        b"<office:body>",
        b'<office:automatic-styles xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0">'
        + f"{lists}{struck}</office:automatic-styles><office:body>".encode(),
    )
    assert styled != content["content.xml"]
    text = text_of("a.odt", samples.zipped(content | {"content.xml": styled}))
    for line in ("1. Open", "a) in the morning", "b) at noon", "2. Close", "At ~~eight~~ nine", "Comments", "Ask Per"):
        assert line in text


def test_a_number_with_zeros_before_it_is_kept_in_a_spreadsheet() -> None:
    cell = '<table:table-cell office:value-type="float" office:value="{}"><text:p>{}</text:p></table:table-cell>'
    row = f"<table:table-row>{cell.format('12345', '0012345')}{cell.format('1234.5', '1,234.50')}</table:table-row>"
    content = more_samples.open_document("spreadsheet", f'<table:table table:name="A">{row}</table:table>')
    assert lines_of("a.ods", content) == ["0012345 | 1234.5"]


def test_equations_and_words_under_others_of_hangul_are_in_place() -> None:
    section = (
        "<hp:p><hp:run><hp:t>휴가는 </hp:t><hp:equation><hp:script>N = 15 + {k} over {2}</hp:script></hp:equation>"
        "<hp:t>일이다.</hp:t></hp:run></hp:p>"
        "<hp:p><hp:run><hp:t>이것은 <hp:dutmal><hp:mainText>원심분리기</hp:mainText>"
        "<hp:subText>遠心</hp:subText></hp:dutmal>라고 부른다.</hp:t></hp:run></hp:p>"
        "<hp:p><hp:run><hp:rect><hp:drawText><hp:subList><hp:p><hp:run><hp:t>주의</hp:t></hp:run></hp:p></hp:subList>"
        "</hp:drawText></hp:rect><hp:t>문을 닫는다.</hp:t></hp:run></hp:p>"
        '<hp:p><hp:run><hp:checkBtn caption="동의" value="CHECKED"/>'
        '<hp:checkBtn caption="거절" value="UNCHECKED"/></hp:run></hp:p>'
        '<hp:p><hp:run><hp:textart text="봄 축제"/></hp:run></hp:p>'
    )
    lines = lines_of("a.hwpx", more_samples.hwpx_guide(section))
    assert "휴가는 N = 15 + {k} over {2}일이다." in lines
    assert "이것은 원심분리기라고 부른다." in lines
    assert "문을 닫는다." in lines
    assert "주의" in lines
    assert "☒ 동의 ☐ 거절" in lines
    assert "봄 축제" in lines


def test_struck_out_text_and_comments_of_hangul_are_read_as_such() -> None:
    header = (
        '<hh:head xmlns:hh="http://www.hancom.co.kr/hwpml/2011/head">'
        '<hh:charPr id="0"><hh:strikeout shape="NONE"/></hh:charPr>'
        '<hh:charPr id="7"><hh:strikeout shape="SOLID"/></hh:charPr></hh:head>'
    )
    memo = (
        '<hp:ctrl><hp:fieldBegin type="MEMO"><hp:subList><hp:p><hp:run><hp:t>확인할 것</hp:t></hp:run></hp:p>'
        "</hp:subList></hp:fieldBegin></hp:ctrl>"
    )
    section = (
        '<hp:p><hp:run charPrIDRef="0"><hp:t>면회 시간은 </hp:t></hp:run>'
        '<hp:run charPrIDRef="7"><hp:t>8시</hp:t></hp:run>'
        f'<hp:run charPrIDRef="7"><hp:t>부터</hp:t></hp:run><hp:run charPrIDRef="0">{memo}<hp:t> 9시부터이다.</hp:t>'
        "</hp:run></hp:p>"
        '<hp:p><hp:run charPrIDRef="7"><hp:t>모두 지운 글</hp:t></hp:run></hp:p>'
    )
    parsed = read("a.hwpx", more_samples.hwpx_guide(section, **{"Contents/header.xml": header.encode()}))
    assert any("면회 시간은 ~~8시부터~~ 9시부터이다.\n\n~~모두 지운 글~~" in each.text for each in parsed.sections)
    assert [each.text for each in parsed.sections if each.heading_path.endswith("Comments")] == [
        "숨은 설명\n\n확인할 것"
    ]


@pytest.mark.parametrize("flags", [1 << 18, 2 << 2])
def test_struck_out_text_and_memos_of_an_older_hangul_document_are_read_as_such(flags: int) -> None:
    letters = [more_samples.hwp_letters(0), more_samples.hwp_letters(flags)]
    section = (
        more_samples.hwp_paragraph("면회 시간은 8시 9시부터이다.", shapes=((0, 0), (7, 1), (9, 0)))
        + more_samples.hwp_paragraph("모두 지운 글", shapes=((0, 1),))
        + more_samples.hwp_paragraph("끝입니다.", memo="확인할 것")
    )
    parsed = read("a.hwp", more_samples.hwp_guide(section=section, letters=letters))
    assert [(each.heading_path, each.text) for each in parsed.sections] == [
        ("", "면회 시간은 ~~8시~~ 9시부터이다.\n\n~~모두 지운 글~~\n\n끝입니다."),
        ("Comments", "확인할 것"),
    ]


def test_a_hangul_document_is_known_without_its_summary() -> None:
    content = more_samples.hwp_guide()
    name = "HwpSummaryInformation".encode("utf-16-le")
    assert name in content
    without = content.replace(name, "XxxSummaryInformation".encode("utf-16-le"))
    assert read("a.hwp", without).sections == read("a.hwp", content).sections
    with pytest.raises(UnreadableDocumentError, match="is a Hangul document of before 2002"):
        read("a.hwp", b"HWP Document File V3.00 \x1a\x01\x02" + bytes(300))


def test_cells_in_braces_of_their_own_are_cells_of_a_row() -> None:
    content = (
        r"{\rtf1\ansi{\trowd\cellx2000\cellx4000 \intbl {{\pard\intbl Valve\par}\cell}"
        r"{{\pard\intbl 3.5 bar\par\pard\intbl at most\par}\cell}\intbl\row}{\pard End.\par}"
        r"{\pard Open {\strike 8}{\strike  to 16} 9 to 17\par}"
        r"{\pard{\f0\b0\*\cs7 The quick fox}\par}"
        r"{\pard{\listtext 1.\tab}Return the badge\par}{\pard{\listtext\'b7\tab}dotted\par}}"
    )
    assert lines_of("a.rtf", content) == [
        "Valve | 3.5 bar at most",
        "End.",
        "Open ~~8 to 16~~ 9 to 17",
        "The quick fox",
        "1. Return the badge",
        "dotted",
    ]


def test_a_hangul_document_with_a_header_alone_has_that_text() -> None:
    margin = "<hp:subList><hp:p><hp:run><hp:t>회의 자료</hp:t></hp:run></hp:p></hp:subList>"
    parts = samples.unzipped(more_samples.hwpx_guide(""))
    names = [name for name in parts if re.fullmatch(r"Contents/section\d+\.xml", name)]
    root = re.match(rb"(?:<\?xml[^>]*>)?\s*<[^>]+>", parts[names[0]])
    assert root is not None
    tag = re.search(rb"<([\w:]+)", root[0].partition(b"?>")[2] or root[0])
    assert tag is not None
    body = f"<hp:p><hp:run><hp:ctrl><hp:header>{margin}</hp:header></hp:ctrl></hp:run></hp:p>".encode()
    parts |= dict.fromkeys(names, b"<a/>") | {names[0]: root[0] + body + b"</" + tag[1] + b">"}
    assert lines_of("a.hwpx", samples.zipped(parts)) == ["회의 자료"]
