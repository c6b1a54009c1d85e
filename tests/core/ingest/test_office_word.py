"""Documents of Word as it really writes them: numbers of lists, equations, fields, boxes, tables, comments."""

from __future__ import annotations

import re

import pptx
import pytest
from lxml import etree
from pptx.util import Inches

from braid.core.ingest.readers import read_document
from braid.core.ingest.readers.parts.numerals import numeral
from tests import more_samples, samples
from tests.office_files import (
    A,
    chart,
    element,
    lines_of,
    numbered,
    numbering,
    paragraph,
    read,
    saved,
    sheet,
    text_of,
    word,
)

ODT = more_samples.odt_manual()
HTML_TABLE = (
    "<table><tr><td>Name</td><td>Ada Osei</td></tr><tr><td>Plan</td><td>As below<table><tr><td>Date</td>"
    "<td>Place</td></tr><tr><td>4 March</td><td>Leith</td></tr></table>or later</td></tr></table>"
)


def test_lists_and_headings_of_word_have_their_numbers() -> None:
    levels = ("decimal", "%1.", 1), ("lowerLetter", "%1.%2)", 1), ("bullet", "·", 1)
    changes = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride>'
    body = (
        numbered("Return the badge")
        + numbered("to the desk", level=1)
        + numbered("or by post", level=1)
        + paragraph("A word between.")
        + numbered("Return the laptop")
        + numbered("with its bag", level=1)
        + numbered("dotted", level=2)
        + numbered("Again from one", number=2)
    )
    assert lines_of("a.docx", word(body, numbering=numbering(*levels, changes=changes))) == [
        "1. Return the badge",
        "1.a) to the desk",
        "1.b) or by post",
        "A word between.",
        "2. Return the laptop",
        "2.a) with its bag",
        "dotted",
        "1. Again from one",
    ]


def test_a_style_gives_headings_their_numbers() -> None:
    place = '<w:numPr><w:ilvl w:val="{}"/><w:numId w:val="1"/></w:numPr>'
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="H{level}"><w:name w:val="heading {level}"/>'
        f"<w:pPr>{place.format(level - 1)}</w:pPr></w:style>"
        for level in (1, 2)
    )
    styles += '<w:style w:type="paragraph" w:styleId="Own"><w:name w:val="own"/><w:basedOn w:val="H2"/></w:style>'
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.styles+xml"
    body = "".join(
        paragraph(text, f'<w:pStyle w:val="{style}"/>')
        for style, text in (("H1", "Scope"), ("H1", "Rules"), ("H2", "Keys"), ("Own", "Own words"))
    )
    levels = ("upperRoman", "%1", 1), ("decimal", "%1.%2", 1)
    content = word(body, styles=(kind, element("w:styles", styles)), numbering=numbering(*levels))
    assert [(each.heading_path, each.text) for each in read("a.docx", content).sections] == [
        ("I Scope", "I Scope"),
        ("II Rules > II.1 Keys", "II.1 Keys"),
        ("II Rules > II.2 Own words", "II.2 Own words"),
    ]


def test_numerals_of_many_languages() -> None:
    shown = {
        "upperRoman": "XXI",
        "lowerLetter": "u",
        "decimalZero": "21",
        "ordinal": "21st",
        "japaneseCounting": "二十一",
        "ganada": "사사",
        "decimalFullWidth": "２１",
        "no such form": "21",
    }
    assert {form: numeral(21, form) for form in shown} == shown
    assert numeral(10**9, "upperRoman") == "1000000000"


