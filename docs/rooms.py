"""Draws the rooms of `core` and the imports between them into docs/architecture.md: ``python docs/rooms.py``."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import grimp

DOCS = Path(__file__).parent
PAGE = DOCS / "architecture.md"
PICTURE = re.compile(r"(?<=<!-- rooms -->\n).*?(?=<!-- end of rooms -->)", re.DOTALL)


def room(module: str) -> str:
    """The room of a module: its folder in `core`, or itself at the root of `core`."""
    return module.split(".")[2]


def imports() -> dict[str, set[str]]:
    """For each room the rooms that it imports."""
    graph = grimp.build_graph("braid", cache_dir=None)
    modules = [module for module in graph.modules if module.startswith("braid.core.")]
    edges: dict[str, set[str]] = {room(module): set() for module in modules}
    for module in modules:
        for imported in graph.find_modules_directly_imported_by(module):
            if imported.startswith("braid.core.") and room(imported) != room(module):
                edges[room(module)].add(room(imported))
    return edges


def reachable(edges: dict[str, set[str]], start: str) -> set[str]:
    """The rooms that can be reached from ``start``, itself left out unless it is in a circle."""
    found: set[str] = set()
    waiting = list(edges[start])
    while waiting:
        each = waiting.pop()
        if each not in found:
            found.add(each)
            waiting.extend(edges[each])
    return found


def picture() -> str:
    """A Mermaid chart; an arrow that follows from others is left out."""
    edges = imports()
    below = {name: reachable(edges, name) for name in edges}
    lines = ["```mermaid", "flowchart TD"]
    for name in sorted(edges):
        implied = {far for near in edges[name] for far in below[near]}
        lines += [f"    {name} --> {imported}" for imported in sorted(edges[name] - implied)]
    return "\n".join([*lines, "```", ""])


def page_with_picture() -> str:
    """The page as it should be."""
    return PICTURE.sub(lambda _: picture(), PAGE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    sys.path.insert(0, str(DOCS.parent))
    PAGE.write_text(page_with_picture(), encoding="utf-8")
