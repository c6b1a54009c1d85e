"""Processes of Braid's own code that do what must not happen in the server: reading files, tables, writing to Chroma.

May import: `core.forks`, `core.json_form`, and the standard library.
Way in: `child.Child` starts, asks and kills one; `frames` and `limits` are what runs in it stands on.
"""
