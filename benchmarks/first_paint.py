"""What a first visit to each page costs, as Chromium itself measures it, on a laptop and a phone.

Each visit is one of a fresh profile: bytes and requests on the wire, first contentful paint, the moment from which the
page takes text and its scripts have run, the slowest of some interactions (Event Timing, in steps of 8 ms, from the
press to the next frame), and how far the layout has shifted (0.1 and more is felt). The app runs on this computer with
vectors that cost nothing; times are medians. Compare them with those of a page that has one line and nothing else, in
the first row: the difference is the page's own.

    python -m benchmarks.first_paint --visits 3
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from benchmarks.common import arguments, note, scratch_folder, show
from braid.core.braid import Braid
from braid.core.types import ChunkInput, DocumentInput
from tests.fakes import HashEmbeddings
from tests.web import make_app, serving, sign_in, site_of

CHROMIUM = "/usr/bin/chromium"
WIDTHS: Mapping[int, dict[str, Any]] = {
    1440: {"viewport": {"width": 1440, "height": 900}},
    390: {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True},
}
PAGES = {
    "one line": "",
    "chat": "chat",
    "answer of six turns": "chat/{conversation}",
    "search with results": "search?q=pump+valve&d=1",
    "datasets": "datasets",
    "dataset of 50 documents": "datasets/1",
    "settings": "settings",
    "account": "account",
    "admin: overview": "admin/",
    "admin: shared datasets": "admin/shared",
    "admin: folders": "admin/folders",
    "admin: users": "admin/users",
    "admin: models": "admin/models",
    "admin: indexes": "admin/indexes",
    "admin: jobs": "admin/jobs",
    "admin: usage": "admin/usage",
    "admin: audit log": "admin/audit",
}
QUESTIONS = (
    "Where is the pump of hall 3?",
    "Who closes the valve of hall 7?",
    "When is the tank of hall 9 emptied?",
) * 2
DOCUMENTS = 50
CONTROLS = 3
"""Controls of a page that are pressed, at most."""
WATCH = """
window.measured = {shift: 0, slowest: 0, shifted: []};
new PerformanceObserver(list => { for (const each of list.getEntries()) if (!each.hadRecentInput) {
  measured.shift += each.value;
  measured.shifted.push(...each.sources.map(({node}) => node?.id || node?.className || node?.nodeName));
} }).observe({type: "layout-shift", buffered: true});
new PerformanceObserver(list => { for (const each of list.getEntries())
  if (each.interactionId) measured.slowest = Math.max(measured.slowest, each.duration);
}).observe({type: "event", durationThreshold: 16, buffered: true});
"""
READ = """() => ({...measured,
  paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0,
  ready: performance.getEntriesByType("navigation")[0].domContentLoadedEventEnd})"""


@dataclass(frozen=True, slots=True)
class Visit:
    """What one visit took: bytes, milliseconds, and the sum of layout shifts."""

    size_bytes: int
    requests: int
    paint_ms: float
    ready_ms: float
    slowest_ms: float
    shift: float
    shifted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class World:
    """The served app, a browser, and the cookies of who is signed in."""

    address: str
    browser: Browser
    cookies: tuple[dict[str, str], ...]
    conversation: int

    def visit(self, path: str, options: Mapping[str, Any]) -> Visit:
        """Open the page in a fresh profile, and press some of what is there."""
        context = self.browser.new_context(locale="en-US", **options)
        try:
            return self._visit(context, path)
        finally:
            context.close()

    def _visit(self, context: BrowserContext, path: str) -> Visit:
        context.add_cookies(list(self.cookies))  # type: ignore[arg-type]
        context.add_init_script(WATCH)
        page = context.new_page()
        if not path:
            line = {"body": "<!doctype html><p>One line", "content_type": "text/html"}
            page.route("**/one-line", lambda route: route.fulfill(**line))
        network = context.new_cdp_session(page)
        network.send("Network.enable")
        sizes: list[float] = []
        network.on("Network.loadingFinished", lambda done: sizes.append(done["encodedDataLength"]))
        address = path.format(conversation=self.conversation) or "one-line"
        page.goto(f"{self.address}/{address}", wait_until="networkidle")
        weight = round(sum(sizes)), len(sizes)
        found = page.evaluate(READ)
        _interact(page)
        slowest = page.evaluate("measured.slowest")
        names = tuple(str(each) for each in found["shifted"])
        return Visit(*weight, found["paint"], found["ready"], slowest, found["shift"], names)


def _interact(page: Page) -> None:
    """Type into the first field, then open and press what changes nothing on the server."""
    fields = page.locator("main textarea:visible, main input[type=search]:visible, main input[type=text]:visible")
    if fields.count():
        fields.first.press_sequentially("hall 7")
    pressed = page.locator("main summary:visible, main input[type=checkbox]:visible, main button[type=button]:visible")
    for number in range(min(CONTROLS, pressed.count())):
        pressed.nth(number).press("Space")
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    page.wait_for_timeout(50)  # events are reported after the frame


@contextmanager
def _world(args: argparse.Namespace) -> Iterator[World]:
    with (
        scratch_folder(args.scratch) as folder,
        Braid(folder / "data", embedding_model=HashEmbeddings(64)) as braid,
        sync_playwright() as playwright,
    ):
        app = make_app(braid)
        user = site_of(app).accounts.all()[0]
        dataset = braid.ledger.add_dataset(user.id, "Halls").id
        for number in range(DOCUMENTS):
            texts = [f"The {what} of hall {number} is closed by hand at noon." for what in ("pump", "valve", "tank")]
            chunks = tuple(ChunkInput(text, heading_path=f"Hall {number}") for text in texts)
            braid.ledger.put_document(dataset, DocumentInput(f"hall-{number}.md", f"Hall {number}", "md", chunks))
        braid.indexer.wait(120)
        session = sign_in(app).get_cookie("braid_session")
        assert session is not None
        with serving(app) as address:
            cookies = ({"name": "braid_session", "value": session.value, "url": address},)
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            world = World(address, browser, cookies, 0)
            yield replace(world, conversation=_converse(world))
            browser.close()
        site_of(app).close()


def _converse(world: World) -> int:
    """Ask six questions, and return the conversation's id."""
    context = world.browser.new_context()
    context.add_cookies(list(world.cookies))  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(f"{world.address}/chat")
    for turn, question in enumerate(QUESTIONS):
        page.locator("#text").fill(question)
        page.keyboard.press("Enter")
        page.locator(".turn:not(.pending)").nth(turn).wait_for(timeout=120_000)
    found = int(page.url.rpartition("/")[2])
    context.close()
    return found


