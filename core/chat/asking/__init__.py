"""Questions without a model: what follow-ups leave out, from the turns before, and what documents can be asked about.

May import: `core.text`, `core.chat.quoting`.
Way in: `follow_up.complete`, `askable.askables`.
"""
