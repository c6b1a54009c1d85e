"""The server: pages, API and MCP on one port, in one process or several, from this computer only by default."""

from __future__ import annotations

import ctypes
import errno
import gc
import logging
import os
import signal
import socket
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Callable
from typing import NoReturn

import uvicorn
from flask import Flask

from braid import __version__
from braid.app import first_start
from braid.app.auth.quotas import fair_shares
from braid.app.factory import create_app
from braid.app.first_start import AfterStart
from braid.app.mcp.http import with_mcp
from braid.app.opening import open_braid
from braid.app.prefork import Worker, fork_workers
from braid.app.site import EXTENSION, Site
from braid.app.web.gate.connections import Limits, few_per_client, timely_protocol, with_sound_heads
from braid.app.web.gate.gateway import Gateway
from braid.app.web.gate.request_bodies import ASGI, Room
from braid.app.web.gate.threads import Threads
from braid.app.web.health import with_probes
from braid.app.web.sub_path import take_off
from braid.config.settings import Settings
from braid.core.accounts.secret_key import unused_file
from braid.core.braid import Braid
from braid.core.chat.turns import running
from braid.core.errors import InvalidInputError
from braid.core.ingest.plan import MEBIBYTE
from braid.core.ingest.spool import UPLOADS

SWITCH_S = 0.001
"""Seconds that a computing thread may keep the interpreter from a thread with a request; Python's default is 0.005.

Each thread that wants the interpreter wakes up so often: at 0.0002 a hundred answers that are streamed take all
processors for that alone, and nobody is answered.
"""
WORKERS = 100
"""Threads that answer requests. None waits for a client, or for an answer that is being streamed."""
ASIDE = running.MOST_TURNS
"""Further threads, for requests that wait for a whole answer of a chat model: as many as may be written at once."""
USER_SHARE = 32
"""Requests of one user that are answered at once."""
CALLER_AT_WORK, CALLER_WAITING = 6, 26
"""Requests of one token, or one browser, that have a thread at once, and those that wait for one."""
ARENAS = 2
"""Parts of glibc's heap; by default there are eight per processor, and each keeps what was freed in it."""
MMAPPED_BYTES = 4 * 2**20
"""Size from which memory is the system's own and goes back as soon as it is freed. glibc raises its threshold to 32 MB
by itself when such memory is freed; the working memory of long questions then breaks up the heap, which keeps it."""
GC_THRESHOLDS = (10_000, 20, 20)
"""Of the garbage collector, for its three generations: answers of a thousand passages make a million objects, and to
look at all of them holds the interpreter for a tenth of a second. Python's default is (700, 10, 10)."""
SHUTDOWN_S = 3
"""Seconds that running requests have to finish when the server stops."""
OVERDUE_S = 20
"""Seconds from the signal to stop to the end of the process, whatever still waits."""
KEEP_ALIVE_S = 20
"""Seconds that an idle connection stays open. Longer than clients keep theirs (httpx 5, aiohttp 15), or a request may
be sent into one that is being closed, and its sender cannot know whether it was carried out."""
MAX_HEAD_BYTES = 256 * 1024
"""Largest request line and headers.

A GET form carries its query in the address: 10,000 Japanese characters are 90 kB.
"""
LOOPBACK = ("127.0.0.1", "localhost", "::1")

log = logging.getLogger(__name__)


def serve(settings: Settings, *, only: Callable[[ASGI], ASGI] = lambda app: app) -> None:
    """Serve pages, API and MCP until SIGTERM or SIGINT, or what ``only`` leaves of them, in as many processes as the
    setting ``workers`` says.

    Raises NotOwnerError when another process owns the data directory, and InvalidInputError when the host is
    not this computer and no name is allowed, or the port cannot be opened.
    """
    _require_allowed_hosts(settings)
    set_up_logging(settings.log_level)
    _raise_open_files()
    sys.setswitchinterval(SWITCH_S)
    keep_heap_small()
    if settings.workers > 1:
        with _listen(settings) as listener:
            if worker := fork_workers(settings.workers):
                with open_braid(settings, must_own=worker.is_first, migrate=worker.is_first) as braid:
                    _run(settings, braid, listener, only, worker)
        return
    with open_braid(settings, must_own=True, migrate=True) as braid, _listen(settings) as listener:
        _run(settings, braid, listener, only)


def _run(
    settings: Settings,
    braid: Braid,
    listener: socket.socket,
    only: Callable[[ASGI], ASGI],
    worker: Worker | None = None,
) -> None:
    first_start.begin(braid)
    url = address(settings.host, settings.port)
    app = create_app(settings, braid)
    here: Site = app.extensions[EXTENSION]
    config = uvicorn.Config(
        only(_asgi(settings, app, here)),
        http=timely_protocol(Limits(0 if settings.trusted_proxies else settings.connections_per_address)),
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
        lifespan="on",
        log_config=None,
        access_log=False,  # it would contain the queries
        server_header=False,
        proxy_headers=False,  # the setting trusted_proxies alone decides whom to trust
        timeout_graceful_shutdown=SHUTDOWN_S,
        timeout_keep_alive=KEEP_ALIVE_S,
    )
    # uvicorn raises the signal again when it has finished; both signals then end here, and Braid is closed in order.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.default_int_handler if sys.stdin.isatty() else _stay)
    for name in ("SIGUSR1", "SIGUSR2"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _stay)
    here.start_jobs()
    if problem := unused_file(braid.data_dir, settings.secret_key):
        log.warning("event=another_secret %s", problem)
    after_start = AfterStart(braid)

    def on_ready() -> None:
        braid.when_owner(lambda: braid.announce(url))
        if worker is None or worker.is_first:
            print(f"Braid is ready: {url}", flush=True)
        if worker is not None:
            worker.say_ready()
        dialect, model = braid.ledger.database.engine.dialect.name, settings.embedding_model
        log.info("event=started version=%s database=%s embedding_model=%s url=%s", __version__, dialect, model, url)
        after_start.start()

    gc.set_threshold(*GC_THRESHOLDS)
    gc.freeze()  # what is loaded now stays
    gc.enable()  # the command `serve` (app/cli/serve.py) has turned it off, so that loading is faster
    try:
        _ReadyServer(config, on_ready, here.end_turns).run(sockets=[listener])
    except KeyboardInterrupt:
        log.info("event=stopped")
    finally:
        after_start.close()
        here.close()


