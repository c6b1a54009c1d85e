"""From a file, a text or a web page to a document with chunks in the ledger: plan, parse, store.

May import: `core.data_directory` and the rooms below it; not the indexes.
Way in: `ingest.ingest_paths`; `parser.Parser` reads files in another process; `readers/` has a reader per format.
"""
