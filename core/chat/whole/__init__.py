"""Whole documents: which one, or which two, a question is about; all passages, the outline, and what differs.

May import: what `core.chat` may, and of it `asking`, `citations`, `lookups`, `marks`, `quoting`, `support` and `texts`.
Way in: `about.WholeFinder`.
"""
