"""Scanned pages on the administrators' first page: how many wait for a machine, and a button that has them read."""

from __future__ import annotations

from dataclasses import dataclass

from flask_babel import gettext as _
from flask_babel import ngettext
from werkzeug.wrappers import Response

from braid.app.auth.identity import identity
from braid.app.pages.admin.blueprint import admin, audit
from braid.app.site import site
from braid.app.words.values import sentences
from braid.core.background.scan_jobs import OFF


@dataclass(frozen=True, slots=True)
class ScansView:
    """What the page shows. ``command`` installs Tesseract; empty where it is there."""

    pages: int
    documents: int
    command: str
    off: bool
    under_way: bool
    """Whether all of them are being read, or are queued."""


def scans_view() -> ScansView:
    """Return how many pages wait, and what they wait for."""
    scans = site().background.scans
    remedy = scans.remedy
    pages, documents = scans.store.waiting()
    return ScansView(pages, documents, remedy, remedy == OFF, scans.jobs.count_open("scan") >= documents)


@admin.post("/scans/read")
def read_scans() -> Response:
    """Queue the reading of all scanned pages that wait."""
    queued, without_file = site().background.scans.queue_waiting(identity().account.id)
    if queued:
        audit("scans.queued", f"{queued} documents")
    told = ngettext("%(num)s document will be read.", "%(num)s documents will be read.", queued)
    if without_file:
        lost = ngettext(
            "The file of %(num)s document is not kept: add it again.",
            "The files of %(num)s documents are not kept: add them again.",
            without_file,
        )
        told = sentences([told, lost])
    return admin.done(told if queued or without_file else _("Nothing to read."), "index")
