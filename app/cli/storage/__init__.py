"""The commands for where everything is stored: ``backup``, ``restore``, ``move`` and ``db``.

May import: what `app.cli` may.
Way in: `backup`, `restore`, `move` and `db`, each in its module.
"""
