"""Follow-up questions without a model: the words and the item that they leave out, from the turns before.

May import: `core.text`.
Way in: `follow_up.complete`.
"""
