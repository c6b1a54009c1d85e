"""From a file, a text or a web page to a document with chunks in the ledger: plan, parse, store.

May import: the ledger, datasets, models, processes and text; not the indexes.
Way in: `ingest.ingest_paths` and `ingest.ingest_bytes`; `parse_pool.ParsePool` parses in other processes; `readers/`
has a reader per format.
"""
