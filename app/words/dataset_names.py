"""Names of datasets as pages show them: those that Braid gave are in the language of the page."""

from __future__ import annotations

from flask_babel import lazy_gettext as _l

from braid.app.opening import FIRST_DATASET, SAMPLE_DESCRIPTION, SAMPLE_NAME
from braid.core.chat.files import FILES_NAME

GIVEN = {
    FIRST_DATASET: _l("My documents"),
    FILES_NAME: _l("Files of a conversation"),
    SAMPLE_NAME: _l("Braid guide"),
    SAMPLE_DESCRIPTION: _l("What Braid is and how to use it, in English, Japanese and Korean"),
}


def dataset_name(name: str) -> str:
    """Return the name, or the description, of a dataset as it is shown; the ledger keeps the English one."""
    return str(GIVEN.get(name, name))
