"""The command line: a file for each command, or a few, over the same library as the app.

May import: everything in `app`.
Way in: `root.cli`, also as `python -m app`.
"""
