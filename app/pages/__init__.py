"""The pages. Each file is the part of the app that its name says; PAGES are the blueprints."""

from __future__ import annotations

from braid.app.pages.account.settings import settings
from braid.app.pages.admin import admin
from braid.app.pages.chat.conversations import chat
from braid.app.pages.datasets import datasets
from braid.app.pages.search import compare, three_fields, why_not  # noqa: F401 - their routes are the search's
from braid.app.pages.search.search import search

PAGES = (chat, search, datasets, settings, admin)

__all__ = ["PAGES"]
