"""The pages. Each file is the part of the app that its name says; PAGES are the blueprints."""

from __future__ import annotations

from app.pages import compare, three_fields, why_not  # noqa: F401 - their routes are the search's
from app.pages.admin import admin
from app.pages.chat import chat
from app.pages.datasets import datasets
from app.pages.search import search
from app.pages.settings import settings

PAGES = (chat, search, datasets, settings, admin)

__all__ = ["PAGES"]