def test_equations_struck_out_and_hidden_text_and_fields_of_word_are_in_place() -> None:
    math = (
        "<m:oMath><m:r><m:t>N=12+2k</m:t></m:r></m:oMath>",
        "<m:oMath><m:f><m:num><m:r><m:t>a+b</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f></m:oMath>",
    )
    box = '<w:r><w:fldChar><w:ffData><w:checkBox><w:default w:val="1"/></w:checkBox></w:ffData></w:fldChar></w:r>'
    choice = (
        '<w:r><w:fldChar><w:ffData><w:ddList><w:result w:val="1"/><w:listEntry w:val="bus"/><w:listEntry w:val="tram"/>'
        "</w:ddList></w:ffData></w:fldChar></w:r>"
    )

    def run(text: str, style: str = "") -> str:
        return f'<w:r><w:rPr>{style}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'

    off = '<w:strike w:val="0"/>'
    body = (
        f"<w:p>{run('You get ')}{math[0]}{run(' days, at least ')}{math[1]}{run('.')}</w:p>"
        f"<w:p>{run('Open ')}{run('8 to ', '<w:strike/>')}{run('16 ', '<w:dstrike/>')}{run('9 to 17')}</w:p>"
        f"<w:p>{run('Seen')}{run(' secret', '<w:vanish/>')}{run(', kept', off)}</w:p>"
        f"<w:p>{box}{run('I agree, by ')}{choice}</w:p>"
    )
    assert lines_of("a.docx", word(body)) == [
        "You get N=12+2k days, at least (a+b)/2.",
        "Open ~~8 to 16~~ 9 to 17",
        "Seen, kept",
        "☒ I agree, by tram",
    ]


RAISED = "5×10⁶ cells, 10⁻³ mbar, 30 m², CO2, 1st"


@pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.xlsx", "b.xlsx", "a.html", "a.rtf", "a.odt"])
def test_exponents_are_no_digits_of_their_numbers(name: str) -> None:
    runs = [("5×10", ""), ("6", "super"), (" cells, 10", ""), ("-3", "super"), (" mbar, 30 m", ""), ("2", "super")]
    runs += [(", CO", ""), ("2", "sub"), (", 1", ""), ("st", "super")]
    assert lines_of(name, _made(name, runs)) == [RAISED]


def _made(name: str, runs: list[tuple[str, str]]) -> bytes:
    """A document of runs, each plain, ``super`` or ``sub``."""
    if name == "a.docx":
        styled = (f'<w:rPr><w:vertAlign w:val="{at}script"/></w:rPr>' if at else "" for _, at in runs)
        texts = (f'<w:t xml:space="preserve">{text}</w:t>' for text, _ in runs)
        return word("<w:p>" + "".join(f"<w:r>{a}{b}</w:r>" for a, b in zip(styled, texts, strict=True)) + "</w:p>")
    if name == "a.pptx":
        deck = pptx.Presentation()
        box = deck.slides.add_slide(deck.slide_layouts[6]).shapes.add_textbox(
            Inches(1), Inches(1), Inches(3), Inches(1)
        )
        for text, at in runs:
            run = box.text_frame.paragraphs[0].add_run()
            run.text = text
            run._r.get_or_add_rPr().set("baseline", {"super": "30000", "sub": "-25000", "": "0"}[at])
        return saved(deck)
    if name.endswith(".xlsx"):
        fonts = (f'<rPr><vertAlign val="{at}script"/></rPr>' if at else "" for _, at in runs)
        rich = "".join(
            f'<r>{font}<t xml:space="preserve">{text}</t></r>' for font, (text, _) in zip(fonts, runs, strict=True)
        )
        parts = samples.unzipped(sheet(("Load",), ("HERE",)))
        if name == "a.xlsx":
            parts["xl/worksheets/sheet1.xml"] = re.sub(b"<t>HERE</t>", rich.encode(), parts["xl/worksheets/sheet1.xml"])
            return samples.zipped(parts)
        kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
        override = f'<Override PartName="/xl/sharedStrings.xml" ContentType="{kind}"/></Types>'
        parts["[Content_Types].xml"] = parts["[Content_Types].xml"].replace(b"</Types>", override.encode())
        main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
        parts["xl/sharedStrings.xml"] = f'<sst xmlns="{main}"><si><t>x</t></si><si>{rich}</si></sst>'.encode()
        old = rb't="inlineStr"><is><t>HERE</t></is>'
        parts["xl/worksheets/sheet1.xml"] = re.sub(old, b't="s"><v>1</v>', parts["xl/worksheets/sheet1.xml"])
        return samples.zipped(parts)
    if name == "a.html":
        return ("<p>" + "".join(f"<{at[:3]}>{text}</{at[:3]}>" if at else text for text, at in runs) + "</p>").encode()
    if name == "a.rtf":
        texts = (text.replace("×", "\\'d7") for text, _ in runs)
        words = (f"\\{at or 'nosupersub'} {text}" for text, (_, at) in zip(texts, runs, strict=True))
        return ("{\\rtf1\\ansi " + "".join(words) + "\\par}").encode()
    names = {"super": "S1", "sub": "S2"}
    spans = "".join(f'<text:span text:style-name="{names[at]}">{text}</text:span>' if at else text for text, at in runs)
    styles = "".join(
        f'<style:style style:name="{style}" style:family="text"><style:text-properties style:text-position="{at}"/>'
        "</style:style>"
        for style, at in (("S1", "33% 58%"), ("S2", "sub 58%"))
    )
    urn = "urn:oasis:names:tc:opendocument:xmlns"
    body = f"<office:automatic-styles>{styles}</office:automatic-styles><office:body><office:text>"
    body += f"<text:p>{spans}</text:p>"
    return samples.zipped(
        {
            "mimetype": b"application/vnd.oasis.opendocument.text",
            "content.xml": (
                f'<office:document-content xmlns:office="{urn}:office:1.0" xmlns:style="{urn}:style:1.0" '
                f'xmlns:text="{urn}:text:1.0">{body}</office:text></office:body></office:document-content>'
            ).encode(),
        }
    )


