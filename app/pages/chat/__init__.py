"""The chat pages: conversations, questions, the dataset picker, and the streamed answer.

May import: what `app.pages` may, `app.pages.search` to show what was found, and `app.pages.datasets` to take files.
Way in: `parts.chat`, the blueprint; `conversations` has the pages.
"""
