"""Files in an S3-compatible store, for machines that share no folder.

May import: `core.extras`, `core.errors` and `core.forks`.
Way in: `bucket.open_bucket`; each file is put there whole, and fetched whole.
"""
