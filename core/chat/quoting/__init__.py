"""Answers without a language model: which sentences and table cells are quoted, and how good the match is.

May import: what `core.chat` may, and of it `citations` and `texts`.
Way in: `extractive.extract`, with `match.match_of` and `nearness.nearness_to`.
"""
