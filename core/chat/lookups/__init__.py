"""What a turn looks for beyond its first search: by names and words that lead on, or as a model asks.

May import: what `core.chat` may, and of it `follow_up`, `quoting.wanted` and `texts`.
Way in: `further.Further`.
"""
