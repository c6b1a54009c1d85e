"""Deletes conversations, for the pages and the API."""

from __future__ import annotations

from braid.app.site import site
from braid.app.web.transfers import drop_all


def delete_conversation(user_id: int, conversation_id: int) -> None:
    """Delete a conversation with its files, and what still waits to be read or was exported of them."""
    here = site()
    files = here.conversations.files.dataset(user_id, conversation_id)
    if files is not None:
        drop_all(files.id)
    here.conversations.delete(user_id, conversation_id)
    here.braid.wake()
