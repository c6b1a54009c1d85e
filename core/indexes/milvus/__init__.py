"""Milvus: both legs' indexes on a server that any number of machines share. Imported only where one is set.

May import: the ledger, what is common to the indexes.
Way in: `options.MilvusOptions`, `server.MilvusServer`, the connection; `keyword` and `dense` have the legs.
"""
