"""Whether the sentences of an answer agree with what they cite, without asking a model.

May import: what `core.chat` may, and of it `marks`, `links`, `tables.amounts` and `tables.dates`.
Way in: `check.check` for a text, `check.Checker` for sentences as they come.
"""
