"""Clicks, fields and seconds of a newcomer's journeys: a real browser, the app as it is started, a scripted model.

The model server listens on one of the usual ports of this computer before the app starts. It waits half a second and
then says a word every 50 ms. Embeddings are the app's own. ``before`` are the figures of the review that the journeys
come from, taken on a busy machine with two cores: compare shapes, not milliseconds.
"""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from playwright.sync_api import Browser, Locator, Page, sync_playwright
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from benchmarks.common import arguments, note, scratch_folder, show
from braid.core.models.model_servers import LOCAL_SERVERS
from tests import samples
from tests.model_server import ModelServer, model_server
from tests.served import Served
from tests.web import PASSWORD

CHROMIUM = "/usr/bin/chromium"
TIMEOUT_MS = 120_000
PATIENCE_S = 120
"""How long the embedding of the book is waited for."""
WAIT_S, WORD_S = 0.5, 0.05
BOOK_PAGES = 100
FOLDER = 30
A_WORD = re.compile(r"\w")
ANSWERED = ".turn:not(.pending)"
GASKET = "In which hall is the gasket stored?"
ANSWER = "It is written there [1]. " + "The rest of the answer is as long as answers are. " * 7
TOLD = ".turn.failed, .turn .notice:not([hidden])"


@dataclass(frozen=True, slots=True)
class Row:
    """A journey: what it took, and what it took before."""

    journey: str
    before: str
    clicks: int
    fields: int
    seconds: float | None
    note: str = ""

    @property
    def cells(self) -> list[str]:
        """The row of the table."""
        seconds = "–" if self.seconds is None else f"{self.seconds:.1f} s"
        return [self.journey, self.before, f"{self.clicks} + {self.fields}", seconds, self.note]


