"""The pages of assistants: the list, and one with its form and with whom it is shared.

May import: what `app.pages` may, and `app.pages.datasets` and `app.pages.search` for parts of their forms.
Way in: `pages.assistants`, the blueprint.
"""

from __future__ import annotations

from braid.app.pages.assistants.pages import assistants

__all__ = ["assistants"]
