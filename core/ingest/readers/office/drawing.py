"""Drawings of Office files: charts as tables, diagrams (SmartArt) and shapes as their texts."""

from __future__ import annotations

import re

from lxml import etree

from braid.core.ingest.readers.document import one_line
from braid.core.ingest.readers.office.number_format import number_format
from braid.core.ingest.readers.parts.xml import local

MAX_POINTS = 5_000
"""Most values that are read of one row of a chart."""
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,20})?(?:[eE][-+]?\d{1,2})?")
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_TEXT, _PARAGRAPH, _BREAK = f"{_A}t", f"{_A}p", f"{_A}br"
_KINDS = tuple(
    f"{{*}}{kind}{solid}Chart"
    for kind in ("area", "bar", "bubble", "doughnut", "line", "pie", "radar", "scatter", "stock", "surface")
    for solid in ("", "3D")
)
_KIND = re.compile(r"([a-z]+)(?:3D)?Chart")
_GENERATED = re.compile(
    r".*\.(?:png|jpe?g|gif|bmp|emf|wmf|svg|tiff?)|(?:picture|image|graphics?|logo|그림|図|grafik|bild) ?\d*|"
    r"[^\w]*|.*(?:description automatically generated|ai-generated content may be incorrect\.?|"
    r"自動的に生成された説明|자동 생성된 설명|AI 生成的内容可能不正确。?)",
    re.IGNORECASE | re.DOTALL,
)
"""A picture's description that its program wrote, and nobody else."""
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"


def is_description(text: str) -> bool:
    """Return whether an author describes a picture so, and not a program."""
    return bool(text) and _GENERATED.fullmatch(text) is None


def chart_lines(root: etree._Element) -> tuple[str, list[list[str]]]:
    """Return the kind and titles of a chart, and its values as a table: a column per series, a row per category."""
    said = (" ".join(paragraphs(each)) for each in root.iter("{*}title"))
    titles = dict.fromkeys(filter(None, (_kind(root), *said)))
    rows: dict[int, list[str]] = {}
    names = [""]
    for series in root.iter("{*}ser"):
        names.append(one_line(" ".join(_points(series, "tx").values())))
        labels = _points(series, "cat", "xVal")
        values = _points(series, "val", "yVal")
        for at in sorted(labels.keys() | values.keys()):
            row = rows.setdefault(at, [""])
            row[0] = row[0] or labels.get(at, "")
            row += [""] * (len(names) - 1 - len(row)) + [values.get(at, "")]
    table = [rows[at] for at in sorted(rows)]
    return " – ".join(titles), [names, *table] if any(names) else table


def _kind(root: etree._Element) -> str:
    """Return ``Bar chart`` and the like, of a chart of several kinds ``Bar chart, line chart``; empty for others."""
    found = (_KIND.fullmatch(local(each)) for each in root.iter(*_KINDS))
    return ", ".join(dict.fromkeys(f"{match[1]} chart" for match in found if match)).capitalize()


def _points(series: etree._Element, *names: str) -> dict[int, str]:
    """Return the values that Office has stored of a row of cells, by their places."""
    found: dict[int, str] = {}
    for part in (each for each in series.iterchildren(tag=etree.Element) if local(each) in names):
        code = next((each.text or "" for each in part.iter("{*}formatCode")), "")
        for point in part.iter("{*}pt"):
            place, value = point.get("idx") or "", point.find("{*}v")
            if value is not None and place.isdecimal() and len(found) < MAX_POINTS:
                found.setdefault(int(place), _shown(one_line(value.text or ""), point.get("formatCode") or code))
        if not found and (value := part.find("{*}v")) is not None:
            found[0] = one_line(value.text or "")
    return found


def paragraphs(root: etree._Element) -> list[str]:
    """Return the paragraphs of all shapes under an element that have text."""
    found = []
    for paragraph in root.iter(_PARAGRAPH):
        if any(ancestor.tag == _FALLBACK for ancestor in paragraph.iterancestors()):
            continue
        text = "".join((each.text or "") if each.tag == _TEXT else " " for each in paragraph.iter(_TEXT, _BREAK))
        if text.strip():
            found.append(one_line(text))
    return found


def _shown(value: str, code: str) -> str:
    """Return a number of a chart as the chart shows it, where that says more than its digits."""
    shown = number_format(code)
    return shown(float(value)) if shown is not None and _NUMBER.fullmatch(value) else value