@dataclass
class Visit:
    """A newcomer in front of a page, whose clicks and fields are counted until the row is written."""

    page: Page
    rows: list[Row] = field(default_factory=list)
    clicks: int = 0
    fields: int = 0
    began: float = field(default_factory=time.perf_counter)

    def click(self, what: Locator) -> None:
        """Click, when it is there."""
        what.first.click(timeout=TIMEOUT_MS)
        self.clicks += 1

    def type(self, what: Locator, text: str) -> None:
        """Fill a field."""
        what.first.fill(text)
        self.fields += 1

    def ask(self, text: str) -> None:
        """Ask in the chat, by Enter."""
        self.type(self.page.locator("#text"), text)
        self.page.keyboard.press("Enter")

    def wait(self, selector: str, *, text: str | re.Pattern[str] = "") -> Locator:
        """Wait until this is seen."""
        found = self.page.locator(selector, has_text=text) if text else self.page.locator(selector)
        found.first.wait_for(timeout=TIMEOUT_MS)
        return found.first

    def wait_until_done(self) -> None:
        """Wait until no answer is being written."""
        self.page.locator(".turn.pending").wait_for(state="detached", timeout=TIMEOUT_MS)

    def begin(self) -> None:
        """Count from here."""
        self.clicks = self.fields = 0
        self.began = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Since `begin`."""
        return time.perf_counter() - self.began

    def row(self, journey: str, before: str, *, seconds: float | None = None, note_: str = "") -> None:
        """Write the row of what happened since `begin`."""
        took = self.seconds if seconds is None else seconds
        self.rows.append(Row(journey, before, self.clicks, self.fields, took, note_))
        note(f"{journey}: {took:.1f} s")


class FirstStart(Served):
    """A server of a new directory, without an account."""

    def _sign_in(self) -> None:
        """Leave that to the browser."""


def main() -> None:
    """Walk all journeys and print the table."""
    args = arguments("Clicks, fields and seconds of a newcomer's journeys.")
    with scratch_folder(args.scratch) as scratch, _model() as model, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        with FirstStart(scratch / f"journeys-{time.time():.0f}" / "data") as served:
            rows = _walk(browser, served, model)
        browser.close()
    columns = ["journey", "before", "clicks + fields", "time", "note"]
    figures = {"rows": [row.cells for row in rows]}
    show(figures, [("Journeys", columns, [row.cells for row in rows])], as_json=args.json)


@contextmanager
def _model() -> Iterator[ModelServer]:
    def say(_messages: Sequence[tuple[str, str]]) -> str:
        time.sleep(WAIT_S - WORD_S)
        return ANSWER

    with model_server(say, ports=[local.port for local in LOCAL_SERVERS]) as server:
        server.models, server.delay_s = ("qwen3",), WORD_S
        yield server


def _walk(browser: Browser, served: FirstStart, model: ModelServer) -> list[Row]:
    page = browser.new_context(locale="en-US", viewport={"width": 1280, "height": 800}).new_page()
    url = f"http://127.0.0.1:{served.port}/"
    visit = Visit(page)
    _first_answer(visit, url)
    _connect(visit)
    _turns(visit)
    _folder(visit, url)
    _search(visit, url)
    _own_document(visit, url)
    _file_in_chat(visit, url)
    _book(visit, url)
    _killed(visit, url, served)
    return visit.rows


def _first_answer(visit: Visit, url: str) -> None:
    visit.page.goto(url)
    visit.begin()
    visit.type(visit.page.locator("input[name=password]"), PASSWORD)
    visit.click(visit.page.locator("button.primary"))
    visit.wait("#text")
    visit.row("first page → chat", "1 + 1, 2.0 s")
    visit.begin()
    visit.click(visit.page.locator(".starters button"))
    visit.wait(f"{ANSWERED} .prose a.cite")
    visit.row("chat → first cited answer from the guide, quoted", "1 + 0, 1.1 s")


def _connect(visit: Visit) -> None:
    visit.begin()
    visit.click(visit.page.get_by_role("link", name="Connect a language model"))
    visit.click(visit.page.get_by_role("button", name="Use it"))
    visit.wait("#text")
    visit.row("answer → a model that runs on this computer is connected", "impossible")
    visit.begin()
    visit.click(visit.page.locator(".starters button"))
    visit.wait(f"{ANSWERED} .prose a.cite")
    visit.row("→ the whole answer of that model, with citations", "–")


def _turns(visit: Visit) -> None:
    page = visit.page
    visit.begin()
    visit.ask("How does hybrid search work?")
    visit.wait(".turn.pending .progress li:visible")
    first_line = visit.seconds
    visit.wait(".turn.pending .prose", text=A_WORD)
    first_word = visit.seconds
    visit.wait_until_done()
    told = f"first line after {first_line:.1f} s, first word after {first_word:.1f} s"
    visit.row("question → end of the answer", "0 + 1, 0.2 s / 1.2 s / 5.3 s", note_=told)
    visit.ask("What is fusion?")
    visit.wait(".turn.pending .prose", text=A_WORD)
    visit.begin()
    visit.click(page.locator("#stop"))
    visit.wait_until_done()
    visit.row("Stop", "1 + 0, 0.15 s")


def _own_document(visit: Visit, url: str) -> None:
    page = visit.page
    visit.begin()
    visit.click(page.get_by_role("link", name="Datasets", exact=True))
    visit.click(page.get_by_role("link", name="My documents"))
    _send(page, [("manual.docx", samples.docx_manual())])
    _until_found(page, f"{url}search?mode=keyword&q=library", "manual.docx")
    visit.row("chat → an own Word file can be found by keyword", "2 + 0, 0.3 s")
    visit.wait(".state", text="everything is searchable")
    visit.row("… by meaning, too", "2.3 s")
    visit.click(page.get_by_role("link", name="Ask these documents"))
    visit.ask("How many books does the library lend?")
    visit.wait(f"{ANSWERED} .source", text="Library manual")
    visit.row("… → a cited answer from it", "3 + 1, 7.6 s", note_="with the time of the whole answer")


def _file_in_chat(visit: Visit, url: str) -> None:
    visit.page.goto(f"{url}chat")
    visit.begin()
    text = "The gasket of the press is stored in hall 7, beside the coolant."
    visit.page.evaluate(
        """([name, text]) => {
          const files = new DataTransfer();
          files.items.add(new File([text], name, { type: "text/plain" }));
          document.querySelector(".talk").dispatchEvent(new DragEvent("drop", { dataTransfer: files, bubbles: true }));
        }""",
        ["press.txt", text],
    )
    visit.ask("Where is the gasket of the press?")
    visit.wait(f"{ANSWERED} .source", text="hall 7")
    visit.row("a file dropped into the chat → a cited answer from it", "impossible", note_="and one drop")


def _folder(visit: Visit, url: str) -> None:
    page = visit.page
    page.goto(f"{url}datasets")
    visit.begin()
    visit.type(page.get_by_label("Name", exact=True), "Handbook")
    page.keyboard.press("Enter")
    visit.wait("h1", text="Handbook")
    texts = [f"# Rule {n}\n\nRoom {n} is cleaned on day {n}. 規程{n}:清掃 규정 {n}: 청소" for n in range(1, FOLDER)]
    files = enumerate(["The gasket is stored in hall 4.", *texts])
    _send(page, [(f"rule-{number}.md", text.encode()) for number, text in files])
    visit.wait(".counts", text=f"{FOLDER} documents")
    visit.wait(".state", text="everything is searchable")
    visit.row(f"a new dataset, a folder of {FOLDER} files, all embedded", "3 + 1, 6.6–14 s")
    page.goto(f"{url}chat")
    visit.begin()
    visit.ask(GASKET)
    visit.wait(f"{ANSWERED} .source", text="hall 4")
    visit.row("… → a cited answer from it in a new chat", "fails", note_="everything was ticked before")


def _book(visit: Visit, url: str) -> None:
    page = visit.page
    page.goto(f"{url}datasets")
    visit.type(page.get_by_label("Name", exact=True), "Twelve files")
    page.keyboard.press("Enter")
    visit.wait("h1", text="Twelve files")
    pages = [
        [f"Pump {number}: {line}. The pump is looked at every {number + line} hours." for line in range(45)]
        for number in range(BOOK_PAGES)
    ]
    small = [(f"small-{number}.md", f"Budget of team {number}: {number}1,000 EUR".encode()) for number in range(11)]
    visit.begin()
    _send(page, [("book.pdf", samples.pdf(pages, title="Book")), *small])
    visit.wait(".counts", text="12 documents")
    visit.row(f"12 files, one of {BOOK_PAGES} pages: all read", "2 + 0, ≈ 4 s", note_="from the dataset's page")
    _until_found(page, f"{url}search?mode=hybrid&q=Budget+of+team+7", "small-7.md")
    visit.row("… a small file behind the book is found in hybrid mode", "> 7 min")
    searchable = page.locator(".state", has_text="everything is searchable")
    with suppress(PlaywrightTimeout):
        searchable.wait_for(timeout=PATIENCE_S * 1000)
    done = "" if searchable.is_visible() else "not yet: "
    passages = " ".join(page.locator(".counts").inner_text().split())
    visit.row("… the book is embedded", "> 7 min (317 passages)", note_=f"{done}{passages}")


def _search(visit: Visit, url: str) -> None:
    visit.page.goto(f"{url}search")
    visit.begin()
    visit.type(visit.page.locator("#q"), "gasket")
    visit.page.keyboard.press("Enter")
    visit.wait(".hit")
    visit.row("search → results", "0 + 1, 0.06–0.13 s")


def _killed(visit: Visit, url: str, served: FirstStart) -> None:
    page = visit.page
    page.goto(f"{url}chat")
    visit.ask("What is hybrid search?")
    visit.wait(".turn.pending .prose", text=A_WORD)
    visit.begin()
    os.killpg(served.process.pid, signal.SIGKILL)
    visit.wait(TOLD)
    visit.row("server killed during an answer → told", "0.2 s", note_="it tries to follow the answer before")
    served.process.wait()


def _until_found(page: Page, search: str, name: str) -> None:
    """Search until this file is among the hits."""
    deadline = time.monotonic() + TIMEOUT_MS / 1000
    while name not in page.request.get(search).text():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{name} is not found by {search}")
        time.sleep(0.2)


def _send(page: Page, files: Sequence[tuple[str, bytes]]) -> None:
    payload = [{"name": name, "mimeType": "application/octet-stream", "buffer": content} for name, content in files]
    page.locator("#files").set_input_files(payload)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
