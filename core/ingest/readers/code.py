"""Source code: a section per function or method, under the names of its classes; the lines and the kind exact."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from tree_sitter import Language, Node, Parser

from braid.core.ingest.readers.document import (
    MAX_HEADING_CHARS,
    ParsedDocument,
    Section,
    SourceFile,
    join_path,
    one_line,
)
from braid.core.ingest.readers.encoding import decode
from braid.core.types import ChunkKind


@dataclass(frozen=True, slots=True)
class Grammar:
    """The kinds of nodes in a language's syntax tree."""

    package: str
    """The package of the grammar, loaded with the first file in the language."""
    scopes: frozenset[str]
    """Nodes with a name that contain functions: classes, namespaces, implementations."""
    functions: frozenset[str]
    """Nodes with a name that become a section."""
    passages: frozenset[str]
    """Nodes without a name to look into: blocks under a condition, bodies."""
    language_function: str = "language"

    def language(self) -> Language:
        """Return the language for a parser."""
        return Language(getattr(importlib.import_module(self.package), self.language_function)())


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


WRAPPERS = _names(
    "decorated_definition export_statement ambient_declaration lexical_declaration variable_declaration "
    "expression_statement template_declaration"
)
"""Nodes around a definition that belong to it: its decorators, ``export``, ``template <…>``."""
LEADS = _names("comment line_comment block_comment attribute_item decorator")
"""Nodes that belong to the definition below them."""
ASSIGNMENTS = {
    "variable_declarator": ("name", "value"),
    "field_definition": ("property", "value"),
    "public_field_definition": ("name", "value"),
    "assignment_expression": ("left", "right"),
}
"""Nodes that define a function only if their value is one: type to the fields of name and value."""
FUNCTION_VALUES = _names("arrow_function function_expression generator_function class")

MODULES = _names("namespace_definition internal_module module mod_item")
"""Nodes that contain functions and classes, and are neither."""
TYPES = _names(
    "interface_declaration enum_declaration type_alias_declaration enum_specifier type_definition struct_item "
    "enum_item union_item type_declaration"
)
"""Nodes that become a section as functions do, and define a type."""

_JS = (
    _names("class_declaration abstract_class_declaration internal_module module"),
    _names(
        "function_declaration generator_function_declaration function_signature method_definition "
        "interface_declaration enum_declaration type_alias_declaration"
    )
    | ASSIGNMENTS.keys(),
    WRAPPERS,
)
_C = (
    _names("namespace_definition class_specifier struct_specifier union_specifier"),
    _names("function_definition enum_specifier type_definition"),
    _names("preproc_ifdef preproc_if preproc_else preproc_elif linkage_specification declaration_list") | WRAPPERS,
)
_JAVASCRIPT = Grammar("tree_sitter_javascript", *_JS)
_TYPESCRIPT = Grammar("tree_sitter_typescript", *_JS, "language_typescript")

GRAMMARS = {
    "py": Grammar(
        "tree_sitter_python",
        _names("class_definition"),
        _names("function_definition"),
        _names("if_statement else_clause elif_clause try_statement except_clause finally_clause with_statement block")
        | WRAPPERS,
    ),
    "js": _JAVASCRIPT,
    "ts": _TYPESCRIPT,
    "tsx": Grammar("tree_sitter_typescript", *_JS, "language_tsx"),
    "java": Grammar(
        "tree_sitter_java",
        _names("class_declaration interface_declaration enum_declaration record_declaration"),
        _names("method_declaration constructor_declaration compact_constructor_declaration"),
        _names("enum_body_declarations"),
    ),
    "go": Grammar(
        "tree_sitter_go", frozenset(), _names("function_declaration method_declaration type_declaration"), frozenset()
    ),
    "rs": Grammar(
        "tree_sitter_rust",
        _names("impl_item trait_item mod_item"),
        _names("function_item struct_item enum_item union_item macro_definition"),
        frozenset(),
    ),
    "c": Grammar("tree_sitter_c", *_C),
    "cpp": Grammar("tree_sitter_cpp", *_C),
}
"""File type to grammar."""


ERRORS: tuple[type[Exception], ...] = ()

MAX_PARSED_BYTES = 1_000_000
"""Longer files are data or the output of programs; they are cut by their lines alone. Hostile ones take tree-sitter
seconds and gigabytes per megabyte."""
_WORD = re.compile(r"\w")
_RECEIVER = re.compile(r"(?<!\w)(\w++)\s*+(?:\[[^\[\]]*+\])?\s*+\)$")
_TYPE_ARGUMENTS = re.compile(r"<.*", re.DOTALL)


class DefinitionPlace(NamedTuple):
    """Where a definition is, or what it is: its path, and its kind."""

    path: str
    kind: ChunkKind


class Definition(NamedTuple):
    """The 0-based lines of a class or function, the last one included."""

    first: int
    last: int
    place: DefinitionPlace


TOP = DefinitionPlace("", "module")