def test_signs_of_the_symbol_font_are_the_ones_that_are_seen() -> None:
    def sign(code: str, font: str = "Symbol") -> str:
        return f'<w:r><w:sym w:font="{font}" w:char="{code}"/></w:r>'

    def said(text: str, run: str = "") -> str:
        return f'<w:r><w:rPr>{run}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'

    font = '<w:rFonts w:ascii="Symbol" w:hAnsi="Symbol"/>'
    body = said("5 ") + sign("F06D") + said("m, ") + sign("57") + said(", ") + sign("F0A3") + said("6, ")
    body += said("\uf06d\uf0b3", font) + said("C ") + sign("F0A3", "Wingdings 2") + sign("F081", "Wingdings")
    assert lines_of("a.docx", word(f"<w:p>{body}</w:p>")) == ["5 μm, Ω, ≤6, μ≥C ☐①"]


def test_signs_of_the_symbol_font_on_slides_pages_and_in_rich_text_are_the_ones_that_are_seen() -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    frame = slide.shapes.add_textbox(Inches(1), Inches(1), Inches(3), Inches(1)).text_frame
    run = frame.paragraphs[0].add_run()
    run.text = "\uf061\uf0a3"
    run._r.get_or_add_rPr().append(etree.fromstring(f'<a:sym xmlns:a="{A}" typeface="Symbol"/>'))
    assert lines_of("a.pptx", saved(deck)) == ["α≤"]
    page = "<p>Load <font face=Symbol>&#163;</font> 5 <span style='font-family:Symbol'>m</span>m, <i>m</i></p>"
    assert lines_of("a.html", page) == ["Load ≤ 5 μm, m"]
    fonts = rb"{\fonttbl{\f0 Arial;}{\f3\froman\fcharset2 Symbol;}}"
    rich = rb"{\rtf1\ansi" + fonts + rb"Load {\f3 \'a3} 5 \f3 m\plain m, {\f3\u-3999\'61}}"
    assert read("a.rtf", rich).sections[0].text == "Load ≤ 5 μm, α"


def field(code: str, result: str | None = None) -> str:
    """A field of Word, whose code may have others in it."""
    codes = "".join(
        each if each.startswith("<") else f"<w:r><w:instrText>{each}</w:instrText></w:r>"
        for each in re.findall("<w:r>.*</w:r>|[^<]+", code)
    )
    shown = "" if result is None else f'<w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>{result}</w:t></w:r>'
    begin, end = (f'<w:r><w:fldChar w:fldCharType="{each}"/></w:r>' for each in ("begin", "end"))
    return begin + codes + shown + end


