"""A fleet's indexes: any number of processes search them on one server, and each collection is indexed by one of them.

May import: the ledger, what is common to the indexes.
Way in: `indexer.FleetIndexer`; `claimed` guards what is written.
"""
