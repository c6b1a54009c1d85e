"""Texts in the language of the page: languages, the names that Braid gave, reasons of failures, catalogs.

May import: `app.user`, `app.auth`, `app.site`, `app.opening`.
Way in: `languages`, `reasons.translated`, `values`; the terms that the texts follow are in docs/terms.md.
"""