@pytest.mark.parametrize(
    ("inner", "text"),
    [
        (field(f"= {field('MERGEFIELD Net', '900')} * 1.2", "1080.00"), "Due: 1080.00 euros"),
        (field(f"IF {field('MERGEFIELD Sum', '900')} &gt; 500 &quot;a lot&quot;", "a lot"), "Due: a lot euros"),
        (field(f"SET x {field('MERGEFIELD Sum', '900')}"), "Due:  euros"),
        (field("PAGE", "3"), "Due: 3 euros"),
        (field("eq \\o\\ac(○,印)"), "Due: ㊞ euros"),
        (
            field("EQ \\* jc2 \\* &quot;Font:明朝&quot; \\o\\ad(\\s\\up 9(さいとう),齋藤)"),
            "Due: 齋藤 euros",
        ),
        (field("EQ \\f(1;2)"), "Due: 1/2 euros"),
        (field("SYMBOL 109 \\f &quot;Symbol&quot; \\s 10"), "Due: μ euros"),
        ('<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:t>900</w:t></w:r>', "Due: 900 euros"),
    ],
)
def test_of_a_field_the_result_is_read_and_of_its_code_what_is_shown(inner: str, text: str) -> None:
    before, after = (f'<w:r><w:t xml:space="preserve">{each}</w:t></w:r>' for each in ("Due: ", " euros"))
    assert lines_of("a.docx", word(f"<w:p>{before}{inner}{after}</w:p>")) == [text]


def test_the_code_of_a_field_may_be_of_any_depth() -> None:
    deep = field("EQ " + "\\o(" * 3_000)
    assert lines_of("a.docx", word(f"<w:p>{deep}<w:r><w:t>berth</w:t></w:r></w:p>"))[0].endswith("berth")


def test_of_a_field_in_rich_text_the_result_is_read_or_what_its_code_shows() -> None:
    ring = rb"{\field{\*\fldinst { EQ \\o\\ac(\'81\'9b,\'88\'f3)}}{\fldrslt }}"
    ruby = rb"{\field{\*\fldinst EQ \\* jc2 \\o\\ad(\\s\\up 9(\'82\'b3\'82\'a2),\'e2\'56)}{\fldrslt }}"
    sign = rb'{\field{\*\fldinst SYMBOL 109 \\f "Symbol"}{\fldrslt {\f3 m}}}'
    nested = rb"{\field{\*\fldinst = {\field{\*\fldinst MERGEFIELD Net}{\fldrslt 900}} * 1.2}{\fldrslt 1080}}"
    fonts = rb"{\fonttbl{\f0\fcharset128 MS;}{\f3\fcharset2 Symbol;}}"
    rich = rb"{\rtf1\ansi\ansicpg932" + fonts + b"a " + ring + b" b " + ruby + b" c " + sign + b" d " + nested + b" e}"
    assert read("a.rtf", rich).sections[0].text == "a ㊞ b 齋 c μ d 1080 e"


def test_a_style_based_on_a_heading_is_one_where_it_is_no_body_text() -> None:
    def style(name: str, base: str, level: str = "") -> str:
        own = f'<w:pPr><w:outlineLvl w:val="{level}"/></w:pPr>' if level else ""
        known = f'w:styleId="{name}"><w:name w:val="{name}"/><w:basedOn w:val="{base}"/>'
        return f'<w:style w:type="paragraph" {known}{own}</w:style>'

    rows = '<w:style w:type="paragraph" w:styleId="1"><w:name w:val="heading 1"/></w:style>'
    rows += style("社内見出し", "1") + style("Inner", "社内見出し") + style("Second", "1", "1") + style("TOC", "1", "9")
    rows += style("A", "B") + style("B", "A")
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.styles+xml"
    body = "".join(
        paragraph(text, f'<w:pStyle w:val="{named}"/>')
        for text, named in (("一", "社内見出し"), ("二", "Second"), ("Text", "TOC"), ("三", "Inner"), ("Rest", "A"))
    )
    parsed = read("a.docx", word(body, styles=(kind, element("w:styles", rows))))
    assert [(each.heading_path, each.text) for each in parsed.sections] == [("一 > 二", "Text"), ("三", "Rest")]


def test_a_text_box_is_a_paragraph_of_its_own() -> None:
    box = f"<w:r><w:pict><w:txbxContent>{paragraph('Warning: hot')}</w:txbxContent></w:pict></w:r>"
    body = f"<w:p><w:r><w:t>The left door is </w:t></w:r>{box}<w:r><w:t>locked.</w:t></w:r></w:p>"
    assert lines_of("a.docx", word(body)) == ["The left door is locked.", "Warning: hot"]


def test_descriptions_of_pictures_in_word_are_read_and_what_programs_say_of_them_is_not() -> None:
    def picture(told: str) -> str:
        about = 'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"'
        described = f'<wp:inline {about}><wp:docPr id="1" descr="{told}"/></wp:inline>'
        return f"<w:p><w:r><w:drawing>{described}</w:drawing></w:r></w:p>"

    content = word(paragraph("The harbour") + picture("Two cranes beside the gate") + picture("image1.png"))
    assert lines_of("a.docx", content) == ["The harbour", "Two cranes beside the gate"]


