"""The pages of datasets: the list, a dataset's documents, uploads, and background tasks.

May import: what `app.pages` may, and `app.pages.search` to mark text.
Way in: `blueprint.datasets`, the blueprint.
"""

from __future__ import annotations

from braid.app.pages.datasets import (  # noqa: F401 - their routes
    add,
    dataset,
    documents,
    glossary,
    overview,
    tasks,
)
from braid.app.pages.datasets.blueprint import datasets

__all__ = ["datasets"]
