"""Several processes with one data directory, or one fleet: which of them follows the ledger, and who does it next.

May import: `core.indexes` and what it may.
Way in: `roles.Roles` and `fleet.Fleet`; `braid` uses both.
"""
