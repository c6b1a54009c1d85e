"""The site that every route uses: the open Braid and the stores that belong to it."""

from __future__ import annotations

import atexit
import threading
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from flask import current_app
from limits.strategies import MovingWindowRateLimiter

from braid.app.host import Host
from braid.app.metrics import Gauges, Metrics
from braid.app.mounted import mount
from braid.app.oidc import Provider
from braid.app.rate_windows import SharedWindows, Windows
from braid.config.backup import sources_of
from braid.config.ingest import ingest_options
from braid.config.models import SiteModels, options_in_force
from braid.config.retention import retention_days
from braid.config.settings import Settings, config_file
from braid.core.accounts.accounts import Accounts
from braid.core.accounts.app_settings import AppSettings
from braid.core.accounts.attempt_windows import AttemptWindows
from braid.core.accounts.audit import AuditLog
from braid.core.accounts.connected_apps import ConnectedApps
from braid.core.accounts.credentials import ApiTokens, WebSessions
from braid.core.accounts.model_connections import ProviderKeys
from braid.core.accounts.second_factor import SecondFactors
from braid.core.accounts.secret_key import secret_key
from braid.core.accounts.usage import Usage
from braid.core.background.background import Background
from braid.core.background.backups import Backups
from braid.core.background.checkup import Checkup
from braid.core.background.scan_jobs import ScanRules
from braid.core.backup.make import Sources
from braid.core.braid import Braid
from braid.core.chat.feedback import AnswerThumbs, FeedbackStore
from braid.core.chat.store import ConversationStore
from braid.core.chat.turns.running import RunningTurns
from braid.core.chat.turns.turn_store import TurnStore
from braid.core.datasets.assistants import Assistants
from braid.core.datasets.outlines import Outlines
from braid.core.datasets.shared_changes import SharedDatasets
from braid.core.folders.rules import FolderRules
from braid.core.ingest.plan import MEBIBYTE
from braid.core.ledger.deleted import DeletedDatasets
from braid.core.ledger.deleted_documents import DeletedDocuments

EXTENSION = "braid"
"""Key of the `Site` in Flask's extensions, unless a host app has mounted Braid under another name."""
SECOND_FACTOR = "second_factor_required"
"""Name of the app setting by which administrators require a second factor."""
CLOSING_S = 5.0

_at_work: dict[Braid, list[Site]] = {}
"""The sites whose jobs are to be run. For one Braid the first of them runs the jobs of all: they are in one ledger."""
_changing = threading.RLock()


