"""Background jobs that survive a restart: their queue in the ledger, and the threads that run them.

May import: `core.ledger` and the rooms below it.
Way in: `store.JobStore` and `runner.JobRunner`; what each kind of job does is in `core.background`.
"""
