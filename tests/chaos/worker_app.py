"""The app that the worker processes of `tests.chaos.workers` load: a host with Braid mounted, as its users write it."""

from __future__ import annotations

import os
from pathlib import Path

from flask import Flask

from braid.app.factory import register_braid
from braid.app.host import HostUser
from braid.config.settings import Settings
from braid.core.braid import Braid
from tests.fakes import HashEmbeddings


def make_host() -> Flask:
    """Return the host. Each worker process calls this, or with ``--preload`` their parent, before the fork."""
    data_dir = Path(os.environ["WORKERS_DATA_DIR"])
    host = Flask("host")
    host.secret_key = "the same in every worker"
    braid = Braid(data_dir, embedding_model=HashEmbeddings())
    settings = Settings(data_dir=data_dir, api_rate_limit="100000/minute", fusion="auto")
    site = register_braid(host, lambda: HostUser("ann"), braid=braid, settings=settings)
    site.start_jobs()

    @host.get("/pid")
    def pid() -> str:
        return f"{os.getpid()} {'owner' if braid.is_owner else 'guest'}"

    return host
