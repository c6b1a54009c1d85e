"""What runs beside a Braid that is open: the job threads, what each kind of job does, folders in sync.

May import: everything in `core`.
Way in: `background.Background`.
"""
