"""Films the first minute with Braid: a PDF is dropped, a question asked, its source opened (docs/pictures/film.webp).

Needs Chromium (Debian's package ``chromium``) and a PDF with a question that it answers; the film in the README is
``python docs/film.py debian-faq.en.pdf "When does a package move from unstable to testing?"``, with the English PDF of
Debian's package ``debian-faq``.
"""

from __future__ import annotations

import base64
import io
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image, ImageChops
from playwright.sync_api import Locator, Page, sync_playwright

CHROMIUM = "/usr/bin/chromium"
FILM = Path(__file__).parent / "pictures" / "film.webp"
PORT = 8765
URL = f"http://127.0.0.1:{PORT}"
SIZE = {"width": 1180, "height": 760}
WIDTH = 880
"""Pixels of the film's width."""
MAX_BYTES = 2_000_000
READ_MS = 1_600
"""How long something new stands still, to be read."""

# A pointer, which screenshots do not have.
POINTER = """
const pointer = document.createElement("div");
pointer.style.cssText = "position:fixed;z-index:99999;left:-40px;top:0;width:18px;height:18px;border-radius:50%;" +
  "background:#e8590ccc;box-shadow:0 0 0 3px #fff8;pointer-events:none;translate:-9px -9px";
document.addEventListener("DOMContentLoaded", () => document.body.append(pointer));
document.addEventListener("mousemove", (event) => {
  pointer.style.left = event.clientX + "px";
  pointer.style.top = event.clientY + "px";
});
"""
DROP = """
([zone, name, type, data]) => {
  const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
  const transfer = new DataTransfer();
  transfer.items.add(new File([bytes], name, { type }));
  for (const kind of ["dragenter", "dragover", "drop"])
    zone.dispatchEvent(new DragEvent(kind, { dataTransfer: transfer, bubbles: true, cancelable: true }));
}
"""


class Film:
    """Pictures of one page, each with how long it is shown."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.frames: list[Image.Image] = []
        self.durations_ms: list[int] = []

    def take(self, duration_ms: int) -> None:
        """Add what the page shows now; where it shows nothing new, the last picture stays longer."""
        picture = Image.open(io.BytesIO(self.page.screenshot())).convert("RGB")
        picture = picture.resize((WIDTH, round(WIDTH * picture.height / picture.width)), Image.Resampling.LANCZOS)
        if self.frames and ImageChops.difference(self.frames[-1], picture).getbbox() is None:
            self.durations_ms[-1] += duration_ms
        else:
            self.frames.append(picture)
            self.durations_ms.append(duration_ms)

    def point_at(self, target: Locator) -> None:
        """Move the pointer there."""
        box = target.bounding_box()
        assert box is not None
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        for step in range(1, 5):
            self.page.mouse.move(SIZE["width"] / 2 * (1 - step / 4) + x * step / 4, 700 * (1 - step / 4) + y * step / 4)
            self.take(80)

    def type(self, text: str) -> None:
        """Write into what has the focus, as a person does."""
        for start in range(0, len(text), 3):
            self.page.keyboard.type(text[start : start + 3])
            self.take(110)

    def until(self, shown: Locator, *, every_ms: int) -> None:
        """Film until this is to be seen, two minutes at most; what takes long is shown faster."""
        until = time.monotonic() + 120
        while not shown.is_visible():
            if time.monotonic() > until:
                raise SystemExit(f"{shown} is not on the page {self.page.url}")
            self.take(min(every_ms, 120))
            self.page.wait_for_timeout(every_ms)

    def save(self, path: Path) -> None:
        """Write the film, as good as fits into `MAX_BYTES`."""
        for quality in (70, 50, 30):
            self.frames[0].save(
                path,
                save_all=True,
                append_images=self.frames[1:],
                duration=self.durations_ms,
                loop=0,
                quality=quality,
                method=4,
            )
            if path.stat().st_size <= MAX_BYTES:
                return
        raise SystemExit(f"{path} has {path.stat().st_size:,} bytes; film a shorter document")


@contextmanager
def served(folder: Path) -> Iterator[None]:
    """Run Braid over a new data directory."""
    command = [sys.executable, "-m", "app", "serve", "--port", str(PORT), "--data-dir", str(folder)]
    quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(command, cwd=FILM.parents[2], **quiet) as process:
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if "is ready" in line:
                    break
            yield
        finally:
            process.terminate()


def shoot(page: Page, document: Path, question: str) -> Film:
    """Play the scenes."""
    page.goto(URL)
    page.get_by_label("Name").fill("Ann")
    page.get_by_label("Password", exact=True).fill("a long password")
    page.get_by_role("button", name="Start").click()
    page.goto(f"{URL}/datasets/1")
    film = Film(page)
    film.take(READ_MS)
    film.point_at(page.get_by_text("Drop files or folders here"))
    data = base64.b64encode(document.read_bytes()).decode()
    zone = page.locator("[data-drop], .drop").first.element_handle()
    page.evaluate(DROP, [zone, document.name, "application/pdf", data])
    film.until(page.locator(".documents .state", has_text="Done").first, every_ms=1_000)
    film.take(READ_MS)
    ask = page.get_by_role("link", name="Ask this dataset")
    film.point_at(ask)
    ask.click()
    box = page.locator("#composer textarea")
    box.click()
    film.take(400)
    film.type(question)
    page.keyboard.press("Enter")
    film.until(page.locator("article .acts").last, every_ms=100)
    film.take(2 * READ_MS)
    mark = page.locator("article").last.get_by_role("link", name="1").last
    film.point_at(mark)
    mark.click()
    film.until(page.locator("#panel svg .mark").first, every_ms=100)
    for _ in range(8):
        film.take(200)
        page.wait_for_timeout(200)
    film.take(2 * READ_MS)
    return film


def main() -> None:
    """Film the document and the question of the command line."""
    if len(sys.argv) != 3 or not Path(sys.argv[1]).is_file():
        raise SystemExit(__doc__)
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_context(viewport=SIZE, locale="en-US").new_page()
        page.add_init_script(POINTER)
        film = shoot(page, Path(sys.argv[1]), sys.argv[2])
        browser.close()
    film.save(FILM)
    seconds = sum(film.durations_ms) / 1000
    print(f"{FILM}: {len(film.frames)} pictures, {seconds:.0f} s, {FILM.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
