"""Several processes with one data directory: the endpoint of the one that owns the indexes, and the link of the others.

May import: `core.indexes` and what it may.
Way in: `endpoint.Endpoint` and `guest.far_indexes`; `braid` uses both.
"""