def test_rows_of_word_that_begin_in_a_later_column_and_tabs_to_a_place() -> None:
    def row(*cells: str, before: int = 0) -> str:
        left_out = f'<w:trPr><w:gridBefore w:val="{before}"/></w:trPr>' if before else ""
        return f"<w:tr>{left_out}{''.join(f'<w:tc>{paragraph(cell)}</w:tc>' for cell in cells)}</w:tr>"

    table = f"<w:tbl>{row('Item', 'May', 'June')}{row('Rope', '3', '4')}{row('7', '9', before=1)}</w:tbl>"
    tabbed = "<w:p><w:r><w:t>Rope</w:t><w:ptab/><w:t>12 m</w:t></w:r></w:p>"
    lines = lines_of("a.docx", word(tabbed + table))
    assert lines[0].split() == ["Rope", "12", "m"]
    assert lines[-1].strip() == "| 7 | 9"


def test_a_heading_of_notes_is_no_title() -> None:
    notes = element("w:footnotes", f'<w:footnote w:id="1">{paragraph("See the law")}</w:footnote>')
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml"
    parsed = read("lease.docx", word(paragraph("The lease ends in May"), footnotes=(kind, notes)))
    assert (parsed.title, parsed.sections[-1].heading_path) == ("lease", "Footnotes")


def test_comments_charts_diagrams_and_embedded_pages_of_word_are_read() -> None:
    office = "application/vnd.openxmlformats-officedocument"
    notes = element("w:comments", f'<w:comment w:id="1">{paragraph("Legal wants five years")}</w:comment>')
    drawn = '<w:p><w:r><w:drawing><c:chart r:id="id-chart"/></w:drawing></w:r></w:p>'
    diagram = '<w:p><w:r><w:drawing><dgm:relIds r:dm="id-diagramData"/></w:drawing></w:r></w:p>'
    content = word(
        paragraph("The lease runs for three years.") + drawn + diagram + '<w:altChunk r:id="id-aFChunk"/>',
        comments=(f"{office}.wordprocessingml.comments+xml", notes),
        chart=(f"{office}.drawingml.chart+xml", chart("Rents", {"Euro": [("2025", "900"), ("2026", "950")]})),
        diagramData=(
            f"{office}.drawingml.diagramData+xml",
            element("a:graphic", "<a:p><a:r><a:t>Ask</a:t></a:r></a:p><a:p><a:r><a:t>Sign</a:t></a:r></a:p>"),
        ),
        aFChunk=("text/html", b"<h1>Crane log</h1><p>Crane two lifted forty tonnes.</p>"),
    )
    text = text_of("a.docx", content)
    expected = ("three years", "Rents", "2026 | 950", "Ask\nSign", "Crane log", "forty tonnes")
    places = [text.index(each) for each in expected]
    assert places == sorted(places)
    assert "Comments" in text
    assert "Legal wants five years" in text


def test_a_document_with_a_header_alone_has_that_text() -> None:
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.header+xml"
    header = kind, element("w:hdr", paragraph("Notice of the harbour office"))
    assert lines_of("a.docx", word("<w:p/>", header=header)) == ["Notice of the harbour office"]
    assert lines_of("a.docx", word(paragraph("Body"), header=header)) == ["Body"]


def table_of(*rows: tuple[str, ...]) -> str:
    """A table of Word whose cells have blocks."""
    cells = ("".join(f"<w:tc>{cell}</w:tc>" for cell in row) for row in rows)
    return "<w:tbl>" + "".join(f"<w:tr>{row}</w:tr>" for row in cells) + "</w:tbl>"


