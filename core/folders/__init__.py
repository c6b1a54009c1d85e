"""Folders, and what loaders of other packages list, in sync with datasets.

May import: `core.ingest`, `core.jobs` and the rooms below them.
Way in: `supervisor.FolderSupervisor`; `sync.FolderSync` makes a dataset equal to a folder, as `plan`
says, `loader_sync.LoaderSync` to a list.
"""
