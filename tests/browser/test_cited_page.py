"""From an uploaded file to its page: a PDF is searched, its citation opened, and the passage seen on the page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from braid.core.types import ChunkInput, DocumentInput
from tests import samples
from tests.browser.conftest import Site, overflow
from tests.web import add_user

pytestmark = pytest.mark.browser

Open = Callable[..., Page]
Picture = Callable[[Page, str], None]
RULE = "利用者は図書を十冊まで、二週間借りることができる。"
FILLER = ["第一条　この規則は図書館の利用について定める。", "第二条　開館時間は午前九時から午後八時までとする。"]


def test_a_cited_page_is_seen_with_its_passage_marked(
    open_anonymous: Open, site: Site, jobs: None, picture: Picture, tmp_path: Path
) -> None:
    visitor = [site.cookie(add_user(site.app, "Reader of pages").name)]
    file = tmp_path / "規則.pdf"
    file.write_bytes(samples.pdf([FILLER * 15, [*FILLER, RULE, *FILLER]], title="図書館規則"))
    page = open_anonymous("datasets", cookies=visitor, locale="ja-JP")
    page.get_by_label("名前", exact=True).first.fill("規則")
    page.keyboard.press("Enter")
    page.locator("#files").set_input_files([file])
    expect(page.locator(".documents tbody tr", has_text="図書館規則").locator(".state")).to_have_text("完了")

    pictures = site.braid.data_dir / "pages"
    others = set(pictures.iterdir()) if pictures.exists() else set()
    with page.expect_response("**/documents/passage/*/page/2*"):  # before anybody opens the source
        page.goto(f"{site.url}search?q=何冊まで借りることができる&mode=keyword")
    assert [each.name.partition("-")[2] for each in set(pictures.iterdir()) - others] == ["2"]
    page.locator("#results a[href*='/documents/passage/']").first.click()
    expect(page.get_by_role("link", name="元のファイルを開く")).to_be_visible()  # the page is drawn
    expect(page.get_by_text("2 / 2 ページ").first).to_be_visible()
    marks = page.locator("svg .mark")
    expect(marks.first).to_be_visible()
    assert (
        page.evaluate(
            "(async () => { const i = new Image(); i.src = document.querySelector('svg image').getAttribute('href');"
            " await i.decode(); return i.naturalHeight })()"
        )
        == 1600
    )
    page.evaluate(
        "document.querySelectorAll('svg text').forEach(line => line.textContent.includes('十冊')"
        " && getSelection().selectAllChildren(line))"
    )
    assert page.evaluate("getSelection().toString()").strip() == RULE
    picture(page, "cited-page-ja")
    page.get_by_role("link", name="150 %").click()
    page.get_by_role("link", name="前のページ").click()
    expect(page.get_by_text("1 / 2 ページ").first).to_be_visible()
    page.get_by_role("link", name="別のページで開く").click()
    page.set_viewport_size({"width": 390, "height": 800})
    page.get_by_role("link", name="引用したページ").click()
    expect(page.get_by_text("2 / 2 ページ").first).to_be_visible()
    assert overflow(page) == 0
    picture(page, "cited-page-phone")

    page.goto(f"{site.url}search?q=何冊まで借りることができる&mode=keyword")
    page.locator("#results a[href*='/documents/passage/']").first.click()
    paper = page.locator("#panel .paper")
    expect(paper).to_be_visible()
    page.get_by_role("link", name="100 %").click()
    widths = "each => [each.querySelector('svg').clientWidth, each.clientWidth, each.scrollLeft]"
    drawn, room, start = paper.evaluate(widths)
    assert (room, overflow(page)) == (390, 0)
    assert 1.1 * room < drawn <= room / 0.6 + 1, "the margins of the page are not what the room is for"
    left = page.locator("#panel svg text").first.bounding_box()
    assert left
    assert 0 <= left["x"] < 0.4 * room
    assert start > 0
    cited = page.locator("#panel #cited").bounding_box()
    assert cited
    assert 0 < cited["y"] < 400
    page.get_by_role("link", name="200 %").click()
    again = page.locator("#panel #cited").bounding_box()
    assert again
    assert again["height"] > 1.8 * cited["height"]
    assert abs(again["y"] - cited["y"]) < 40, "what is cited stays in its place"

    with page.expect_response("**/original") as opened:
        page.evaluate("fetch(document.querySelector('a[href$=\"/original\"]').href)")
    assert opened.value.headers["content-type"] == "application/pdf"


CODE = "import sys\n\nif len(sys.argv) > 1:\n    print(sys.argv[1])"


@pytest.mark.parametrize(("file_type", "text"), [("py", CODE), ("txt", f"Run it:\n\n```python\n{CODE}\n```")])
def test_code_is_copied_as_it_was_written(open_anonymous: Open, site: Site, file_type: str, text: str) -> None:
    reader, ledger = add_user(site.app, f"Reader of {file_type}"), site.braid.ledger
    dataset = ledger.add_dataset(reader.id, "Code").id
    put = ledger.put_document(dataset, DocumentInput("run", "Run", file_type, (ChunkInput(text, line=1),)))
    (passage,) = ledger.document_passages(put.document_id, [dataset])
    page = open_anonymous(f"documents/passage/{passage.chunk_id}", cookies=[site.cookie(reader.name)])
    page.evaluate("getSelection().selectAllChildren(document.querySelector('pre'))")
    assert page.evaluate("getSelection().toString()").rstrip() == CODE
