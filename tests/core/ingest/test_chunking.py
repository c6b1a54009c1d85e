"""Chunks follow the structure, have the right size and place, and stay the same when something else is edited."""

from __future__ import annotations

import io
import itertools
import random
import time

import docx
import pytest

from braid.core.errors import InvalidInputError
from braid.core.ingest.chunking import chunk_sections
from braid.core.ingest.readers import ParsedDocument, Section, read_document
from braid.core.types import ChunkInput
from tests import samples

SENTENCES = {
    "ja": samples.JAPANESE.replace("。", "。\n").split("\n")[:-1],
    "ko": [sentence + "." for sentence in samples.KOREAN.rstrip(".").split(".")],
    "en": [sentence + "." for sentence in samples.ENGLISH.rstrip(".").split(".")],
}


def chunks_of(filename: str, text: str | bytes, **options: int) -> tuple[ChunkInput, ...]:
    content = text.encode() if isinstance(text, str) else text
    return chunk_sections(read_document(filename, content, max_bytes=20_000_000), **options)


def document(*sections: Section) -> ParsedDocument:
    return ParsedDocument("t", "txt", sections)


def prose(language: str, sentences: int, *, paragraph: int = 0, seed: int = 1) -> str:
    """Sentences that differ by a number, with a paragraph break after every ``paragraph`` of them."""
    choose = random.Random(seed)
    gap = "" if language == "ja" else " "
    written = [f"{number}{gap}{choose.choice(SENTENCES[language]).strip()}" for number in range(sentences)]
    if not paragraph:
        return gap.join(written)
    return "\n\n".join(gap.join(written[at : at + paragraph]) for at in range(0, sentences, paragraph))


# ---------------------------------------------------------------- structure


def test_a_chunk_never_crosses_a_heading() -> None:
    chunks = chunks_of("a.md", "# A\none\n## B\ntwo\n# C\nthree\n")
    assert [(chunk.heading_path, chunk.text) for chunk in chunks] == [("A", "one"), ("A > B", "two"), ("C", "three")]


@pytest.mark.parametrize(("title", "begins"), [("Travel policy", "Trips"), ("Rules of 2025", "Travel policy\n\nTrips")])
def test_the_title_of_a_document_is_no_part_of_the_passage_below_its_first_heading(title: str, begins: str) -> None:
    made = docx.Document()
    made.core_properties.title = title
    made.add_heading("Travel policy", level=0)
    made.add_heading("Booking", level=1)
    made.add_paragraph("Trips under four hours are made by train.")
    stream = io.BytesIO()
    made.save(stream)
    [chunk] = chunks_of("policy.docx", stream.getvalue())
    assert (chunk.heading_path, chunk.text) == ("Booking", f"{begins} under four hours are made by train.")


def test_a_chunk_never_crosses_a_page() -> None:
    # Without a Japanese font on the machine, pdfium has no height for a character, and drops one that is alone.
    chunks = chunks_of("a.pdf", samples.pdf([["one"], ["two"], ["三頁"]]))
    assert [(chunk.page, chunk.page_end, chunk.text) for chunk in chunks] == [
        (1, 1, "one"),
        (2, 2, "two"),
        (3, 3, "三頁"),
    ]


def test_functions_are_chunks_and_long_ones_keep_their_name() -> None:
    body = "".join(f"        value_{number} = compute({number})\n" for number in range(60))
    chunks = chunks_of("a.py", f"class A:\n    def short(self): ...\n\n    def long(self):\n{body}", chunk_chars=500)
    assert [chunk.heading_path for chunk in chunks][:2] == ["A", "A > short"]
    assert len(chunks) > 4
    assert {chunk.heading_path for chunk in chunks[2:]} == {"A > long"}
    for chunk in chunks[3:]:
        assert all(line.startswith("        value_") for line in chunk.text.split("\n"))  # cut at whole lines


def test_rows_are_packed_under_their_header() -> None:
    rows = [f"name {number},{number}" for number in range(100)]
    chunks = chunks_of("a.csv", "who,count\n" + "\n".join(rows), chunk_chars=200, overlap_chars=0)
    assert all(chunk.text.startswith("who | count\n") for chunk in chunks)
    assert [line for chunk in chunks for line in chunk.text.split("\n")[1:]] == [
        row.replace(",", " | ") for row in rows
    ]
    assert all(len(chunk.text) <= 200 for chunk in chunks)
    for before, after in itertools.pairwise(chunks):
        assert after.line == (before.line_end or 0) + 1
    assert (chunks[0].line, chunks[-1].line_end) == (2, 101)


