"""Languages of datasets, by their names in the page's language."""

from __future__ import annotations

from collections.abc import Sequence

from flask_babel import get_locale
from flask_babel import gettext as _

from braid.app.site import site
from braid.core.types import Dataset


def language_name(code: str) -> str:
    """Of an ISO 639-1 code; empty stands for all that was not recognized."""
    locale = get_locale()
    return str(locale.languages.get(code, code)) if code and locale else str(_("other"))


def named_languages(datasets: Sequence[Dataset]) -> dict[int, str]:
    """Dataset id → its languages, the most frequent first; datasets without passages have none."""
    found = site().dataset_languages.of(datasets)
    return {dataset_id: _(", ").join(map(language_name, codes)) for dataset_id, codes in found.items()}
