"""Equations of Office (OMML) and pages (MathML) on one line, as people type them: ``N=12+2k``, ``(a+b)/2``, ``x^2``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from lxml import etree

from braid.core.ingest.readers.parts.xml import attribute, local

_PROPERTIES = ("fPr", "sSupPr", "sSubPr", "radPr", "dPr", "naryPr", "ctrlPr", "rPr", "mPr", "accPr", "funcPr")


_UNSEEN = re.compile("[\u2061-\u2064]")
"""Signs that say what letters side by side mean."""
_PRIMES = re.compile("[\u2032-\u2034']+")
_SUMS = ("\u2211", "\u220f", "\u222b", "\u222c", "\u222e", "lim")
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What a page may have and no text of XML."""
_DRAWN = "katex-html"
"""Class of an equation's letters as they are drawn, beside the equation."""
MAX_DEPTH = 100
"""Elements within each other of an equation of a page."""


def write_equations(root: etree._Element) -> None:
    """Write each equation of a page, or of another XML document, as its text."""
    for math in list(_outermost(root)):
        depth = deepest = 0
        for event, _ in etree.iterwalk(math, events=("start", "end")):
            depth += 1 if event == "start" else -1
            deepest = max(deepest, depth)
        text = equation(math) if deepest <= MAX_DEPTH else "".join(map(str, math.itertext()))
        del math[:]
        math.text = _NOT_IN_XML.sub("", text)
        drawn = parent.getnext() if (parent := math.getparent()) is not None else None
        if drawn is not None and drawn.get("class") == _DRAWN:
            del drawn[:]
            drawn.text = ""


def _outermost(root: etree._Element) -> Iterator[etree._Element]:
    """Yield the equations of a document that are in no other one."""
    walker = etree.iterwalk(root, events=("start",), tag="{*}math")
    for _, math in walker:
        yield math
        walker.skip_subtree()


def equation(element: etree._Element) -> str:
    """Return an equation, or a part of one, as text. Its depth is that of the XML, which the parser bounds."""
    write = _FORMS.get(local(element))
    return write(element) if write is not None else _inside(element)


def _inside(element: etree._Element) -> str:
    return "".join(map(equation, element.iterchildren(tag=etree.Element)))


def _part(element: etree._Element, name: str) -> str:
    found = element.find(f"{{*}}{name}")
    return _inside(found) if found is not None else ""


def _value(element: etree._Element, path: str, default: str) -> str:
    found = element.find("/".join(f"{{*}}{name}" for name in path.split("/")))
    return default if found is None else attribute(found, "val")


def _tight(text: str) -> str:
    """Return the text in parentheses where it is more than one name or number."""
    return text if len(text) < 2 or text.isalnum() or text[0] + text[-1] == "()" else f"({text})"


def _raised(element: etree._Element) -> str:
    base = _part(element, "e")
    low, high = _part(element, "sub"), _part(element, "sup")
    return base + (f"_{_tight(low)}" if low else "") + (f"^{_tight(high)}" if high else "")


def _fraction(element: etree._Element) -> str:
    return f"{_tight(_part(element, 'num'))}/{_tight(_part(element, 'den'))}"


def _root(element: etree._Element) -> str:
    return f"{_part(element, 'deg')}√{_tight(_part(element, 'e'))}"


def _sum(element: etree._Element) -> str:
    low, high = _part(element, "sub"), _part(element, "sup")
    sign = _value(element, "naryPr/chr", "∫")
    return sign + (f"_{_tight(low)}" if low else "") + (f"^{_tight(high)}" if high else "") + f" {_part(element, 'e')}"


def _enclosed(element: etree._Element) -> str:
    begin, end = _value(element, "dPr/begChr", "("), _value(element, "dPr/endChr", ")")
    between = _value(element, "dPr/sepChr", "|") or " "
    return begin + between.join(_inside(each) for each in element.iterfind("{*}e")) + end


def _rows(element: etree._Element) -> str:
    rows = ("  ".join(_inside(cell) for cell in row.iterfind("{*}e")) for row in element.iterfind("{*}mr"))
    return "; ".join(rows)


def _children(element: etree._Element) -> list[str]:
    return list(map(equation, element.iterchildren(tag=etree.Element)))


def _scripts(element: etree._Element) -> str:
    """Return a part of MathML with what stands below, above or beside it."""
    parts = [*_children(element), "", "", ""]
    base, scripts = parts[0], parts[1:]
    low, high = ("", scripts[0]) if local(element) in ("msup", "mover") else scripts[:2]
    if local(element) == "mover" and len(high) == 1 and not high.isalnum():  # a bar, an arrow
        return base + high
    written = base + (f"_{_tight(low)}" if low else "")
    if high:
        written += high if _PRIMES.fullmatch(high) else f"^{_tight(high)}"
    return written + (" " if base in _SUMS else "")


def _of_parts(element: etree._Element) -> str:
    """Return a fraction, or a root, of MathML."""
    first, second, *_ = [*_children(element), "", ""]
    if local(element) == "mfrac":
        return f"{_tight(first)}/{_tight(second)}"
    return f"{second}√{_tight(first)}"


def _fenced(element: etree._Element) -> str:
    between = (element.get("separators") or ",").strip()[:1]
    return (element.get("open") or "(") + between.join(_children(element)) + (element.get("close") or ")")


_FORMS: dict[str, Callable[[etree._Element], str]] = {
    "t": lambda element: element.text or "",
    "f": _fraction,
    "sSup": _raised,
    "sSub": _raised,
    "sSubSup": _raised,
    "rad": _root,
    "nary": _sum,
    "d": _enclosed,
    "m": _rows,
    "eqArr": lambda element: "; ".join(_inside(each) for each in element.iterfind("{*}e")),
    "func": lambda element: f"{_part(element, 'fName')} {_part(element, 'e')}",
    **dict.fromkeys(
        ("mi", "mn", "mo", "mtext", "ms"),
        lambda element: _UNSEEN.sub("", " ".join("".join(map(str, element.itertext())).split())),
    ),
    **dict.fromkeys(("msup", "msub", "msubsup", "munder", "mover", "munderover"), _scripts),
    **dict.fromkeys(("mfrac", "mroot"), _of_parts),
    "msqrt": lambda element: f"√{_tight(_inside(element))}",
    "mtable": lambda element: "; ".join(_children(element)),
    "mtr": lambda element: "  ".join(_children(element)),
    "mfenced": _fenced,
    "mspace": lambda element: " ",
    **dict.fromkeys(("annotation", "annotation-xml", "mphantom"), lambda element: ""),
    **dict.fromkeys(_PROPERTIES, lambda element: ""),
}
