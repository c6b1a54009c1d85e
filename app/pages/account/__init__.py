"""Signing in, the own account, and the settings of a user.

May import: what `app.pages` may.
Way in: a blueprint per file.
"""
