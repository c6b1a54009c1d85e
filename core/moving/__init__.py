"""Moving: a data directory's ledger and files to another database or folder, table by table, and on after a kill.

May import: `core.backup` and `core.ledger`. It knows no index: those are built again from the ledger, with its vectors.
Way in: `move.move`, to a `places.Destination`.
"""
