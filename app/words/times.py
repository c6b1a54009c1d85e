"""Points in time on pages: rendered in UTC, and marked as such; scripts convert them to the browser's time zone."""

from __future__ import annotations

from datetime import UTC, datetime

from markupsafe import Markup

_TIME = Markup('<time datetime="{exact}">{shown}</time>')


def moment(seconds: float) -> Markup:
    """Return seconds since the epoch as a time element; empty if the date is out of range (years 1 to 9999)."""
    try:
        at = datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return Markup("")
    exact, shown = at.replace(tzinfo=None).isoformat("T", "seconds"), at.replace(tzinfo=None).isoformat(" ", "minutes")
    return _TIME.format(exact=f"{exact}Z", shown=f"{shown} UTC")
