"""How documents are read and cut, as the settings say."""

from __future__ import annotations

from typing import Any

from braid.config.settings import Settings
from braid.core.ingest.plan import MEBIBYTE, IngestOptions


def ingest_options(settings: Settings, **named: Any) -> IngestOptions:
    """Return how files are read and cut into chunks; ``named`` are further fields of `IngestOptions`."""
    return IngestOptions(
        max_file_bytes=settings.max_file_mb * MEBIBYTE,
        chunk_chars=settings.chunk_chars,
        chunk_overlap_chars=settings.chunk_overlap_chars,
        scan_languages=settings.scan_languages,
        **named,
    )
