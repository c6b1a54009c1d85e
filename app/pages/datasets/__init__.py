"""Datasets: their list, their documents, how these come in, and what becomes of them."""

from __future__ import annotations

from braid.app.pages.datasets import (  # noqa: F401 - their routes
    add,
    dataset,
    documents,
    manage,
    overview,
    statistics,
    tasks,
)
from braid.app.pages.datasets.blueprint import datasets

__all__ = ["datasets"]
