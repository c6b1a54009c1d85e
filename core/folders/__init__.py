"""Folders that datasets are kept equal to: watching them, and sync jobs that store what changed.

May import: `core.ingest`, `core.jobs` and the rooms below them.
Way in: `supervisor.FolderSupervisor`; `sync.FolderSync` makes a dataset equal to a folder, `plan` says how.
"""
