"""The command line: one file per command, over the same library as the app.

May import: everything in `app`.
Way in: `root.cli`, also as `python -m app`.
"""