class Site:
    """One Braid behind one Flask app.

    ``host`` is the app that it is built into; None in an app with Braid's own accounts.
    """

    def __init__(self, settings: Settings, braid: Braid, host: Host | None = None) -> None:
        self.settings = settings
        self.braid = braid
        self.closed = False
        self.host = host
        ledger = braid.ledger
        self.accounts = Accounts(ledger)
        self.sessions = WebSessions(ledger)
        self.tokens = ApiTokens(ledger)
        self.connected_apps = ConnectedApps(ledger)
        self.app_settings = AppSettings(ledger)
        self.audit = AuditLog(ledger)
        self.usage = Usage(ledger)
        self.conversations = ConversationStore(ledger, braid.registry)
        self.deleted_datasets = DeletedDatasets(ledger)
        self.deleted_documents = DeletedDocuments(ledger)
        self.feedback = FeedbackStore(ledger)
        self.answer_thumbs = AnswerThumbs(ledger)
        self.dataset_languages = braid.dataset_languages
        self.outlines = Outlines(ledger)
        self.turn_store = TurnStore(ledger)
        self.turns = RunningTurns(self.turn_store)
        self.windows = SharedWindows(AttemptWindows(ledger)) if braid.is_member or settings.workers > 1 else Windows()
        self.limiter = MovingWindowRateLimiter(self.windows)
        self.metrics = Metrics(
            Gauges(braid, min_free_mb=settings.min_free_disk_mb, embedding_model=settings.embedding_model)
        )
        self.secret = secret_key(braid.data_dir, settings.secret_key)
        self.provider_keys = ProviderKeys(ledger, self.secret)
        self.second_factors = SecondFactors(ledger, self.secret)
        self.models = SiteModels(settings, ledger, self.secret)
        self.models.serve(braid.manager)
        self.checkup = Checkup(braid)
        self.backups = Backups(braid, lambda: _sources(settings, braid))
        self.shared_datasets = SharedDatasets(braid, self.audit.add, self.app_settings)
        braid.when_list_changed = self.shared_datasets.note_changes
        self.shares = braid.shares
        self.assistants = Assistants(ledger)
        self.background = _background(settings, braid)

    def whole(self) -> AbstractContextManager[object]:
        """Have all that the block changes, and its lines of the audit log, be written together, or nothing of it."""
        return self.braid.ledger.database.write()

    def start_jobs(self) -> None:
        """Run queued jobs, mostly uploads, in this process as soon as it owns the indexes; a second call does nothing.

        Answers that a process before it left unfinished are interrupted. `close` is called when Braid is closed.
        """
        with _changing:
            sites = _at_work.setdefault(self.braid, [])
            if self not in sites:
                sites.append(self)
                self.braid.on_close(self.close)
                atexit.register(self.close)  # before Braid's, where that was registered before
                if len(sites) == 1:
                    self.braid.when_owner(self.turn_store.interrupt_abandoned)
                    self.braid.each_beat(self.turn_store.interrupt_abandoned)
                    self.background.start()

    def end_turns(self) -> None:
        """End every turn that runs, and store what there is of its answer."""
        self.turns.interrupt_all()

    def close(self) -> None:
        """Stop the jobs. Call it before Braid is closed, which does it otherwise; a second call does nothing.

        Jobs that do not end within `CLOSING_S` seconds run again at the next start, or in another site of this Braid.
        """
        with _changing:
            if self.closed:
                return
            self.closed = True
            atexit.unregister(self.close)
            self.end_turns()
            self.background.close(CLOSING_S)
            self.usage.write()
            sites = _at_work.get(self.braid, [])
            ran = sites[:1] == [self]
            if self in sites:
                sites.remove(self)
            if not sites:
                _at_work.pop(self.braid, None)
            elif ran and not self.braid.closed:
                sites[0].background.start()

    @property
    def options(self) -> dict[str, Any]:
        """The options of a search that names none: the settings', with the reranker that is in force."""
        return options_in_force(self.settings, self.braid.manager.rerankers)

    @property
    def reranker(self) -> str:
        """The name of the reranker that is in force; empty for none."""
        return str(self.options["reranker"])

    @property
    def standalone(self) -> bool:
        """True for Braid's own accounts, False for the users of a host app."""
        return self.host is None

    @cached_property
    def provider(self) -> Provider | None:
        """The provider that signs users in; None without one, and in a host app."""
        return Provider(self.settings) if self.standalone and self.settings.oidc_issuer else None

    @property
    def sign_up(self) -> str:
        """Whether visitors may create an account: ``open``, ``approval`` or ``closed``."""
        if not self.standalone or not self.settings.password_sign_in:
            return "closed"
        return str(self.app_settings.get("sign_up", self.settings.sign_up))

    @property
    def second_factor_required(self) -> bool:
        """Whether all who sign in with a password have to show a code as well."""
        return self.standalone and bool(self.app_settings.get(SECOND_FACTOR, False))

    @property
    def sign_up_open(self) -> bool:
        """Whether visitors may create an account, with or without approval."""
        return self.sign_up != "closed"


def _sources(settings: Settings, braid: Braid) -> Sources:
    """Return what is backed up: of the open data directory, whatever the settings say."""
    url = braid.ledger.database.engine.url.render_as_string(hide_password=False)
    found = sources_of(settings)
    return replace(found, data_dir=braid.data_dir, shared_dbs=braid.registry.path, database_url=url)


def _background(settings: Settings, braid: Braid) -> Background:
    return Background(
        braid,
        options=ingest_options(settings),
        workers=settings.job_workers,
        days=settings.job_days,
        parse_memory_mb=settings.parse_memory_mb,
        parse_timeout_s=settings.parse_timeout_s,
        max_import_bytes=settings.max_import_mb * MEBIBYTE,
        url_timeout_s=settings.url_timeout_s,
        allow_private_urls=settings.allow_private_urls,
        keep_originals=settings.keep_originals,
        scans=ScanRules(settings.scan_languages, settings.scan_pages_per_minute),
        retention=retention_days(settings),
        most_documents=settings.max_user_documents,
        most_waiting=settings.max_waiting_jobs,
        folder_rules=FolderRules(braid.data_dir, config_file(), tuple(map(Path, settings.folder_roots))),
    )


def site() -> Site:
    """Return the site of the app that serves this request."""
    return cast(Site, current_app.extensions[mount()])
