"""The site that every route uses: the open Braid and the stores that belong to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from flask import current_app
from limits.strategies import MovingWindowRateLimiter

from braid.app.metrics import Metrics
from braid.app.rate_windows import Windows
from braid.config.models import SiteModels
from braid.config.settings import Settings, config_file
from braid.core.accounts.accounts import Accounts
from braid.core.accounts.app_settings import AppSettings
from braid.core.accounts.audit import AuditLog
from braid.core.accounts.credentials import ApiTokens, WebSessions
from braid.core.accounts.provider_keys import ProviderKeys
from braid.core.accounts.secret_key import secret_key
from braid.core.accounts.usage import Usage
from braid.core.background.background import Background
from braid.core.background.checkup import Checkup
from braid.core.braid import Braid
from braid.core.chat.feedback import FeedbackStore
from braid.core.chat.live_turn import LiveTurns
from braid.core.chat.store import ConversationStore
from braid.core.chat.thumbs import AnswerThumbs
from braid.core.chat.turns.running import RunningTurns
from braid.core.chat.turns.turn_store import TurnStore
from braid.core.datasets.languages import DatasetLanguages
from braid.core.datasets.outlines import Outlines
from braid.core.datasets.shared_changes import SharedDatasets
from braid.core.folders.rules import FolderRules
from braid.core.ingest.plan import MEBIBYTE, IngestOptions

EXTENSION = "braid"
CLOSING_S = 5.0


@dataclass(frozen=True, slots=True)
class HostUser:
    """A user of the app that Braid is built into. ``name`` must be stable: it identifies the user to Braid.

    >>> HostUser("ann", groups=frozenset({"engineers"})).is_admin
    False
    """

    name: str
    groups: frozenset[str] = frozenset()
    is_admin: bool = False


class Site:
    """One Braid behind one Flask app.

    ``host_user`` returns the host app's user who sends the current request; None in an app with Braid's own accounts.
    """

    def __init__(
        self, settings: Settings, braid: Braid, host_user: Callable[[], HostUser | None] | None = None
    ) -> None:
        self.settings = settings
        self.braid = braid
        self.host_user = host_user
        ledger = braid.ledger
        self.accounts = Accounts(ledger)
        self.sessions = WebSessions(ledger)
        self.tokens = ApiTokens(ledger)
        self.app_settings = AppSettings(ledger)
        self.audit = AuditLog(ledger)
        self.usage = Usage(ledger)
        self.conversations = ConversationStore(ledger, braid.registry)
        self.feedback = FeedbackStore(ledger)
        self.answer_thumbs = AnswerThumbs(ledger)
        self.dataset_languages = DatasetLanguages(ledger)
        self.outlines = Outlines(ledger)
        self.turn_store = TurnStore(ledger)
        self.turns = RunningTurns(self.turn_store)
        self.streams = LiveTurns()
        self.windows = Windows()
        self.limiter = MovingWindowRateLimiter(self.windows)
        self.metrics = Metrics(braid)
        secret = secret_key(braid.data_dir)
        self.provider_keys = ProviderKeys(ledger, secret)
        self.models = SiteModels(settings, ledger, secret)
        self.use_chosen_models()
        self.checkup = Checkup(braid)
        self.shared_datasets = SharedDatasets(braid, self.audit.add)
        self.background = _background(settings, braid)

    def use_chosen_models(self) -> None:
        """Let searches that bring no models ask those that administrators chose. Call it after each change."""
        self.braid.manager.use_models(self.models.chat_models())

    def start_jobs(self) -> None:
        """Run queued jobs, mostly uploads, in this process as soon as it owns the indexes.

        Answers that a process before it left unfinished are interrupted.
        """
        self.braid.when_owner(self.turn_store.interrupt_abandoned)
        self.background.start()

    def end_turns(self) -> None:
        """End every turn that runs, and store what there is of its answer."""
        self.streams.stop_all()
        self.turns.interrupt_all()

    def close(self) -> None:
        """Stop the jobs. Call it before Braid is closed.

        Jobs that do not end within `CLOSING_S` seconds run again at the next start.
        """
        self.end_turns()
        self.background.close(CLOSING_S)
        self.usage.write()

    @property
    def standalone(self) -> bool:
        """True for Braid's own accounts, False for the users of a host app."""
        return self.host_user is None

    @property
    def sign_up_open(self) -> bool:
        """Whether visitors may create an account."""
        return self.standalone and self.app_settings.get("sign_up", self.settings.sign_up) == "open"


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
        folder_rules=FolderRules(braid.data_dir, config_file(), tuple(map(Path, settings.folder_roots))),
    )


def ingest_options(settings: Settings) -> IngestOptions:
    """Return how uploaded files are read and cut into chunks."""
    return IngestOptions(
        max_file_bytes=settings.max_file_mb * MEBIBYTE,
        chunk_chars=settings.chunk_chars,
        chunk_overlap_chars=settings.chunk_overlap_chars,
    )


def site() -> Site:
    """Return the site of the app that serves this request."""
    return cast(Site, current_app.extensions[EXTENSION])