def _asgi(settings: Settings, app: Flask, here: Site) -> ASGI:
    """Everything that is served. A thread is taken last: once the body is there, and a place among those that wait."""
    shared = fair_shares(app.wsgi_app, USER_SHARE, here.braid.places)
    app.wsgi_app = shared  # type: ignore[assignment, method-assign]
    room = Room(folder=here.braid.data_dir / UPLOADS, least_free_bytes=settings.min_free_disk_mb * MEBIBYTE)
    threads = Threads(WORKERS, aside=ASIDE, of_one=CALLER_AT_WORK, waiting_of_one=CALLER_WAITING)
    served: ASGI = with_mcp(Gateway(app, room, threads, proxies=settings.trusted_proxies), here, room)
    if settings.trusted_proxies:
        served = few_per_client(served, per_address=settings.connections_per_address, proxies=settings.trusted_proxies)
    once = (settings.sign_in_header, settings.sign_in_groups_header)
    served = with_sound_heads(with_probes(served, here), once=once)
    return take_off(served, settings.url_prefix) if settings.url_prefix else served


class _ReadyServer(uvicorn.Server):
    """A server that calls ``on_ready`` once it answers, and ``stop`` before it shuts down, which ends running turns."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None], stop: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready
        self._stop = stop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        overdue = threading.Timer(OVERDUE_S, _end_overdue)
        overdue.daemon = True
        overdue.start()
        self._stop()
        await super().shutdown(sockets)


def _stay(number: int, _frame: object) -> None:
    """Go on after a signal by which logrotate or `systemctl reload` has programs open files again: Braid has none."""
    log.info("event=hangup_ignored signal=%s", signal.Signals(number).name)


def leave() -> NoReturn:
    """End the process after `serve`, without its threads: one may wait for an event loop or a client that is gone."""
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _end_overdue() -> None:
    try:
        log.error("event=stop_overdue seconds=%d at=%s", OVERDUE_S, _where_threads_are())
    finally:
        os._exit(1)  # as after a kill: what was acknowledged is in the ledger


def _where_threads_are() -> dict[str, int]:
    """Count the threads at each place of Braid's own code."""
    places: Counter[str] = Counter()
    for innermost in sys._current_frames().values():
        modules = ((str(frame.f_globals.get("__name__")), line) for frame, line in traceback.walk_stack(innermost))
        places.update([f"{name}:{line}" for name, line in modules if name.startswith("braid.")][:1])
    return dict(places)


def address(host: str, port: int) -> str:
    """Return the URL under which the pages can be opened."""
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def _require_allowed_hosts(settings: Settings) -> None:
    if settings.host not in LOOPBACK and not settings.allowed_hosts:
        raise InvalidInputError(
            f"host is {settings.host!r}, which other computers can reach, but no name is allowed; say under which "
            "names the app is opened, for example BRAID_ALLOWED_HOSTS=braid.example.org,192.168.1.5",
            field="allowed_hosts",
        )


def _listen(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family)
    if sys.platform != "win32":  # there it would share the port with another program
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except OSError as error:
        listener.close()
        reason = "another program uses it" if error.errno == errno.EADDRINUSE else error.strerror
        raise InvalidInputError(
            f"port {settings.port} on {settings.host} cannot be opened: {reason}; "
            "choose another one, for example with BRAID_PORT=8001",
            field="port",
        ) from error
    return listener


def _raise_open_files() -> None:
    """Raise the limit of open files as far as the system allows: Chroma keeps several open per collection."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (ValueError, OSError) as error:  # macOS names a hard limit that it does not grant
        log.warning("the limit of open files stays at %d: %s", soft, error)


def keep_heap_small() -> None:
    """Keep the memory of hundreds of threads together, and large pieces apart; only glibc does so."""
    if set_option := getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None:
        set_option(-8, ARENAS)  # M_ARENA_MAX
        set_option(-3, MMAPPED_BYTES)  # M_MMAP_THRESHOLD


class _OneLine(logging.Formatter):
    """Formats log records as one line, tracebacks included."""

    def format(self, record: logging.LogRecord) -> str:
        return super().format(record).replace("\n", " | ")


def set_up_logging(level: str) -> None:
    """Log one line per event to stderr."""
    handler = logging.StreamHandler()
    handler.setFormatter(_OneLine("time=%(asctime)s level=%(levelname)s logger=%(name)s %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    logging.getLogger("braid").setLevel(level)
