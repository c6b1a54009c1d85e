"""The pages of administrators. Each file is one page with what can be done there; all share the blueprint."""

from __future__ import annotations

from app.pages.admin import folders, indexes, models, overview, records, registry_file, shared, users
from app.pages.admin.blueprint import admin

__all__ = ["admin", "folders", "indexes", "models", "overview", "records", "registry_file", "shared", "users"]
