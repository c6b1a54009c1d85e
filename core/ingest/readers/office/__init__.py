"""Readers of office files: documents, presentations and workbooks.

May import: what `readers/` may, and its modules `archive`, `document` and `table_rows`.
Way in: `read` of each module, by the table in `braid.core.ingest.formats`.
"""
