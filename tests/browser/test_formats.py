"""Files of many programs: uploaded, asked about, and the citation opened beside the answer."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests import more_samples
from tests.browser.conftest import Site
from tests.core.ingest.test_reading_order import drawn, side_by_side
from tests.web import add_user, post_form, sign_in

pytestmark = pytest.mark.browser

Open = Callable[..., Page]
Picture = Callable[[Page, str], None]

FILES = {
    "안내.hwpx": more_samples.hwpx_guide(),
    "案内.odt": more_samples.odt_manual(),
    "renovation.msg": more_samples.msg("The renovation of the reading room ends on 14 May. Use the annex until then."),
    "paper.pdf": drawn(side_by_side(), side_by_side()),
}
ASKED = [
    ("대출은 한 사람에 몇 권까지인가요?", "대출은 한 사람에 열 권까지이고 기간은 두 주일입니다.", "hwpx"),
    ("貸出は一人につき何冊までですか。", "貸出は一人につき十冊まで、期間は二週間です。", "odt"),
    ("When does the renovation of the reading room end?", "The renovation of the reading room ends on 14 May.", "msg"),
    ("What does fusion keep about the first hits?", "It keeps how far the first hits stand out from the rest", "pdf"),
]


def test_each_file_is_asked_about_and_its_citation_opened(
    open_anonymous: Open, site: Site, jobs: None, picture: Picture, tmp_path: Path
) -> None:
    name = add_user(site.app, "Reader of formats").name
    page = open_anonymous("datasets", cookies=[site.cookie(name)])
    page.get_by_label("Name", exact=True).first.fill("Formats")
    page.keyboard.press("Enter")
    for file, content in FILES.items():
        (tmp_path / file).write_bytes(content)
    page.locator("#files").set_input_files([tmp_path / file for file in FILES])
    expect(page.locator(".documents li .state", has_text="Done")).to_have_count(len(FILES), timeout=60_000)
    dataset = re.findall(r"/datasets/(\d+)", page.url)[0]
    for question, quoted, kind in ASKED:
        answer = post_form(sign_in(site.app, name), "/chat/messages", text=question, d=[dataset])
        page.goto(site.url + str(answer.location.partition("#")[0]).lstrip("/"))
        page.locator(".prose a.cite").first.click()
        panel = page.get_by_role("complementary", name="Source")
        if kind == "pdf":
            expect(panel.locator("svg .mark").first).to_be_visible()
            picture(page, "format-two-columns")
            panel.get_by_role("link", name="As text").click()
        expect(panel.locator("mark").first).to_be_visible()
        expect(panel.locator(".text")).to_contain_text(quoted)
        picture(page, f"format-{kind}")
