"""The chat pages: a conversation, asking, the picker, and the stream of an answer.

May import: what `app.pages` may, and `app.pages.search` to show what was found.
Way in: `parts.chat`, the blueprint; `conversations` has the pages.
"""
