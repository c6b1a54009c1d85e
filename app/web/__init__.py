"""Parts that pages and API share: errors, event streams, languages, Markdown, times, health, a turn's progress.

May import: `app.user`, `app.auth`, `app.site`.
Way in: one file per piece; none of them is a page.
"""
