"""Originals: the files that documents were read from, as they came.

May import: `core.folders` and the rooms below it.
Way in: `store.Originals`, which keeps files once per content and finds a document's own.
"""
