"""Equations of Office (OMML) on one line, as people type them: ``N=12+2k``, ``(a+b)/2``, ``x^2``."""

from __future__ import annotations

from collections.abc import Callable

from lxml import etree

from braid.core.ingest.readers.parts.xml import attribute, local

_PROPERTIES = ("fPr", "sSupPr", "sSubPr", "radPr", "dPr", "naryPr", "ctrlPr", "rPr", "mPr", "accPr", "funcPr")


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
    **dict.fromkeys(_PROPERTIES, lambda element: ""),
}
