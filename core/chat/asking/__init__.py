"""What a question leaves out, found in the turns before it, without a model.

May import `core/text`. The way in is `complete` (follow_up.py).
"""
