"""How long things are kept, as the settings say."""

from __future__ import annotations

from braid.config.settings import Settings
from braid.core.background.retention import RetentionDays


def retention_days(settings: Settings) -> RetentionDays:
    """Return the days of each kind; 0 means for ever."""
    return RetentionDays(
        conversations=settings.conversation_days,
        deleted=settings.deleted_days,
        audit=settings.audit_days,
        usage=settings.usage_days,
        expired_tokens=settings.expired_token_days,
    )
