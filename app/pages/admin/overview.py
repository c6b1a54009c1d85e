"""The administrators' first page: counts, and problems that need attention."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from flask import render_template
from flask_babel import gettext as _
from flask_babel import lazy_gettext as _l
from flask_babel import ngettext

from braid.app.auth.invitations import valid_since
from braid.app.mounted import url_for
from braid.app.pages.admin.audit_log import with_pages
from braid.app.pages.admin.backup import OLD_DAYS, backup_is_old, backup_view, never_backed_up
from braid.app.pages.admin.blueprint import admin, known_groups
from braid.app.pages.admin.scans import scans_view
from braid.app.pages.admin.shared import unlisted
from braid.app.pages.status import index_status
from braid.app.readiness import MEBIBYTE, health_of
from braid.app.site import site
from braid.app.user.models import site_default
from braid.app.words.filled import fill
from braid.app.words.values import model_name, size
from braid.core.accounts.account_list import count_accounts, count_states
from braid.core.background.retention import KEPT, Kept
from braid.core.jobs.store import JobStore
from braid.core.ledger.database import LACKS_NEWEST
from braid.core.ledger.permissions import barred
from braid.core.models.failures import MODEL_CALLS, Kind

KEPT_NAMES: Mapping[Kept, str] = {
    "conversations": _l("Conversations"),
    "audit": _l("Audit log"),
    "usage": _l("Usage"),
    "deleted": _l("Deleted conversations, datasets and documents"),
    "expired_tokens": _l("Expired API tokens"),
}

OF_FAILING: Mapping[Kind, str] = {
    "chat": _l("The language model %(name)s does not answer. Answers are quoted from the sources meanwhile."),
    "embedding": _l("The embedding model %(name)s does not answer. Search by meaning is incomplete meanwhile."),
    "reranker": _l("The reranker %(name)s does not answer. Results keep the order of the search meanwhile."),
}


@dataclass(frozen=True, slots=True)
class Concern:
    """A problem for an administrator, in words, with the address of the page that solves it."""

    text: str
    address: str = ""
    """The page where to do it; empty when it is not done on a page."""
    detail: str = ""
    """The error message, in English."""
    act: str = ""
    """What the button says that leads there; empty for a word that fits all."""
    posts: bool = False
    """Whether the button does it at once."""


@admin.get("/")
def index() -> str:
    """Show health, counts and warnings."""
    braid = site().braid
    braid.mirror_registry()
    datasets = braid.ledger.all_datasets()
    return render_template(
        "braid/admin/index.html",
        parts=health_of(site().braid, min_free_mb=site().settings.min_free_disk_mb).parts,
        free=_free_bytes(),
        copied=braid.chroma_bytes,
        status=index_status(braid.indexer.progress(), sum(dataset.chunks for dataset in datasets)),
        warnings=list(_warnings()),
        counts=[
            (_("Users"), count_accounts(braid.ledger.database), url_for("braid.admin.users")),
            (_("Groups"), len(known_groups()), url_for("braid.admin.groups")),
            (_("Shared datasets"), len(braid.registry.entries()), url_for("braid.admin.shared")),
            (_("Documents"), sum(dataset.documents for dataset in datasets), url_for("braid.admin.indexes")),
            (_("Passages"), sum(dataset.chunks for dataset in datasets), url_for("braid.admin.indexes")),
        ],
        models=[("search", site_default("search")), ("summary", site_default("summary"))],
        embedding_model=site().settings.embedding_model,
        reranker=site().reranker,
        jobs=JobStore(braid.ledger).counts(),
        damage=braid.ledger.database.damage,
        data_dir=braid.data_dir,
        backup=backup_view(),
        scans=scans_view(),
        retention=_retention(),
        recent=with_pages(site().audit.entries(limit=5))[0],
    )


def _free_bytes() -> int:
    return shutil.disk_usage(site().braid.data_dir).free


def _warn_of_disk() -> Iterator[Concern]:
    """Yield a warning from twice the space on below which nothing is stored."""
    free, least = _free_bytes(), site().settings.min_free_disk_mb * MEBIBYTE
    if free < least:
        yield Concern(_("The disk is almost full. New documents are refused until there is space."))
    elif free < 2 * least:
        yield Concern(
            _("The disk is filling up. Below %(size)s of free space, new documents are refused.", size=size(least))
        )


def _retention() -> list[tuple[str, int, int]]:
    """Return (what, days that it is kept or 0, how much of it goes within the hour)."""
    kept = site().background.retention
    counts = kept.preview()
    return [(str(KEPT_NAMES[kind]), kept.days.of(kind), counts[kind]) for kind in KEPT]


def _warn_of_models() -> Iterator[Concern]:
    """Yield a warning per model whose last call failed, with the page that tests it."""
    for model in MODEL_CALLS.failing():
        text = fill(str(OF_FAILING[model.kind]), {"name": model_name(model.name)})
        yield Concern(text, url_for("braid.admin.models"), model.reason)


def _warn_of_site() -> Iterator[Concern]:
    noticed = site().braid.ledger.noticed
    if missing := noticed.missing_originals:
        text = ngettext(
            "The original file of %(num)s document is missing. Restore it from a backup, or upload the document again.",
            "The original files of %(num)s documents are missing. Restore them from a backup, or upload the documents "
            "again.",
            missing,
        )
        yield Concern(text, detail="python -m app doctor")
    if noticed.secret_key_replaced:
        yield Concern(
            _(
                "The secret of this site was replaced: everybody signs in again, and stored keys of models are entered "
                "again, unless you restore it from a backup."
            )
        )
    if noticed.clock_jumped:
        yield Concern(_("The clock of the server jumped. Nothing is deleted by age until it is right, or for a day."))


def _warn_of_files() -> Iterator[Concern]:
    """Yield what is wrong with the ledger or with permissions, which nobody can put right on a page."""
    braid = site().braid
    if damage := braid.ledger.database.damage:
        text = _("The database is damaged. Keep the backups you have, stop Braid, and restore the newest good one.")
        yield Concern(text, detail=damage)
    if path := barred(braid.data_dir):
        yield Concern(_("Braid is not allowed to use some of its own files."), detail=str(path))
    if exposure := braid.exposure():
        yield Concern(_("Other users of this computer can access the data folder."), detail=exposure)


def _warnings() -> Iterator[Concern]:
    braid = site().braid
    yield from _warn_of_files()
    yield from _warn_of_disk()
    yield from _who_waits()
    yield from _warn_of_models()
    yield from _warn_of_site()
    if braid.ledger.database.lacks_newest:
        yield Concern(
            _("The database was copied while Braid ran, and the newest changes are missing. Restore a backup."),
            detail=LACKS_NEWEST % braid.ledger.database.engine.url.database,
        )
    if problem := braid.registry.problem():
        yield Concern(
            _("The list of shared datasets contains an error."), url_for("braid.admin.registry_file"), problem
        )
    if len(missing := unlisted()) > 1:
        text = ngettext(
            "Nobody can read %(num)s shared dataset: it is not in the list.",
            "Nobody can read %(num)s shared datasets: they are not in the list.",
            len(missing),
        )
        yield Concern(text, url_for("braid.admin.shared"))
    for dataset in missing if len(missing) == 1 else ():
        yield Concern(
            _("Nobody can read the shared dataset “%(name)s”: it is not in the list.", name=dataset.name),
            url_for("braid.admin.shared_one", dataset_id=dataset.id),
            act=_("Put back or delete"),
        )
    for part in braid.indexer.progress():
        if part.error or part.state == "failed":
            leg = (
                _("Search by meaning is incomplete.") if part.leg == "dense" else _("Search by keyword is incomplete.")
            )
            yield Concern(leg, url_for("braid.admin.indexes"), part.error)
    unreadable = JobStore(braid.ledger).unreadable()
    if failed := JobStore(braid.ledger).counts()["failed"] - unreadable:
        text = ngettext("%(num)s job has failed.", "%(num)s jobs have failed.", failed)
        yield Concern(text, url_for("braid.admin.jobs", state="failed"), act=_("See failed jobs"))
    if backup_is_old() or never_backed_up():
        text = _("The last backup is more than %(num)s days old.", num=OLD_DAYS)
        if never_backed_up():
            text = _("This site has never been backed up.")
        yield Concern(text, url_for("braid.admin.make_backup"), act=_("Back up now"), posts=True)
    if files := sum(JobStore(braid.ledger).unreadable_files().values()):
        text = ngettext("%(num)s file could not be read.", "%(num)s files could not be read.", files)
        yield Concern(text, url_for("braid.admin.jobs", state="failed"), act=_("See why"))
    if site().sign_up == "open":
        text = _("Anyone who can open this site can create an account.")
        yield Concern(text, url_for("braid.admin.sign_ins"))


def _who_waits() -> Iterator[Concern]:
    """Yield people who wait for an administrator: for approval, for a shared dataset, for another invitation."""
    states = count_states(site().braid.ledger.database, valid_since=valid_since())
    if waiting := states.get("waiting"):
        text = ngettext("%(num)s user waits for approval.", "%(num)s users wait for approval.", waiting)
        yield Concern(text, url_for("braid.admin.users", state="waiting"))
    requests = site().shares.requests([entry.id for entry in site().braid.registry.entries()])
    if asked := len({each.user_id for each in requests}):
        text = ngettext(
            "%(num)s person asks to read a shared dataset.", "%(num)s people ask to read a shared dataset.", asked
        )
        yield Concern(text, url_for("braid.datasets.index"), act=_("Answer"))
    if expired := states.get("expired"):
        text = ngettext("%(num)s invitation has expired.", "%(num)s invitations have expired.", expired)
        yield Concern(text, url_for("braid.admin.users", state="expired"), act=_("Invite again"))
