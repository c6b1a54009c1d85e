"""A dataset as one file: written, checked, and read in again, vectors included.

May import: the ledger and other modules of this room's parent that need no parser.
Way in: `dataset_export.export_dataset` and `dataset_import.import_dataset`; `export_file` reads what may be forged.
"""
