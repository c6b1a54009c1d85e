"""The pages: search and documents. They only read."""

from __future__ import annotations

from app.pages.routes import blueprint

__all__ = ["blueprint"]
