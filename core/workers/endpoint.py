"""The endpoint of the process that owns the indexes: answers the calls of the other processes on this computer.

Default-deny: a Unix socket in the data directory that only its user may open, or a port on the loopback interface
where there is none; and on both, the secret of ``owner.json``, which only that user may read.
"""

from __future__ import annotations

import hmac
import logging
import os
import secrets
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

from braid.core.errors import BraidError, IndexUnavailableError
from braid.core.ledger.outages import log_failure, outage_of
from braid.core.ledger.owners.owner import OwnerNote
from braid.core.workers.wire import receive, receive_bytes, send

SOCKET = "owner.sock"
MAX_SOCKET_PATH = 100
"""Bytes of a path that every system takes for a socket."""
MOST_CONNECTIONS = 512
"""Connections at a time; each has a thread, which mostly waits."""
GREETING_S = 5.0
SENDING_S = 30.0
WELCOME = b"braid\n"

Calls = Mapping[str, Callable[..., Any]]
"""What other processes may call, by name."""

logger = logging.getLogger(__name__)


class Endpoint:
    """Answers from `start` to `close`, in threads of its own."""

    def __init__(self, data_dir: Path, calls: Calls) -> None:
        self._path = data_dir / SOCKET
        self._calls = calls
        self._secret = secrets.token_hex(32)
        self._lock = threading.Lock()
        self._connections: set[socket.socket] = set()
        self._listener: socket.socket | None = None

    def start(self) -> OwnerNote:
        """Begin to listen, and return what the other processes must know. Raises OSError."""
        self._listener, address = _listen(self._path)
        threading.Thread(target=self._accept, args=(self._listener,), name="braid-endpoint", daemon=True).start()
        return OwnerNote(os.getpid(), address=address, secret=self._secret)

    def close(self) -> None:
        """Answer no more; the other processes look for the next owner."""
        with self._lock:
            listener, self._listener = self._listener, None
            connections = list(self._connections)
        if listener is None:
            return
        for each in (listener, *connections):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        listener.close()
        with suppress(OSError):
            self._path.unlink()

    def forget(self) -> None:
        """Close this process's copies of the sockets, in the child of a fork: the parent goes on answering."""
        for each in (self._listener, *self._connections):
            if each is not None:
                each.close()

    # ------------------------------------------------------------ in its threads

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with self._lock:
                is_welcome = self._listener is not None and len(self._connections) < MOST_CONNECTIONS
                if is_welcome:
                    self._connections.add(connection)
            if is_welcome:
                threading.Thread(target=self._serve, args=(connection,), name="braid-guest", daemon=True).start()
            else:
                connection.close()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection:
                connection.settimeout(GREETING_S)
                if not hmac.compare_digest(receive_bytes(connection, len(self._secret)), self._secret.encode()):
                    return
                connection.sendall(WELCOME)
                while True:
                    connection.settimeout(None)
                    call = receive(connection)
                    connection.settimeout(SENDING_S)
                    send(connection, self._answer(*call))
        except (OSError, EOFError):
            pass
        except (UnpicklingError, TypeError, ValueError) as error:  # another program, or another version
            logger.warning("event=guest_refused type=%s", type(error).__name__)
        finally:
            with self._lock:
                self._connections.discard(connection)

    def _answer(self, name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> tuple[bool, Any]:
        """Return True and the value, or False and the error."""
        try:
            if name not in self._calls:
                raise IndexUnavailableError(f"the owner of the indexes does not know {name!r}; is it another version?")
            return True, self._calls[name](*arguments, **options)
        except BraidError as error:
            return False, error
        except Exception as error:  # the edge of the process: the caller must not wait for ever
            log_failure(logger, f"answering {name} for another process", error)
            outage = outage_of(error)
            said = outage.text if outage else f"the owner of the indexes failed: {type(error).__name__}"
            return False, IndexUnavailableError(said)


def _listen(path: Path) -> tuple[socket.socket, str]:
    """Return a listening socket and its address: the path, or ``127.0.0.1:port``."""
    if hasattr(socket, "AF_UNIX") and len(os.fsencode(path)) <= MAX_SOCKET_PATH:
        try:
            return _listen_at(path), str(path)
        except OSError as error:  # folders of other systems, on a network or mounted by WSL, have no sockets
            logger.info("event=no_socket error=%s", error.strerror)
    listener = socket.create_server(("127.0.0.1", 0))
    return listener, f"127.0.0.1:{listener.getsockname()[1]}"


def _listen_at(path: Path) -> socket.socket:
    path.unlink(missing_ok=True)  # of an owner that was killed
    listener = socket.socket(socket.AF_UNIX)
    try:
        os.fchmod(listener.fileno(), 0o600)  # on Linux it has these permissions from its first moment
        listener.bind(str(path))
        path.chmod(0o600)
        listener.listen(128)
    except BaseException:
        listener.close()
        raise
    return listener
