"""Slides as PowerPoint really writes them: the order of boxes, charts, comments, numbers of lists."""

from __future__ import annotations

import io

import pptx
from lxml import etree
from pptx.util import Inches

from braid.core.ingest.readers import read_document
from braid.core.ingest.readers.office.slides import ShapeBox, in_reading_order
from tests.office_files import A, lines_of, read, saved


def test_boxes_of_a_slide_are_read_from_the_top_and_column_by_column() -> None:
    show = pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[6])
    for text, left, top in (
        ("third", 1, 5),
        ("second", 1, 3),
        ("first", 1, 1),
    ):
        slide.shapes.add_textbox(Inches(left), Inches(top), Inches(4), Inches(0.5)).text_frame.text = text
    assert lines_of("a.pptx", saved(show)) == ["first", "second", "third"]
    columns = [
        ShapeBox(600, 100, 300, 100),
        ShapeBox(0, 220, 300, 100),
        ShapeBox(600, 220, 300, 100),
        ShapeBox(0, 100, 300, 100),
    ]
    assert in_reading_order(columns) == [3, 1, 0, 2]
    assert sorted(in_reading_order([ShapeBox(0, 0, 0, 0)] * 2000)) == list(range(2000))


def test_charts_struck_out_text_and_comments_of_a_slide_are_read() -> None:
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE

    show = pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[6])
    frame = slide.shapes.add_textbox(Inches(1), Inches(1), Inches(4), Inches(1)).text_frame
    frame.text = "Ferry at nine"
    frame.paragraphs[0].runs[0]._r.get_or_add_rPr().set("strike", "sngStrike")
    values = CategoryChartData()
    values.categories = ["Gdynia", "Leixoes"]
    values.add_series("Calls", (34, 17))
    values.add_series("Share", (0.6667, 0.3333), "0%")
    drawn = slide.shapes.add_chart(XL_CHART_TYPE.BAR_CLUSTERED, Inches(1), Inches(3), Inches(4), Inches(3), values)
    drawn.chart.has_title = True
    drawn.chart.chart_title.text_frame.text = "Ferry calls"
    assert lines_of("a.pptx", saved(show)) == [
        "~~Ferry at nine~~",
        "Bar chart – Ferry calls",
        " | Calls | Share",
        "Gdynia | 34 | 67%",
        "Leixoes | 17 | 33%",
    ]


def test_lists_of_a_slide_have_their_numbers() -> None:
    show = pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[6])
    frame = slide.shapes.add_textbox(Inches(1), Inches(1), Inches(4), Inches(4)).text_frame
    lines = [
        ("Open", 0, "arabicPeriod"),
        ("by key", 1, "alphaLcParenR"),
        ("by code", 1, "alphaLcParenR"),
        ("Close", 0, "arabicPeriod"),
        ("Then", 0, ""),
        ("Again", 0, "romanUcParenBoth"),
    ]
    frame.text = "\n".join(text for text, _, _ in lines)
    for paragraph_, (_, level, form) in zip(frame.paragraphs, lines, strict=True):
        paragraph_.level = level
        if form:
            etree.SubElement(paragraph_._p.get_or_add_pPr(), f"{{{A}}}buAutoNum", type=form)
    assert lines_of("a.pptx", saved(show)) == ["1. Open", "a) by key", "b) by code", "2. Close", "Then", "(I) Again"]


def test_hidden_slides_are_left_out_and_named() -> None:
    show = pptx.Presentation()
    for text in ("shown", "kept for later"):
        slide = show.slides.add_slide(show.slide_layouts[6])
        slide.shapes.add_textbox(Inches(1), Inches(1), Inches(4), Inches(1)).text_frame.text = text
    slide._element.set("show", "0")
    parsed = read("a.pptx", saved(show))
    assert [(each.page, each.text) for each in parsed.sections] == [(1, "shown")]
    assert parsed.metadata["hidden_slides"] == "2"


def test_a_shape_without_a_place_follows_what_is_drawn_before_it() -> None:
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    for text, top in (("Upper", 1), ("Nowhere", 5), ("Lower", 3)):
        box = slide.shapes.add_textbox(Inches(1), Inches(top), Inches(3), Inches(1))
        box.text_frame.text = text
        if text == "Nowhere":
            properties = box._element.spPr
            properties.remove(properties.find("{*}xfrm"))
    stream = io.BytesIO()
    presentation.save(stream)
    document = read_document("a.pptx", stream.getvalue(), max_bytes=10**7)
    assert document.sections[0].text == "Upper\nNowhere\nLower"