def _middle(visits: list[Visit], value: Callable[[Visit], float]) -> float:
    return statistics.median(map(value, visits))


def main() -> None:
    """Measure, and print a table for each width."""
    args = arguments(
        "first paint and interaction of the pages",
        add=lambda parser: parser.add_argument("--visits", type=int, default=3, help="visits to each page"),
    )
    seen: dict[str, dict[int, list[Visit]]] = {name: {} for name in PAGES}
    with _world(args) as world:
        for width, options in WIDTHS.items():
            for name, path in PAGES.items():
                note(f"{name}, {width}")
                seen[name][width] = [world.visit(path, options) for _ in range(args.visits)]
                for visit in seen[name][width]:
                    if visit.shift:
                        note(f"  shifted by {visit.shift:.3f}: {', '.join(visit.shifted)}")
    columns = ("page", "kB", "requests", "first paint ms", "takes text ms", "slowest interaction ms", "layout shift")
    figures = {
        name: {
            str(width): {
                "size_bytes": visits[-1].size_bytes,
                "requests": visits[-1].requests,
                "paint_ms": round(_middle(visits, lambda one: one.paint_ms)),
                "ready_ms": round(_middle(visits, lambda one: one.ready_ms)),
                "slowest_ms": round(_middle(visits, lambda one: one.slowest_ms)),
                "shift": round(max(one.shift for one in visits), 3),
            }
            for width, visits in of_width.items()
        }
        for name, of_width in seen.items()
    }
    tables = [
        (
            f"{width} pixels wide",
            columns,
            [_row(name, found[str(width)]) for name, found in figures.items()],
        )
        for width in WIDTHS
    ]
    show(figures, tables, as_json=args.json)


def _row(name: str, found: Mapping[str, float]) -> tuple[Any, ...]:
    size_bytes, *others = found.values()
    return name, f"{size_bytes / 1000:.1f}", *others


if __name__ == "__main__":
    main()
