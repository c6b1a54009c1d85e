"""Scans from the upload to the marked place on their picture, read by the real Tesseract where it is installed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from braid.core.ingest.scans.program import find_tesseract
from tests import scans
from tests.browser.conftest import Site
from tests.web import add_user

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(find_tesseract() is None, reason="Tesseract is not installed"),
]

Open = Callable[..., Page]
Picture = Callable[[Page, str], None]


def test_scans_are_read_asked_about_and_marked_on_their_pictures(
    open_anonymous: Open, site: Site, jobs: None, picture: Picture, tmp_path: Path
) -> None:
    filler = ["The parties agree on the following terms of delivery.", "Each order is confirmed within two days."] * 4
    japanese = ["契約の期間は三年とし、更新することができる。", "保証金は返還しない。"] * 3
    files = {
        "contract.pdf": scans.pdf([scans.page([*filler, "The penalty is nine percent per week.", *filler], skew=2)]),
        "rotated.pdf": scans.pdf([scans.page([*filler, "The elevator carries eleven persons.", *filler], turn=90)]),
        "half.pdf": scans.pdf([filler, scans.page([*filler, "The warehouse opens at sunrise.", *filler])]),
        "receipt.jpg": scans.encoded(scans.page([*filler, "Paid in cash to the florist.", *filler]), "JPEG"),
        "keiyaku.png": scans.encoded(scans.page(japanese, "ja")),
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    page = open_anonymous("datasets", cookies=[site.cookie(add_user(site.app, "Reader of scans").name)])
    page.get_by_label("Name", exact=True).first.fill("Scans")
    page.keyboard.press("Enter")
    page.locator("#files").set_input_files([tmp_path / name for name in files])
    for name in files:
        row = page.locator(".documents li[id^=document]", has_text=name.partition(".")[0])
        expect(row.locator(".about")).to_contain_text("passage", timeout=100_000)
    expect(page.get_by_text("everything is searchable", exact=True)).to_be_visible(timeout=100_000)

    asked = {
        "contract": "penalty percent per week",
        "rotated": "elevator persons",
        "half": "warehouse sunrise",
        "receipt": "cash florist",
        "keiyaku": "保証金",
    }
    for name, question in asked.items():
        page.set_viewport_size({"width": 1000, "height": 900})
        page.goto(f"{site.url}search?q={question}&mode=keyword")
        hit = page.locator("#results .hit", has_text=name).first
        expect(hit).to_contain_text("read by machine")
        hit.locator("a[data-source]").first.click()
        expect(page.get_by_text("This page is a scan.")).to_be_visible()
        expect(page.locator("svg .mark").first).to_be_visible()
        picture(page, f"scan-{name}")
