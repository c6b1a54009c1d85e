"""Backups: one file with a state of the ledger and the files that belong to it, made while Braid runs.

May import: `core.ledger`, `core.errors`. It knows no index: those are built again from the ledger.
Way in: `make.make_backup`, `verify.verify_backup`, `restore.restore_backup`.
"""
