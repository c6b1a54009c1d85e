"""Background work beside an open Braid: the job threads, the function of each kind of job, folders in sync.

May import: everything in `core`.
Way in: `background.Background`.
"""
