"""Datasets: the shared ones in shared_dbs.json, what a caller may read, and what a dataset holds.

May import: `core.ledger`, `core.models` and the rooms below them.
Way in: `scope.resolve_scope` decides what a caller may read; `shared_changes.SharedDatasets` changes the shared
datasets.
"""
