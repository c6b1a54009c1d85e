"""Copies of the ledger with the files that belong to it: backups, made while Braid runs, and moves to another place.

May import: `core.ledger`, `core.datasets`, `core.errors`. It knows no index: those are built again from the ledger.
Way in: `make.make_backup`, `verify.verify_backup`, `restore.restore_backup`, `move.move`.
"""
