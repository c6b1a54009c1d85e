"""Pictures of the pages for docs/design.md and README.md: a real browser, the app as it is served, a scripted model.

    python -m benchmarks.pictures docs/design/after
    python -m benchmarks.pictures docs/pictures home palette picker
    python -m benchmarks.pictures docs/pictures cited --documents /tmp/debian --fonts /tmp/debian/usr/share/fonts

The documents are made up, in English, Japanese and Korean; those of ``cited`` are real: Debian's packages
developers-reference, maint-guide and debian-faq, unpacked (``dpkg -x``) into a folder. What the script answers about
them is looked up in the passages that it is given, and cited only where it stands there. Names on the command line
take these pictures only; fonts are those of the machine unless a folder has better ones, such as fonts-inter's.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import json
import os
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from flask import Flask
from playwright.sync_api import Browser, Page, sync_playwright
from werkzeug.serving import make_server

from braid.app import first_start
from braid.config.settings import Settings
from braid.core.braid import Braid
from braid.core.types import ChunkInput, DocumentInput
from tests.fakes import HashEmbeddings
from tests.model_server import model_server
from tests.web import make_app, post_form, sign_in, site_of

CHROMIUM = "/usr/bin/chromium"
LAPTOP = {"locale": "en-US", "viewport": {"width": 1280, "height": 800}}
SHARP = {"locale": "en-US", "viewport": {"width": 1360, "height": 800}, "device_scale_factor": 1.5}
PHONE_JA = {"locale": "ja-JP", "viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
MANY = 500
DATASETS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "My documents": (
        ("notes/2026-06-02.md", "Weekly meeting", "The press stays in hall 4. Ana orders new gaskets until Friday."),
        ("notes/ideas.md", "Ideas for the workshop", "Print the coolant table and hang it beside the press."),
    ),
    "Travel and expenses": (
        ("travel/rules.md", "Travel rules", "Without a receipt only the daily allowance is paid: 6,500 JPY in Japan."),
        ("travel/trains.md", "Trains and flights", "Trips under four hours are made by train, second class."),
        ("travel/hotels.md", "Hotels", "A hotel may cost up to 140 EUR a night; above that the lead agrees first."),
        ("travel/receipts.md", "Receipts", "Receipts are handed in within thirty days after the trip."),
    ),
    "Pump manuals": (
        (
            "pumps/p200.pdf",
            "Pump P-200",
            "Change the coolant every 2,000 hours, and the gasket at every second change.",
        ),
        ("pumps/p300.pdf", "Pump P-300", "The pump stops by itself above 90 °C. Let it cool for an hour."),
        ("pumps/spares.xlsx", "Spare parts", "The gasket of the P-200 is part 4711 and is stored in hall 4."),
    ),
    "社内規程": (
        ("規程/在宅勤務.md", "在宅勤務規程", "在宅勤務を希望する者は、希望日の3営業日前までに上長へ申請する。"),
        ("規程/休暇.md", "休暇規程", "年次有給休暇は、入社から6か月後に10日付与される。"),
        ("規程/防災.md", "防災の手引き", "地震のときは机の下に入り、揺れが収まってから正門前の広場に集まる。"),
    ),
    "사내 규정": (
        ("규정/휴가.md", "휴가 규정", "본인 결혼 휴가는 5일이며 한 달 안에 사용할 수 있다."),
        ("규정/안전.md", "안전 안내", "화재가 나면 정문 앞 광장에 모인다."),
    ),
    "Contracts": (
        ("contracts/lease.md", "Lease of hall 4", "The lease ends on 31 March 2028 with six months' notice."),
    ),
    "Minutes 2026": (("minutes/june.md", "Board, June", "The board agreed to buy a second press in autumn."),),
    "Product catalogue": (("catalogue/pumps.md", "Pumps", "The P-200 moves 200 litres a minute, the P-300 300."),),
}
PASSAGES_MORE = (
    "Write down the hours of every machine on the first working day of the month.",
    "Questions go to the lead of the workshop, in writing or at the meeting on Tuesday.",
    "What is not in this document is decided by the lead; tell the others in the weekly notes.",
)
ANSWERS = {
    "coolant": "Change the coolant of the **P-200 every 2,000 hours**, and the gasket at every second change. [1]\n\n"
    "| Part | Interval |\n|---|---|\n| Coolant | 2,000 hours |\n| Gasket | 4,000 hours |\n\n"
    "The gasket is part 4711 and is stored in hall 4. [2]",
    "在宅": "在宅勤務は、**希望日の3営業日前まで**に上長へ申請してください。[1]\n\n- 申請先：上長\n"
    "- 対象：在宅勤務を希望する者",
}
QUESTION = "How often is the coolant of the P-200 changed?"
QUESTION_JA = "在宅勤務の申請はいつまでに出せばよいですか"
REAL = (
    "developers-reference/developers-reference.pdf",
    "doc/maint-guide/maint-guide.en.pdf",
    "doc/debian/FAQ/debian-faq.en.pdf.gz",
)
"""The documents of the picture ``cited``, below usr/share."""
QUESTION_REAL = "How is a neglected package salvaged, and how long must one wait?"
TRUE = (
    (
        "A package may be salvaged when it **has been neglected by the current maintainer**. {mark}",
        "A package becomes eligible for salvaging when it has been neglected by the current maintainer.",
    ),
    (
        '1. Open a bug with the severity "important" against the package, expressing the intent to take over '
        "maintainership of the package. {mark}",
        'Open a bug with the severity "important" against the package in question, expressing the intent to take over '
        "maintainership of the package.",
    ),
    (
        "2. The maintainer may object publicly **within 21 days**, and this terminates the salvaging process. {mark}",
        "may object publicly in response to the bug you've filed within 21 days, and this terminates the salvaging "
        "process.",
    ),
    (
        "3. After the 21 days delay, you may upload the new release of the package into the DELAYED queue with a "
        "minimum delay of **seven days**. {mark}",
        "you may upload the new release of the package into the DELAYED queue with a minimum delay of seven days.",
    ),
)
"""What is answered to it, and the sentence in the documents that says so."""
ASKED = (
    "Where are the gaskets stored?",
    "본인 결혼 휴가는 며칠인가요?",
    "地震のときはどこに集まりますか",
    "What may a hotel cost?",
    "When does the lease of hall 4 end?",
    "Which trips are made by train?",
    "How long does a pump have to cool?",
    "What did the board agree in June?",
)


@dataclass(frozen=True)
class World:
    """A served app with documents and conversations, and a browser."""

    url: str
    app: Flask
    braid: Braid
    browser: Browser
    documents: Path | None
    """Where the real documents are."""

    def open(self, path: str, options: dict[str, object]) -> Page:
        """Open a page as the administrator."""
        context = self.browser.new_context(**options)  # type: ignore[arg-type]
        cookie = sign_in(self.app).get_cookie("braid_session")
        assert cookie is not None
        context.add_cookies([{"name": "braid_session", "value": cookie.value, "url": self.url}])
        page = context.new_page()
        page.goto(self.url + path, wait_until="networkidle")
        return page


def _reply(messages: Sequence[tuple[str, str]]) -> str:
    asked = messages[-1][1]
    if QUESTION_REAL in asked:
        return "\n\n".join(_true(asked))
    return next((text for word, text in ANSWERS.items() if word in asked.lower()), "They are in hall 4. [1]")


def _true(prompt: str) -> Iterator[str]:
    """Yield what the passages of a prompt say, each with the mark of the passage that has it."""
    passages = re.findall(
        r'<passage-\w+(?: \w+="[^"]*")*? mark="(\[[^"]*\])"(?: \w+="[^"]*")*>\n(.*?)\n</passage-', prompt, re.DOTALL
    )
    for said, source in TRUE:
        marks = [mark for mark, text in passages if source in " ".join(text.split())]
        if marks:
            yield said.format(mark=marks[0])


def _fill(braid: Braid) -> None:
    user = braid.ledger.users()[0]
    ids = {each.name: each.id for each in braid.ledger.all_datasets()}
    for name, documents in DATASETS.items():
        dataset_id = ids.get(name) or braid.ledger.add_dataset(user.id, name).id
        for source, title, text in documents:
            texts = (text, *PASSAGES_MORE[: 1 + len(title) % 3])
            chunks = tuple(ChunkInput(each, heading_path=title, line=n, line_end=n) for n, each in enumerate(texts, 1))
            kind = source.rpartition(".")[2]
            braid.ledger.put_document(dataset_id, DocumentInput(source, title, kind, chunks, size_bytes=2048))


@contextmanager
def _world(documents: Path | None, fonts: Path | None) -> Iterator[World]:
    with (
        tempfile.TemporaryDirectory(prefix="braid-pictures-", ignore_cleanup_errors=True) as folder,
        model_server(_reply) as model,
        Braid(Path(folder) / "data", embedding_model=HashEmbeddings(256)) as braid,
        sync_playwright() as playwright,
    ):
        first_start.prepare(braid)
        _fill(braid)
        assert braid.indexer.wait(120)
        writer = {"summary_model": "openai:writer", "summary_model_base_url": model.url, "summary_model_api_key": "k"}
        app = make_app(braid, replace(Settings(), **writer), jobs=True)
        client = sign_in(app)
        everything = [str(each.id) for each in braid.ledger.all_datasets()]
        for question in ASKED:
            post_form(client, "/chat/messages", text=question, d=everything)
        server = make_server("127.0.0.1", 0, app, threaded=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with_fonts = _with_fonts(Path(folder), fonts) if fonts else None
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"], env=with_fonts)
        yield World(f"http://127.0.0.1:{server.port}/", app, braid, browser, documents)
        browser.close()
        server.shutdown()
        site_of(app).close()


def _with_fonts(folder: Path, fonts: Path) -> Mapping[str, str]:
    """Return an environment in which a browser takes the fonts of a folder before those of the machine."""
    families = ("Inter", "Noto Sans CJK JP", "Noto Sans CJK KR")
    preferred = "".join(f"<family>{family}</family>" for family in families)
    aliases = "".join(
        f"<alias binding='strong'><family>{name}</family><prefer>{preferred}</prefer></alias>"
        for name in ("system-ui", "sans-serif", "sans")
    )
    own = folder / "fonts.conf"
    own.write_text(
        f"<fontconfig><dir>{fonts.resolve()}</dir><cachedir>{folder}</cachedir>"
        f"<include>/etc/fonts/fonts.conf</include>{aliases}</fontconfig>",
        encoding="utf-8",
    )
    return {**os.environ, "FONTCONFIG_FILE": str(own)}


# ---------------------------------------------------------------- the pictures


def _at(path: str, options: dict[str, object] = LAPTOP) -> Callable[[World], Page]:
    return lambda world: world.open(path, options)


def _answer(question: str, options: dict[str, object]) -> Callable[[World], Page]:
    def ask(world: World) -> Page:
        page = world.open("chat", options)
        page.locator("#text").fill(question)
        page.locator("#send").click()
        page.locator(".turn:not(.pending) .sources").first.wait_for()
        page.wait_for_timeout(400)
        return page

    return ask


def _cited(world: World) -> Page:
    """Upload the real documents, ask, and open a citation: its page stands beside the answer, the sentence marked."""
    assert world.documents is not None, "main asks for the folder"
    page = world.open("datasets", SHARP)
    page.get_by_label("Name", exact=True).first.fill("Debian manuals")
    page.keyboard.press("Enter")
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for name in REAL:
            content = (world.documents / "usr" / "share" / name).read_bytes()
            files.append(Path(folder) / Path(name).name.removesuffix(".gz"))
            files[-1].write_bytes(gzip.decompress(content) if name.endswith(".gz") else content)
        page.locator("#files").set_input_files(files)
        page.locator(".documents .state", has_text="Done").nth(len(REAL) - 1).wait_for(timeout=120_000)
    assert world.braid.indexer.wait(600)
    dataset = re.findall(r"/datasets/(\d+)", page.url)[0]
    page.goto(f"{world.url}chat?d={dataset}")
    page.locator("#text").fill(QUESTION_REAL)
    page.keyboard.press("Enter")
    page.locator(".turn:not(.pending) .sources").first.wait_for(timeout=60_000)
    page.locator(".turn .prose a.cite").nth(2).click()
    page.locator("#panel #cited").wait_for(timeout=60_000)
    page.wait_for_timeout(1_500)
    return page


def _picker(world: World) -> Page:
    user = world.braid.ledger.users()[0]
    for number in range(len(world.braid.ledger.all_datasets()), MANY):
        added = world.braid.ledger.add_dataset(user.id, f"Project {number:03d}")
        note = ChunkInput(f"The plan of project {number}.", line=1, line_end=1)
        world.braid.ledger.put_document(added.id, DocumentInput("plan.md", f"Plan {number}", "md", (note,)))
    assert world.braid.indexer.wait(120)
    page = world.open("chat", LAPTOP)
    page.locator("#picker-button").click()
    page.wait_for_timeout(300)
    return page


def _palette(world: World) -> Page:
    page = world.open("chat", LAPTOP)
    page.keyboard.press("Control+k")
    page.locator("#palette input").fill("travel")
    page.locator("#palette [role=option]", has_text="Travel rules").first.wait_for()
    page.wait_for_timeout(300)
    return page


def _dataset(world: World) -> Page:
    wanted = next(each.id for each in world.braid.ledger.all_datasets() if each.name == "Travel and expenses")
    return world.open(f"datasets/{wanted}", LAPTOP)


def _document(world: World) -> Page:
    page = world.open("search?q=change+the+coolant+hours&mode=keyword", LAPTOP)
    page.locator(".hit a").first.click()
    page.wait_for_load_state("networkidle")
    return page


PICTURES: dict[str, Callable[[World], Page]] = {
    "home": _at("chat"),
    "answer": _answer(QUESTION, LAPTOP),
    "results": _at("search?q=coolant+gasket"),
    "datasets": _at("datasets"),
    "dataset": _dataset,
    "document": _document,
    "settings": _at("settings"),
    "overview": _at("admin/"),
    "models": _at("admin/models"),
    "home-phone-ja": _at("chat", PHONE_JA),
    "answer-phone-ja": _answer(QUESTION_JA, PHONE_JA),
    "palette": _palette,
    "cited": _cited,
    "picker": _picker,
}
"""By name; the picker is the last, since it adds datasets. ``cited`` is taken where the documents are given."""


def main() -> int:
    """Take the pictures. Returns 2 for an unknown name."""
    parser = argparse.ArgumentParser(description="Pictures of the pages, as WebP.")
    parser.add_argument("folder", type=Path, help="where they are written to, such as docs/design/after")
    parser.add_argument("names", nargs="*", help=f"only these: {', '.join(PICTURES)}")
    parser.add_argument("--dark", action="store_true", help="in the dark theme")
    parser.add_argument("--documents", type=Path, help="where the packages with the documents of `cited` are unpacked")
    parser.add_argument("--fonts", type=Path, help="a folder with fonts to use, such as Inter")
    args = parser.parse_args()
    if "cited" in args.names and args.documents is None:
        print("cited needs --documents FOLDER; see the beginning of benchmarks/pictures.py", file=sys.stderr)
        return 2
    if unknown := [name for name in args.names if name not in PICTURES]:
        print(f"there is no picture {unknown[0]!r}; choose from {', '.join(PICTURES)}", file=sys.stderr)
        return 2
    args.folder.mkdir(parents=True, exist_ok=True)
    sizes = {}
    with _world(args.documents, args.fonts) as world:
        for name, take in PICTURES.items():
            if (args.names and name not in args.names) or (name == "cited" and args.documents is None):
                continue
            page = take(world)
            if args.dark:
                page.emulate_media(color_scheme="dark")
            session = page.context.new_cdp_session(page)
            taken = session.send("Page.captureScreenshot", {"format": "webp", "quality": 72})
            path = args.folder / f"{name}.webp"
            path.write_bytes(base64.b64decode(taken["data"]))
            sizes[path.name] = path.stat().st_size
            page.context.close()
    print(json.dumps(sizes | {"all": sum(sizes.values())}, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
