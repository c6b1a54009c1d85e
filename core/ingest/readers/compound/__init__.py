"""Readers of files that can hold any others: zip archives, and XML with pages, feeds or OpenDocument files in it.

May import: what `readers/` may, and its modules.
Way in: `read` of each module, by the table in `braid.core.ingest.formats`.
"""
