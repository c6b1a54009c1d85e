"""Grammars: the names of nodes in the syntax trees of programming languages."""

from __future__ import annotations

import importlib
from dataclasses import dataclass

from tree_sitter import Language


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
