"""The ledger, which is the truth: datasets, documents, chunks, vectors and the change log, in SQL.

May import: `core.text`, `core.types`, `core.errors`. It knows no index.
Way in: `ledger.Ledger`; the tables are in `tables`, schema changes in `migrations/`.
"""
