"""Sign-in, the user's own account, and the user's settings.

May import: what `app.pages` may.
Way in: a blueprint per file.
"""