def test_a_long_row_is_cut_and_keeps_header_and_line() -> None:
    chunks = chunks_of("a.csv", "id,text\n1," + prose("en", 40).replace(",", " ") + "\n2,short\n", chunk_chars=300)
    assert len(chunks) > 5
    assert all(chunk.text.startswith("id | text\n") for chunk in chunks)
    assert {(chunk.line, chunk.line_end) for chunk in chunks[:-1]} == {(2, 2)}
    assert (chunks[-1].text, chunks[-1].line) == ("id | text\n2 | short", 3)


def test_records_of_other_sheets_or_pages_do_not_share_a_chunk() -> None:
    sections = [Section(f"row {number}", path, kind="record") for path in ("A", "B") for number in range(3)]
    chunks = chunk_sections(document(*sections))
    assert [(chunk.heading_path, chunk.text) for chunk in chunks] == [
        ("A", "row 0\nrow 1\nrow 2"),
        ("B", "row 0\nrow 1\nrow 2"),
    ]


# ---------------------------------------------------------------- size


@pytest.mark.parametrize("language", ["ja", "ko", "en"])
@pytest.mark.parametrize("paragraph", [0, 4])
@pytest.mark.parametrize(("chunk_chars", "overlap_chars"), [(1200, 150), (300, 0), (400, 200), (100, 20)])
def test_chunks_end_at_sentences_and_overlap_by_whole_ones(
    language: str, paragraph: int, chunk_chars: int, overlap_chars: int
) -> None:
    text = prose(language, 200, paragraph=paragraph)
    chunks = chunks_of("a.txt", text, chunk_chars=chunk_chars, overlap_chars=overlap_chars)
    position = 0
    for chunk in chunks:
        assert len(chunk.text) <= chunk_chars
        at = text.index(chunk.text, max(0, position - overlap_chars - 2))
        assert at <= position + 2  # nothing but white space is left out
        position = at + len(chunk.text)
        if chunk_chars > 100:
            assert chunk.text[-1] in ".。"
            assert chunk.text[0].isdigit()  # every sentence begins with its number
    assert position == len(text)
    assert sum(len(chunk.text) for chunk in chunks) / len(chunks) > 0.5 * chunk_chars
    repeated = sum(len(chunk.text) for chunk in chunks) - len(text)
    assert (repeated > 0) == (overlap_chars > 0 and chunk_chars > 100) or chunk_chars == 100


