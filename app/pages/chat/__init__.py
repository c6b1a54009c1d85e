"""The chat pages: a conversation, asking, the picker, and the stream of an answer.

May import: what `app.pages` may.
Way in: `parts.chat`, the blueprint; `conversations` has the pages.
"""
