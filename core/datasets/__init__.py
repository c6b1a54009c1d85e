"""Datasets: the shared ones in shared_dbs.json, what a caller may read, and what a dataset holds.

May import: `core.ledger` and the rooms below it.
Way in: `registry.Registry`, and `scope.resolve_scope`, the one place that decides what a caller may read.
"""