def read(file: SourceFile) -> ParsedDocument:
    """Return a section per function; lines between them go under the class around them. Broken code is read, too."""
    text = decode(file.content)
    if len(file.content) > MAX_PARSED_BYTES:
        return ParsedDocument(file.stem, file.file_type, (Section(text, line=1, kind="code"),))
    grammar = GRAMMARS[file.file_type]
    tree = Parser(grammar.language()).parse(text.encode("utf-8", "replace"))
    lines = text.split("\n")
    sections = tuple(_sections(lines, _definitions(tree.root_node, grammar, TOP)))
    return ParsedDocument(file.stem, file.file_type, sections)


def _sections(lines: list[str], definitions: Iterator[Definition]) -> Iterator[Section]:
    """Yield a section per definition. A line belongs to the innermost one; lines without a word are left out."""
    owners = [0] * len(lines)
    places = [TOP]
    for first, last, place in definitions:
        owners[first : last + 1] = [len(places)] * (min(last, len(lines) - 1) + 1 - first)
        places.append(place)
    line = 1
    for owner, group in groupby(zip(owners, lines, strict=True), key=lambda pair: pair[0]):
        body = [text for _, text in group]
        text = "\n".join(body)
        if _WORD.search(text):
            yield Section(text, places[owner].path, line=line, kind="code", chunk_kind=places[owner].kind)
        line += len(body)


def _definitions(
    node: Node, grammar: Grammar, around: DefinitionPlace, first: int | None = None, last: int | None = None
) -> Iterator[Definition]:
    """Yield the definitions under a node, outer ones first. ``first`` and ``last`` are lines of a wrapper."""
    lead = previous_end = -1
    for child in node.named_children:
        start, end = _rows(child)
        if child.type in LEADS:
            attached = lead >= 0 and start <= previous_end + 1
            lead = lead if attached else start if start > previous_end else -1
            previous_end = end
            continue
        begin = lead if lead >= 0 and start <= previous_end + 1 else start
        begin = begin if first is None else min(first, begin)
        name = _name(child, grammar)
        if name:
            inner = DefinitionPlace(join_path(around.path, *name), _kind(child, grammar, around, name))
            yield Definition(begin, end if last is None else last, inner)
            if child.type in grammar.scopes:
                yield from _definitions(child.child_by_field_name("body") or child, grammar, inner)
        elif child.type in WRAPPERS and child.type in grammar.passages:
            yield from _definitions(child, grammar, around, begin, end if last is None else last)
        elif child.type in grammar.passages or child.type in grammar.scopes:
            yield from _definitions(child.child_by_field_name("body") or child, grammar, around)
        lead, previous_end = -1, end


def _rows(node: Node) -> tuple[int, int]:
    """Return the first and the last line; a node that ends with its line break ends on that line."""
    end = node.end_point.row - (node.end_point.column == 0 and node.end_point.row > node.start_point.row)
    return node.start_point.row, end


def _kind(node: Node, grammar: Grammar, around: DefinitionPlace, name: tuple[str, ...]) -> ChunkKind:
    """Return what a definition is; a function is a method in a class, or where its name has that of its type."""
    if node.type in MODULES:
        return "module"
    value = node.child_by_field_name(ASSIGNMENTS[node.type][1]) if node.type in ASSIGNMENTS else None
    if node.type in grammar.scopes or node.type in TYPES or (value is not None and value.type == "class"):
        return "class"
    return "method" if around.kind == "class" or len(name) > 1 else "function"


def _name(node: Node, grammar: Grammar) -> tuple[str, ...]:
    """Return the name of a definition as parts of its path; empty when the node is none, or has no name."""
    if node.type not in grammar.scopes and node.type not in grammar.functions:
        return ()
    if fields := ASSIGNMENTS.get(node.type):
        name, value = (node.child_by_field_name(field) for field in fields)
        return (_text(name),) if value is not None and value.type in FUNCTION_VALUES else ()
    name = _name_node(node)
    text = _TYPE_ARGUMENTS.sub("", _text(name)) if node.type == "impl_item" else _text(name)
    receiver = _RECEIVER.search(_text(node.child_by_field_name("receiver")))
    return ((receiver[1],) if receiver else ()) + tuple(part for part in text.split("::") if part)


def _name_node(node: Node) -> Node | None:
    """Return the node with the name: a field of its own, or within the declarators of C, or in the first part (Go)."""
    found = node.child_by_field_name("name") or node.child_by_field_name("type_name")
    if found is not None or node.type == "impl_item":
        return found or node.child_by_field_name("type")
    declarator = node.child_by_field_name("declarator")
    while declarator is not None:
        found, declarator = declarator, declarator.child_by_field_name("declarator")
    if found is None and node.type == "type_declaration" and node.named_children:
        found = node.named_children[0].child_by_field_name("name")
    return found


def _text(node: Node | None) -> str:
    content = node.text if node is not None else None
    return one_line(content.decode("utf-8", "replace"))[:MAX_HEADING_CHARS] if content else ""
