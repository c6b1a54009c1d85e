"""Markdown of answers: rendered safely, with citations."""

from __future__ import annotations

import re

import pytest

from braid.app.web.markdown import answer_html
from braid.core.chat.marks import mark, marked


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[a](javascript:alert(1))",
        "[a](JaVaScRiPt:alert(1))",
        "[a](&#106;avascript:alert(1))",
        "<javascript:alert(1)>",
        "[a](data:text/html;base64,PHNjcmlwdD4=)",
        "[a](vbscript:x)",
        "[a](/logout)",
        "[a](//evil.example)",
        "![a](https://evil.example/beacon.png)",
        "![a](data:image/svg+xml;base64,PHN2Zz4=)",
        "![a][b]\n\n[b]: https://evil.example/beacon.png",
        "[1]: javascript:alert(1)\n\n[1]",
        "| a |\n| - |\n| <script>alert(1)</script> |",
        "```html\n<script>alert(1)</script>\n```",
        '<a href="https://x.example" onclick="alert(1)">a</a>',
    ],
)
def test_markdown_cannot_do_harm(text: str) -> None:
    html = str(answer_html(marked(text, None), lambda number: f"/passage/{number}"))
    assert "<script" not in html
    assert "<img" not in html
    assert not re.search(r"<[^>]*\son\w+=", html)
    assert not re.search(r"<[^>]*\sstyle=", html)
    for href in re.findall(r'<a[^>]* href="([^"]*)"', html):
        assert href.startswith(("https://evil.example/beacon.png", "/passage/"))


def test_links_lead_outside_without_a_trace() -> None:
    html = str(answer_html("[paper](https://example.org/a?b=1&c=2) <mailto:a@example.org>"))
    assert html.count('rel="noopener noreferrer nofollow"') == 2
    assert 'href="https://example.org/a?b=1&amp;c=2"' in html


def test_citations_become_links_but_not_within_code_or_links() -> None:
    text = "a [1] `[1]` [text [1]](https://example.org) [2]\n\n    [1]\n\n```\nx[1]\n```"
    html = str(answer_html(marked(text, None), lambda n: "/p?q=<" if n == 1 else ""))
    assert html.count('<a class="cite" href="/p?q=&lt;" data-number="1">[1]</a>') == 1
    assert "<code>[1]</code>" in html
    assert '<span class="cite">[2]</span>' in html
    assert "<pre><code>[1]\n</code></pre>" in html
    assert "<pre><code>x[1]\n</code></pre>" in html


@pytest.mark.parametrize(
    ("text", "bold"),
    [
        ("**ポンプ（大）**は高い。これは**P-10。**次の文", ["ポンプ（大）", "P-10。"]),
        ("**注意：**必ず電源を切る。", ["注意："]),
        ('**펌프(대)**는 비싸다. **"중요"**합니다.', ["펌프(대)", "&quot;중요&quot;"]),
        ("これは**「重要」**です。**（注）**を見る。", ["「重要」", "（注）"]),
        ("a **bold** word, 2 ** 3 and a**b", ["bold"]),
        ("snake_case_名前 and *not*", []),
    ],
)
def test_emphasis_is_found_beside_japanese_and_korean_text(text: str, bold: list[str]) -> None:
    html = str(answer_html(text))
    assert re.findall(r"<strong>(.*?)</strong>", html) == bold
    assert "_名前" in html or "snake" not in html


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("**Two years.**⟦ Then", "<strong>Two years.</strong>⟦ Then"),
        ("a ⟦**(b)** and *c!*⟦.", "a ⟦<strong>(b)</strong> and <em>c!</em>⟦."),
        ("**a.**⟦**b.**⟦", "<strong>a.</strong>⟦<strong>b.</strong>⟦"),
        (
            "~~gone.~~⟦ **結論。**⟦次 **二年⟦**です",
            "<s>gone.</s>⟦ <strong>結論。</strong>⟦次 <strong>二年⟦</strong>です",
        ),
        ("__Note:__⟦ _so._⟦", "<strong>Note:</strong>⟦ <em>so.</em>⟦"),
    ],
)
def test_emphasis_is_found_beside_citations(text: str, shown: str) -> None:
    html = str(answer_html(text.replace("⟦", mark(1)))).replace('<span class="cite">[1]</span>', "⟦")
    assert html == f"<p>{shown}</p>\n"


def test_formulas_keep_what_they_are_written_with() -> None:
    html = str(answer_html(r"\(E = mc^2\) and \[ \frac{a_1}{b_2} * c_1 * d \], \*not bold\* and \[open"))
    assert r"\(E = mc^2\) and \[ \frac{a_1}{b_2} * c_1 * d \], *not bold* and [open" in html


def test_headings_stand_below_those_of_the_page() -> None:
    html = str(answer_html("# Title\n\n### Part"))
    assert html.startswith("<h3>Title</h3>")
    assert "<h4>Part</h4>" in html