def test_a_table_in_a_cell_keeps_its_rows() -> None:
    p = paragraph
    inner = table_of((p("Date"), p("Place")), (p("4 March"), p("Leith")))
    content = word(table_of((p("Name"), p("Ada Osei")), (p("Plan"), p("As below") + inner + p("or later"))))
    rows = ["Name | Ada Osei", "Plan | As below; Date, Place; 4 March, Leith; or later"]
    assert lines_of("a.docx", content) == rows
    assert lines_of("a.html", HTML_TABLE) == rows
    odt = samples.unzipped(ODT)
    cells = re.sub(
        "<(/?)(table|td|tr)>", r"<\1table:\2>", re.sub("<td>([^<]+)", r"<td><text:p>\1</text:p>", HTML_TABLE)
    )
    cells = (
        cells.replace(":td>", ":table-cell>")
        .replace(":tr>", ":table-row>")
        .replace("or later", "<text:p>or later</text:p>")
    )
    text = re.sub(
        b"<office:text.*</office:text>", f"<office:text>{cells}</office:text>".encode(), odt["content.xml"], flags=re.S
    )
    assert lines_of("a.odt", samples.zipped(odt | {"content.xml": text})) == rows


def test_a_table_that_lays_a_page_of_word_out_has_headings_and_paragraphs() -> None:
    heading = '<w:outlineLvl w:val="0"/>'
    left = paragraph("Contact", heading) + paragraph("Telephone 5550") + paragraph("Leith")
    right = paragraph("Work", heading) + table_of(
        (paragraph("2015"), paragraph("Yard")), (paragraph("2021"), paragraph("Quay"))
    )
    parsed = read("a.docx", word(table_of((left, right))))
    assert [(each.heading_path, each.text) for each in parsed.sections] == [
        ("Contact", "Telephone 5550\n\nLeith"),
        ("Work", "2015 | Yard\n2021 | Quay"),
    ]
    box = word(table_of((paragraph("Opening hours") + paragraph("From nine to five"),)))
    assert read("a.docx", box).sections[0].text == "Opening hours\n\nFrom nine to five"
    styled = word(
        table_of((paragraph("Name", heading), paragraph("Price", heading)), (paragraph("Rope"), paragraph("4")))
    )
    assert lines_of("a.docx", styled) == ["Name | Price", "Rope | 4"]


def test_a_deleted_row_of_a_table_is_left_out() -> None:
    def row(text: str, properties: str = "") -> str:
        return f"<w:tr>{properties}<w:tc><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:tc></w:tr>"

    rows = row("kept") + row("gone", "<w:trPr><w:del w:id='1' w:author='a'/></w:trPr>") + row("also kept")
    document = read_document("a.docx", word(f"<w:tbl>{rows}</w:tbl>"), max_bytes=10**7)
    assert document.sections[0].text == "kept\nalso kept"


def test_the_prompt_of_an_empty_content_control_is_left_out() -> None:
    def control(properties: str, text: str, around: str = "") -> str:
        content = f"<w:r><w:t>{text}</w:t></w:r>"
        inner = f"<w:p>{content}</w:p>" if around else content
        return f"<w:sdt><w:sdtPr>{properties}</w:sdtPr><w:sdtContent>{inner}</w:sdtContent></w:sdt>"

    empty = "<w:showingPlcHdr/>"
    blocks = control(empty, "Click or tap here to enter text.", "p") + control("", "Filled in.", "p")
    runs = f"<w:p><w:r><w:t>Name: </w:t></w:r>{control('', 'Sato')}{control(empty, 'Choose an item.')}</w:p>"
    assert lines_of("a.docx", word(blocks + runs)) == ["Filled in.", "Name: Sato"]


def test_a_paragraph_that_goes_on_in_the_next_one_is_one_with_it_and_word_art_is_read() -> None:
    def body(text: str, properties: str = "") -> str:
        return f'<w:p><w:pPr>{properties}</w:pPr><w:r><w:t xml:space="preserve">{text}</w:t></w:r></w:p>'

    deleted = "<w:rPr><w:del w:id='1' w:author='a'/></w:rPr>"
    art = "<w:p><w:r><w:pict><v:shape xmlns:v='urn:schemas-microsoft-com:vml'><v:textpath string='Harbour festival'/>"
    content = word(
        body("T", "<w:framePr w:dropCap='drop' w:lines='3'/>")
        + body("he storm took the pier.")
        + body("Shifts begin at ", deleted)
        + body("22:00.")
        + f"{art}</v:shape></w:pict></w:r></w:p>"
        + body("Last", deleted)
    )
    lines = ["The storm took the pier.", "Shifts begin at 22:00.", "Harbour festival", "Last"]
    assert lines_of("a.docx", content) == lines
