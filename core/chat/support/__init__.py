"""Whether the sentences of an answer agree with what they cite, without asking a model.

May import: what `core.chat` may, and of it `marks`, `citations` and `tables.amounts`.
Way in: `check.check` for a text with its passages, `check.check_answer` for an answer with its citations,
`following.Following` for one that is being written.
"""
