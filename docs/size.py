"""Prints how large the code of `core` and `app` is, and how it reads, as one table: ``python docs/size.py [FOLDER]``.

FOLDER is another checkout to measure, such as one of an earlier commit.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles

TOPS = ("core", "app")
SHORT = 70
"""Lines below which a file with one importer may as well be a part of it."""
LONG = 35
"""Lines above which a function is long."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Module:
    """A file, with its name as others import it."""

    def __init__(self, path: Path, root: Path) -> None:
        self.name = ".".join(("braid", *path.relative_to(root).with_suffix("").parts)).removesuffix(".__init__")
        self.text = path.read_text(encoding="utf-8")
        self.lines = self.text.count("\n")
        self.tree = ast.parse(self.text)

    @property
    def room(self) -> str:
        """The folder below `core` or `app`, or the module itself at their roots."""
        return ".".join(self.name.split(".")[:3])

    def functions(self) -> Iterator[Function]:
        """Every function and method."""
        return (node for node in ast.walk(self.tree) if isinstance(node, Function))

    def public(self) -> Iterator[Function | ast.ClassDef]:
        """Classes and functions that others see: at the top, and the methods of such classes."""
        inner = [each for each in self.tree.body if isinstance(each, ast.ClassDef)]
        for owner in (self.tree, *inner):
            for node in owner.body:
                if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_"):
                    yield node

    def comments(self) -> int:
        """Lines with a comment."""
        tokens = tokenize.generate_tokens(io.StringIO(self.text).readline)
        return sum(token.type == tokenize.COMMENT for token in tokens)

    def imported(self) -> set[str]:
        """Names that may be modules: what is imported, and what is imported from."""
        found: set[str] = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                found.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module)
                found.update(f"{node.module}.{alias.name}" for alias in node.names)
        return found


def measured(root: Path) -> dict[str, str]:
    """Each figure with its name."""
    modules = [Module(path, root) for top in TOPS for path in sorted((root / top).rglob("*.py"))]
    known = {module.name: module for module in modules}
    importers = Counter[str]()
    arrows = set[tuple[str, str]]()
    for module in modules:
        for name in module.imported() & known.keys() - {module.name}:
            importers[name] += 1
            if known[name].room != module.room:
                arrows.add((module.room, known[name].room))
    lines = sum(module.lines for module in modules)
    lengths = [(node.end_lineno or 0) - node.lineno + 1 for module in modules for node in module.functions()]
    public = [node for module in modules for node in module.public()]
    folders = Counter(module.name.rpartition(".")[0] for module in modules)
    small = [
        name
        for name, module in known.items()
        if importers[name] == 1 and module.lines < SHORT and f"{name}." not in "".join(f"{each}." for each in folders)
    ]
    return {
        "lines": f"{lines:,}",
        "lines of core": f"{sum(module.lines for module in modules if module.name.startswith('braid.core')):,}",
        "lines of app": f"{sum(module.lines for module in modules if module.name.startswith('braid.app')):,}",
        "files": f"{len(modules)}",
        "lines per file": f"{lines / len(modules):.0f}",
        "rooms of core and app": f"{len({module.room for module in modules})}",
        "arrows between rooms": f"{len(arrows)}",
        f"files below {SHORT} lines with one importer": f"{len(small)}",
        "functions": f"{len(lengths):,}",
        "lines of a function, median": f"{median(lengths):.0f}",
        "lines of a function, of ten the ninth": f"{quantiles(lengths, n=10)[8]:.0f}",
        "lines of a function, most": f"{max(lengths)}",
        f"functions over {LONG} lines": f"{sum(length > LONG for length in lengths)}",
        "public things with a docstring": f"{sum(bool(ast.get_docstring(node)) for node in public) / len(public):.1%}",
        "comments per 100 lines": f"{100 * sum(module.comments() for module in modules) / lines:.2f}",
    }


def main(*folders: str) -> None:
    """Print the figures of this checkout, or of each of the folders, side by side."""
    found = [measured(Path(folder)) for folder in folders or (str(Path(__file__).parent.parent),)]
    for name in found[0]:
        print(f"{name:<40}", *(f"{each[name]:>12}" for each in found))


if __name__ == "__main__":
    main(*sys.argv[1:])
