"""Documents as a reader sees them: joined from their passages, with headings, lists, tables and code, and marked."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import lxml.html
import pytest
from flask import Flask
from flask.testing import FlaskClient
from hypothesis import given, settings
from hypothesis import strategies as st

from braid.app.pages.search.blocks import blocks_of
from braid.app.pages.search.document_view import MAX_PAGE_CHARS, page_of, sections_of, show_document
from braid.config.settings import Settings
from braid.core.braid import Braid
from braid.core.ingest.chunking import chunk_sections
from braid.core.ingest.ingest import ingest_bytes
from braid.core.ingest.readers.document import ParsedDocument, Section
from braid.core.types import Passage
from tests import samples
from tests.fakes import HashEmbeddings
from tests.web import make_app, sign_in, site_of

EVIL = '<script>alert(1)</script><img src=x onerror="alert(2)"> [click](javascript:alert(3))'
PUMP = f"""# Maintenance

The pump runs at **12 bar**, see `config.toml`.

## Steps

1. Close the valve.
2. Open the *drain*:
   wait two minutes.
   - nested

> Never under pressure.

| part | price |
|---|--:|
| seal | 12 EUR |
| valve | 80 EUR |

```python
def pressure(bar):
    return bar * 100_000
```

## 規則

この規則は図書館の利用について
定める。{EVIL}
"""
CODE = "import math\n\n\nclass Pump:\n    def flow(self, bar):\n        return math.sqrt(bar)  # <b>not bold</b>\n"
FILES = {
    "pump.md": PUMP.encode(),
    "manual.docx": samples.docx_manual(),
    "talk.pptx": samples.pptx_talk(),
    "staff.xlsx": samples.xlsx_staff(90),
    "pump.py": CODE.encode(),
    "fees.csv": b"days late,fee\n1,10 yen\n7,50 yen\n",
    "mail.eml": samples.mail(("fees.csv", b"days,fee\n1,10 yen\n7,50 yen\n")),
    "page.html": f"<h1>Guide</h1><p>Hello</p><ul><li>one<li>two</ul><p>{EVIL.replace('<', '&lt;')}</p>".encode(),
    "book.txt": "\n\n".join(f"Chapter {number}. " + "All happy families. " * 60 for number in range(200)).encode(),
}
SHOWN = {
    "pump.md": [
        "//h2[.='Steps']",
        "//li[.//*='1.']",
        "//li[@class='depth1']",
        "//strong[.='12 bar']",
        "//th[.//text()='price']",
        "//blockquote",
        "//pre",
        "//p[contains(., '利用について定める。')]",
    ],
    "manual.docx": ["//h2[.='Lending']", "//h3[.='Fees']", "//td[.//text()='50 yen']", "//h2[.='利用案内']"],
    "talk.pptx": ["//p[.='page 2']", "//td[.//text()='BM25']"],
    "staff.xlsx": ["//h2[.='Staff']", "//td[.//text()='Person 3']"],
    "pump.py": ["//pre/span[@data-line='5'][contains(., 'def flow')]"],
    "fees.csv": ["//th[.//text()='fee']", "//td[.//text()='10 yen']"],
    "mail.eml": ["//p[@class='breaks'][contains(., 'To: ')]", "//td[.//text()='50 yen']"],
    "page.html": ["//li[contains(., 'two')]"],
    "book.txt": ["//p"],
}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    with Braid(tmp_path_factory.mktemp("data"), embedding_model=HashEmbeddings()) as braid:
        app = make_app(braid, Settings())
        dataset = braid.ledger.add_dataset(site_of(app).accounts.all()[0].id, "files")
        for source, content in FILES.items():
            assert ingest_bytes(braid, dataset.id, source, content).state == "put"
        yield app


@pytest.fixture(scope="module")
def browser(app: Flask) -> FlaskClient:
    return sign_in(app)


def passages_of(app: Flask, source: str) -> list[Passage]:
    ledger = site_of(app).braid.ledger
    [dataset] = ledger.datasets(site_of(app).accounts.all()[0].id)
    document = ledger.document(dataset.id, source)
    assert document is not None
    return ledger.document_passages(document.id, [dataset.id])


def letters(text: str) -> str:
    """The characters that are no markup of Markdown or of tables, and no space."""
    return "".join(character for character in text if character.isalnum())


@pytest.mark.parametrize("source", FILES)
def test_a_document_is_shown_with_its_structure_and_the_cited_passage_marked(
    app: Flask, browser: FlaskClient, source: str
) -> None:
    passages = passages_of(app, source)
    cited = passages[len(passages) // 2]
    page = browser.get(f"/documents/passage/{cited.chunk_id}").text
    [text] = lxml.html.fromstring(page).xpath("//div[@class='text']")
    if len(passages) < 20:
        assert [path for path in SHOWN[source] if not text.xpath(f".{path}")] == []
    assert len(text.xpath(".//*[@id='cited']")) == 1
    [hidden] = text.xpath(".//*[@id='cited']/span")
    hidden.drop_tree()
    marked, wanted = letters("".join(text.xpath(".//mark//text()"))), letters(cited.text)
    assert marked
    if source == "pump.md":  # numbers of items and the language of code are markup
        assert marked.startswith("Closethevalve")
        assert marked.endswith("100000")
    else:
        assert (
            wanted.endswith(marked) if source == "staff.xlsx" else marked == wanted
        )  # names of columns are there once
    assert not text.xpath(".//script | .//img | .//a")
    assert len(page) < 200_000


def test_a_long_document_has_contents_and_pages(app: Flask, browser: FlaskClient) -> None:
    passages = passages_of(app, "book.txt")
    assert len(passages) > 150
    cited, seen = passages[100], list[str]()
    address: str | None = f"/documents/passage/{cited.chunk_id}?start=0"
    while address:
        shown = lxml.html.fromstring(browser.get(address).text)
        seen.append(letters(shown.xpath("//div[@class='text']")[0].text_content()))
        address = next(iter(shown.xpath("//a[@rel='next']/@href")), None)
    assert all(f"Chapter{number}All" in "".join(seen) for number in range(200))
    assert max(map(len, seen)) <= MAX_PAGE_CHARS
    away = browser.get(f"/documents/passage/{cited.chunk_id}?start=0").text
    assert "Back to the cited passage" in away
    assert "<mark" not in away
    assert [title for title, _ in sections_of([("", 0), ("A", 1), ("A > B", 2), ("A > B > C", 3), ("D", 9)])] == [
        "A",
        "A > B",
        "D",
    ]


def made(texts: Sequence[Section], file_type: str, size: int) -> list[Passage]:
    """Passages as the ledger has them of a document with these sections."""
    chunks = chunk_sections(ParsedDocument("t", file_type, tuple(texts)), chunk_chars=size, overlap_chars=size // 4)
    return [
        Passage(
            str(number), 1, 1, "c", "s", "t", file_type, chunk.heading_path, chunk.text, number, chunk.page,
            chunk.page_end, chunk.line, chunk.line_end, None, {},
        )
        for number, chunk in enumerate(chunks)
    ]  # fmt: skip


PROSE = st.text(st.sampled_from("ab 。.、図規\n|-*_`>#1"), min_size=1, max_size=600)


@given(text=PROSE, file_type=st.sampled_from(["md", "docx", "py", "csv", "txt"]), at=st.integers(0, 20))
@settings(max_examples=60, deadline=None)
def test_the_marked_letters_are_those_of_the_passage(text: str, file_type: str, at: int) -> None:
    passages = made([Section(text, "Head", line=1 if file_type in ("md", "py") else None)], file_type, 100)
    if not passages:
        return
    cited = passages[at % len(passages)]
    parts = show_document(passages, cited.chunk_id, ())
    pieces = [piece for part in parts for row in part.rows for cell in row for piece in cell]
    marked = letters("".join(piece.text for piece in pieces if piece.cited))
    wanted = letters(cited.text)
    digits = str.maketrans("", "", "1")  # a number before an item is its marker
    assert marked.translate(digits) in wanted.translate(digits)
    if file_type in ("docx", "py", "txt"):  # what is left out is a header that the passage before has, too
        assert wanted.translate(digits).endswith(marked.translate(digits))
        assert marked or not wanted.translate(digits) or " | " in cited.text


@pytest.mark.parametrize("around", ["```", "~~~", "```python"])
@pytest.mark.parametrize("is_markdown", [False, True])
def test_code_between_fences_keeps_its_lines_in_any_text(around: str, is_markdown: bool) -> None:
    text = f"Run it:\n{around}\nif x:\n    y = a[1]\n\n    z()\n{around[:3]}\nAnd so on."
    before, code, after = blocks_of(text, is_markdown=is_markdown)
    assert ["".join(text[span.start : span.end] for span in line[0]) for line in code.rows] == [
        "if x:",
        "    y = a[1]",
        "",
        "    z()",
    ]
    assert (before.kind, code.kind, after.kind) == ("paragraph", "code", "paragraph")


def test_a_fence_without_an_end_is_a_line_of_text() -> None:
    assert [block.kind for block in blocks_of("It writes\n``` and\nnothing else.")] == ["paragraph", "paragraph"]


@pytest.mark.parametrize(
    "piece",
    [
        "```\n",
        "~~~\n```\n",
        "```a\n~~~\n",
        "**",
        "`",
        "[",
        "[a](",
        "*a",
        "> ",
        "| ",
        "- ",
        "1. ",
        "#",
        "_",
        "\n- ",
        "|\n",
        " | \n",
    ],
)
def test_hostile_markup_takes_time_by_its_length_alone(piece: str) -> None:
    started = time.thread_time()
    for is_markdown in (False, True):
        for block in blocks_of(piece * (40_000 // len(piece)), is_markdown=is_markdown):
            assert block.rows is not None
    assert time.thread_time() - started < 2


def test_a_page_has_a_bounded_weight() -> None:
    passages = made([Section("word " * 60_000)], "txt", 5_000)
    shown = page_of(passages, "30")
    assert sum(len(passage.text) for passage in shown) <= MAX_PAGE_CHARS
    assert "30" in [passage.chunk_id for passage in shown]


def test_lines_of_code_keep_their_numbers() -> None:
    lines = [f"value_{number} = {number}" if number % 7 else "" for number in range(1, 400)]
    sections, start = [], 0
    for end in range(20, 400, 20):
        sections.append(Section("\n".join(lines[start:end]), f"part {start}", line=start + 1, kind="code"))
        start = end
    passages = made(sections, "py", 200)
    parts = show_document(passages, passages[9].chunk_id, ())
    shown = {}
    for part in parts:
        assert part.line is not None
        for number, row in enumerate(part.rows, part.line):
            shown[number] = "".join(piece.text for piece in row[0])
    assert [shown[number] for number in range(1, 381)] == lines[:380]
