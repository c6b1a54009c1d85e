"""Whose a ledger and a data directory are: the id of their site, and the one process that owns them.

May import: the other files of `core.ledger`, and what those may.
Way in: `site.open_site`, `owner.OwnerLock` for a directory, `ownership` for a database.
"""
