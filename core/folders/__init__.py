"""Folders in sync with datasets: they are watched, and sync jobs store what changed.

May import: `core.ingest`, `core.jobs` and the rooms below them.
Way in: `supervisor.FolderSupervisor`; `sync.FolderSync` makes a dataset equal to a folder, as `plan` says.
"""
