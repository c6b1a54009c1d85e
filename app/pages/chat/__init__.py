"""The chat pages: conversations, questions, the dataset picker, and the streamed answer.

May import: what `app.pages` may, and `app.pages.search` to show what was found.
Way in: `parts.chat`, the blueprint; `conversations` has the pages.
"""
