"""Sign-in, the user's own account, and the user's settings.

May import: what `app.pages` may.
Way in: `account`, the blueprint of signing in and the own account, and `settings.settings`.
"""

from __future__ import annotations

from braid.app.pages.account import mine
from braid.app.pages.account.sign_in import account

__all__ = ["account", "mine"]
