"""The pages of administrators. Each file is one page with what can be done there; all share the blueprint."""

from __future__ import annotations

from braid.app.pages.admin import activity, folders, indexes, models, overview, registry_file, shared, users
from braid.app.pages.admin.blueprint import admin

__all__ = ["activity", "admin", "folders", "indexes", "models", "overview", "registry_file", "shared", "users"]
