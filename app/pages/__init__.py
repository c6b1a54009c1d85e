"""The pages: one folder per part of the app.

May import: `app.web` and the rooms below it; not the API.
Way in: `PAGES`, the blueprints.
"""

from __future__ import annotations

from braid.app.pages.account import account, apps  # noqa: F401 - routes of the account and of the settings
from braid.app.pages.account.apps import consent
from braid.app.pages.account.settings import settings
from braid.app.pages.admin import admin
from braid.app.pages.assistants import assistants
from braid.app.pages.chat.conversations import chat
from braid.app.pages.datasets import datasets
from braid.app.pages.embed import embed
from braid.app.pages.palette import palette
from braid.app.pages.search import compare, document, three_fields, why_not  # noqa: F401 - their routes are the search's
from braid.app.pages.search.search import search

PAGES = (chat, search, datasets, assistants, settings, account, consent, admin, palette, embed)

__all__ = ["PAGES"]