@pytest.mark.parametrize("filler", ["x", "日本", "한국어", "あ、い", "👩‍👩‍👧"])
def test_one_endless_line_is_cut_hard(filler: str) -> None:
    text = filler * (1_000_000 // len(filler))
    started = time.thread_time()
    chunks = chunks_of("a.txt", text)
    assert time.thread_time() - started < 5
    assert all(0 < len(chunk.text) <= 1200 for chunk in chunks)
    assert {(chunk.line, chunk.line_end) for chunk in chunks} == {(1, 1)}
    assert sum(len(chunk.text) for chunk in chunks) >= len(text)


def test_abbreviations_and_numbers_do_not_end_a_sentence() -> None:
    text = " ".join(["Dr. A. Smith paid 3.50 to Mr. Lee, see e.g. Fig. 2 and J. Kim for more about this matter."] * 30)
    chunks = chunks_of("a.txt", text, chunk_chars=400)
    assert all(chunk.text.endswith("matter.") and chunk.text.startswith("Dr.") for chunk in chunks)


@pytest.mark.parametrize("sections", [(), (Section(""),), (Section(" \n\t\n" * 2000),), (Section("\n" * 9),)])
def test_no_chunk_is_empty(sections: tuple[Section, ...]) -> None:
    assert chunk_sections(document(*sections)) == ()


def test_text_among_much_white_space_is_kept() -> None:
    chunks = chunks_of("a.txt", "\n" * 5000 + "  indented\n" + " " * 5000 + "end")
    assert [(chunk.text.strip(), chunk.line) for chunk in chunks] == [("indented", 5001), ("end", 5002)]


@pytest.mark.parametrize(("chunk_chars", "overlap_chars"), [(99, 0), (1000, 501), (1000, -1)])
def test_sizes_out_of_range_are_refused(chunk_chars: int, overlap_chars: int) -> None:
    with pytest.raises(InvalidInputError, match="must be"):
        chunk_sections(document(), chunk_chars=chunk_chars, overlap_chars=overlap_chars)


# ---------------------------------------------------------------- place


def code(functions: int) -> str:
    parts = ["import os\n\n# 定数\nLIMIT = 3\n"]
    for number in range(functions):
        parts.append(f"\nclass C{number}:\n    x = {number}\n\n    # doc\n    @property\n    def m(self):\n")
        parts += [f"        y{line} = '値{line}'\n" for line in range(number * 7)]
        parts.append("        return 1\n")
    return "\n".join(parts)


TEXTS = {
    "a.txt": "\n\n" + prose("ja", 60, paragraph=3) + "\n  indented\n" + prose("en", 60) + "\n\n\n",
    "a.md": "---\ntitle: x\n---\n" + "\n".join(f"# H{n}\n\n{prose('ko', n * 9, paragraph=2)}\n" for n in range(9)),
    "a.py": code(12),
    "a.sql": "\r\n".join(f"select {n} from t -- {'x' * (n % 90)}" for n in range(200)),
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("chunk_chars", [150, 1200])
def test_the_lines_of_a_chunk_contain_its_text(name: str, chunk_chars: int) -> None:
    lines = TEXTS[name].replace("\r\n", "\n").split("\n")
    chunks = chunks_of(name, TEXTS[name], chunk_chars=chunk_chars, overlap_chars=40)
    covered: set[int] = set()
    for chunk in chunks:
        assert chunk.line is not None
        assert chunk.line_end is not None
        there = "\n".join(lines[chunk.line - 1 : chunk.line_end])
        assert all(line in there for line in chunk.text.split("\n"))
        assert chunk.text.split("\n")[0] in lines[chunk.line - 1]
        assert chunk.text.split("\n")[-1] in lines[chunk.line_end - 1]
        covered.update(range(chunk.line, chunk.line_end + 1))
    if name != "a.md":  # headings stand in the heading path instead
        assert all(number in covered for number, line in enumerate(lines, start=1) if line.strip())


# ---------------------------------------------------------------- stability


def changed(before: str, after: str, name: str) -> int:
    """How many chunk texts an edit took away or brought in."""
    texts = [{(chunk.heading_path, chunk.text) for chunk in chunks_of(name, text)} for text in (before, after)]
    return len(texts[0] ^ texts[1])


def test_an_edit_leaves_the_chunks_of_other_sections_alone() -> None:
    parts = [f"# H{number}\n\n{prose('en', 30, paragraph=3, seed=number)}\n\n" for number in range(20)]
    before = "".join(parts)
    parts[9] = parts[9].replace("14 ", "14 Something new stands here. ").replace("15 ", "")
    for chunk in set(chunks_of("a.md", before)) ^ set(chunks_of("a.md", "".join(parts))):
        assert chunk.heading_path == "H9" or chunk.heading_path > "H9"
    assert 0 < changed(before, "".join(parts), "a.md") <= 8


@pytest.mark.parametrize("language", ["ja", "ko", "en"])
@pytest.mark.parametrize("paragraph", [0, 5])
@pytest.mark.parametrize("new", ["New. ", "An inserted sentence that is rather a long one, it goes on and on. " * 8])
def test_within_one_long_section_the_cuts_fall_in_step_again(language: str, paragraph: int, new: str) -> None:
    before = prose(language, 3000, paragraph=paragraph)
    for number in (3, 1500):
        after = before.replace(f"{number}", f"{new}{number}", 1)
        assert 0 < changed(before, after, "a.txt") <= 16
    assert len(chunks_of("a.txt", before)) > 60


def test_an_inserted_row_changes_few_chunks() -> None:
    rows = [f"{number * 7919 % 10007},name {number}" for number in range(5000)]
    before = "id,name\n" + "\n".join(rows)
    after = "id,name\n" + "\n".join([*rows[:10], "1,a new row", *rows[10:]])
    assert 0 < changed(before, after, "a.csv") <= 10


def test_the_same_document_gives_the_same_chunks() -> None:
    assert chunks_of("a.md", TEXTS["a.md"]) == chunks_of("a.md", TEXTS["a.md"])


# ---------------------------------------------------------------- speed


@pytest.mark.parametrize("language", ["ja", "en"])
def test_ten_megabytes_take_seconds(language: str) -> None:
    text = prose(language, 2000, paragraph=6)
    text = (text * (10_000_000 // len(text.encode())))[:10_000_000]
    started = time.thread_time()
    chunks = chunks_of("a.txt", text)
    assert len(chunks) > 1000
    assert time.thread_time() - started < 10  # 1 to 2 s on a machine that is not busy


def test_a_pdf_of_300_pages_takes_about_a_second() -> None:
    content = samples.pdf([[f"{page} {line} " + "words of the page " * 4 for line in range(45)] for page in range(300)])
    started = time.thread_time()  # others may use the processor, too
    chunks = chunks_of("a.pdf", content)
    assert time.thread_time() - started < 5
    assert {chunk.page for chunk in chunks} == set(range(1, 301))
