"""Datasets: their list, their documents, how these come in, and what becomes of them."""

from __future__ import annotations

from app.pages.datasets import adding, documents, managing, one, overview, statistics, tasks  # noqa: F401 - their routes
from app.pages.datasets.blueprint import datasets

__all__ = ["datasets"]
