"""Whole documents: which one a question is about, all of its passages, and its outline without a model.

May import: what `core.chat` may, and of it `citations`, `marks`, `quoting` and `texts`.
Way in: `find.WholeDocument` and `outline.outline`.
"""
