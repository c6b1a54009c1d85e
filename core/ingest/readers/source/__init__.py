"""The reader of source code, and what it knows of each language.

May import: what `readers/` may, and its modules `document` and `encoding`.
Way in: `code.read`.
"""
