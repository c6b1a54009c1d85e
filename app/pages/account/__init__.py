"""Sign-in, the user's own account, and the user's settings.

May import: what `app.pages` may.
Way in: `account`, the blueprint of the own account, `entry`, those of Braid's own sign-in, and `settings.settings`.
"""

from __future__ import annotations

from braid.app.pages.account.mine import account
from braid.app.pages.account.provider import at_provider
from braid.app.pages.account.second_factor import second_factor
from braid.app.pages.account.sign_in import by_password

entry = (by_password, second_factor, at_provider)

__all__ = ["account", "entry"]
