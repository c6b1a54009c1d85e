"""The commands of the group ``user``.

May import: what `app.cli` may.
Way in: `user`, with all its commands.
"""

from braid.app.cli.users import access, life
from braid.app.cli.users.accounts import user

__all__ = ["access", "life", "user"]
