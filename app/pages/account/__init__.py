"""Sign-in, the user's own account, and the user's settings.

May import: what `app.pages` may.
Way in: `account`, the blueprint of the own account, `entry`, that of Braid's own sign-in, and `settings.settings`.
"""

from __future__ import annotations

from braid.app.pages.account.mine import account
from braid.app.pages.account.sign_in import entry

__all__ = ["account", "entry"]
