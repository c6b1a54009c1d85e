"""What was filled in and noted on pages of a PDF is read where it stands; what is hidden is not."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from reportlab.pdfgen.canvas import Canvas  # type: ignore[import-untyped]

from braid.core.ingest.readers import ParsedDocument, read_document
from braid.core.ingest.readers.paged.page_picture import draw_page
from braid.core.originals.placing import find_passage

Draw = Callable[[Canvas], None]


def pdf(*pages: Draw, turn: int = 0) -> bytes:
    stream = io.BytesIO()
    canvas = Canvas(stream, pagesize=(595, 842))
    for draw in pages:
        if turn:
            canvas.setPageRotation(turn)
        draw(canvas)
        canvas.showPage()
    canvas.save()
    return stream.getvalue()


def read(content: bytes) -> ParsedDocument:
    return read_document("form.pdf", content, max_bytes=10**8)


def text_of(content: bytes) -> str:
    return "\n\n".join(section.text for section in read(content).sections)


def form(canvas: Canvas, down: int = 0) -> None:
    """Labels and fields, ``down`` points further down: a page that is turned is as low as it was wide."""
    canvas.drawString(60, 760 - down, "Order of tools")
    for at, label in enumerate(("Name", "Badge", "Hall", "Urgent", "Insured", "Code")):
        canvas.drawString(60, 700 - down - 30 * at, label)
    canvas.drawString(60, 480 - down, "Bring the tools back on Friday.")
    fields = canvas.acroForm
    fields.textfield(name="name", value="Ottilie Brandvold", x=160, y=694 - down, width=200, height=20)
    fields.textfield(name="badge", value="RK-5521", x=160, y=664 - down, width=200, height=20)
    fields.choice(name="hall", value="North", options=["North", "South"], x=160, y=634 - down, width=200, height=20)
    fields.checkbox(name="urgent", checked=True, x=160, y=604 - down, size=16)
    fields.checkbox(name="insured", checked=False, x=160, y=574 - down, size=16)
    fields.textfield(name="code", value="opensesame", fieldFlags="password", x=160, y=544 - down, width=200, height=20)


def test_values_of_fields_stand_beside_their_labels() -> None:
    lines = [" ".join(line.split()) for line in text_of(pdf(form)).split("\n") if line]
    assert lines[0] == "Order of tools"
    assert lines[1:6] == ["Name | Ottilie Brandvold", "Badge | RK-5521", "Hall | North", "Urgent | ☑", "Insured"]
    assert lines[-1].endswith("Bring the tools back on Friday.")


def test_neither_a_password_nor_what_was_not_chosen_is_read() -> None:
    text = text_of(pdf(form))
    assert "opensesame" not in text
    assert "South" not in text


def test_a_form_that_has_values_alone_is_read() -> None:
    def values(canvas: Canvas) -> None:
        canvas.acroForm.textfield(name="a", value="Kettle number nine", x=60, y=700, width=200, height=20)

    assert text_of(pdf(values)) == "Kettle number nine"


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_values_of_a_turned_page(turn: int) -> None:
    text = text_of(pdf(lambda canvas: form(canvas, 250), turn=turn))
    for value in ("Ottilie Brandvold", "RK-5521", "North"):
        assert value in text


def test_values_in_the_cells_of_a_ruled_table() -> None:
    def table(canvas: Canvas) -> None:
        canvas.grid([60, 200, 400], [700, 670, 640, 610])
        for at, label in enumerate(("Part", "Valve", "Pump")):
            canvas.drawString(66, 680 - 30 * at, label)
        canvas.drawString(206, 680, "Pressure")
        canvas.acroForm.textfield(name="valve", value="3.5 bar", x=204, y=644, width=150, height=20)
        canvas.acroForm.textfield(name="pump", value="7 bar", x=204, y=614, width=150, height=20)

    text = text_of(pdf(table))
    assert "Valve | 3.5 bar" in text
    assert "Pump | 7 bar" in text


def test_a_value_is_found_on_the_picture_of_its_page() -> None:
    page = draw_page(pdf(form), 1)
    [found] = find_passage("Badge RK-5521", page["text"])
    left, top, right, bottom = page["boxes"][found.stop - 1]
    assert 160 <= left / 10 <= right / 10 <= 360
    assert 842 - 684 <= top / 10 <= bottom / 10 <= 842 - 664


def test_notes_come_after_the_text_and_written_texts_at_their_place() -> None:
    def noted(canvas: Canvas) -> None:
        canvas.drawString(60, 700, "The kiln is lit at six.")
        canvas.drawString(60, 600, "It cools down over night.")
        canvas.textAnnotation("Ask Tove about the gas", Rect=[300, 695, 320, 715])
        canvas.freeTextAnnotation("Seen by Halvard", "/Helv 10 Tf", Rect=[60, 640, 200, 660])
        canvas.highlightAnnotation("Is that too early?", [60, 696, 180, 712])
        canvas.highlightAnnotation("lit at six", [60, 696, 180, 712])

    lines = [line for line in text_of(pdf(noted)).split("\n") if line]
    assert lines == [
        *("The kiln is lit at six.", "Seen by Halvard", "It cools down over night."),
        *("✎ Ask Tove about the gas", "✎ Is that too early?"),
    ]


def test_a_hidden_field_is_not_read() -> None:
    def hidden(canvas: Canvas) -> None:
        canvas.drawString(60, 700, "Seen by all.")
        canvas.acroForm.textfield(
            name="secret", value="for nobody", annotationFlags="hidden", x=60, y=600, width=200, height=20
        )

    assert text_of(pdf(hidden)) == "Seen by all."
