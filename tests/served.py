"""The app as a process of its own, as people start it, and a browser that is signed in to it."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

import httpx

from braid.core.data_directory import DataDirectory
from tests.forked_children import python
from tests.model_server import model_server
from tests.web import PASSWORD
from tests.worlds import WAIT_S, eventually

ROOT = Path(__file__).parent.parent


class Served:
    """A running server with its administrator; ``settings`` are environment variables without their prefix.

    It embeds with the default model, or asks a ``fake_model`` over HTTP, where the work of embedding is not the point.
    With ``real_readers`` the processes that read files are its children.
    """

    def __init__(
        self, data_dir: Path, *, fake_model: bool = False, real_readers: bool = False, **settings: object
    ) -> None:
        data_dir.parent.mkdir(parents=True, exist_ok=True)
        self.data_dir = data_dir
        self._models = ExitStack()
        self._settings, self._real_readers = settings, real_readers
        if fake_model:
            model = self._models.enter_context(model_server(""))
            self._settings |= {
                "EMBEDDING_MODEL": "openai:text-embedding-3-small",
                "EMBEDDING_BASE_URL": model.url,
                "EMBEDDING_API_KEY": "none",
            }
        self._log = (data_dir.parent / "server.log").open("a")
        self.client = httpx.Client(follow_redirects=False, timeout=WAIT_S)
        try:
            self.start()
        except BaseException:
            self.__exit__(None, None, None)
            raise

    def start(self) -> None:
        """Start it, again after `stop`; the browser stays signed in."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        environment = {name: value for name, value in os.environ.items() if not name.startswith("BRAID_")}
        given = {"SHARED_DBS": self.data_dir / "shared_dbs.json", "PORT": self.port, **self._settings}
        environment |= {f"BRAID_{name}": str(value) for name, value in given.items()}
        self.process = python(
            *("-m", "app", "serve", "--data-dir", str(self.data_dir)),
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            readers=not self._real_readers,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline().startswith("Braid is ready"), "the server does not start"
        self.client.base_url = httpx.URL(f"http://127.0.0.1:{self.port}")
        self._sign_in()

    def stop(self) -> int:
        """End it, with all processes that it started, as a service manager does; returns the exit status."""
        os.killpg(self.process.pid, signal.SIGTERM)
        try:
            status = self.process.wait(WAIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            raise
        assert self.process.stdout is not None
        self.process.stdout.close()
        return status

    def token(self, path: str = "/account") -> str:
        """Against forged requests."""
        found = re.search(r'name="csrf[-_]token" (?:content|value)="([^"]+)"', self.client.get(path).text)
        assert found is not None
        return found[1]

    def _sign_in(self) -> None:
        first = self.client.get("/account")
        if first.status_code == 200:
            return
        path = first.headers["location"].partition("?")[0]
        path = path if path.endswith("/setup") else "/login"
        form = {"csrf_token": self.token(path), "name": "admin", "password": PASSWORD}
        assert self.client.post(path, data=form).status_code == 302

    def new_dataset(self, name: str = "Uploads") -> int:
        """Its id."""
        made = self.client.post("/datasets", data={"csrf_token": self.token(), "name": name})
        return int(made.headers["location"].rpartition("/")[2])

    def headers(self) -> dict[str, str]:
        """Of an upload."""
        return {
            "X-CSRFToken": self.token(),
            "Accept": "application/json",
            "Content-Type": "application/octet-stream",
        }

    def upload(self, dataset_id: int, name: str, content: bytes, headers: dict[str, str]) -> httpx.Response:
        """Send a file as the page's script does."""
        address = f"/datasets/{dataset_id}/files"
        return self.client.post(address, params={"name": name}, content=content, headers=headers)

    def wait_read(self, dataset_id: int, timeout_s: float = WAIT_S) -> dict[str, str]:
        """Source → state of the documents, once no upload waits any more. They may still be on their way into the
        indexes."""
        eventually(lambda: self._has_read(dataset_id), timeout_s, pause_s=0.3)
        with DataDirectory(self.data_dir) as braid:
            return {document.source: document.state for document in braid.ledger.documents(dataset_id)}

    def wait_found(self, dataset_id: int, timeout_s: float = WAIT_S) -> None:
        """Return once every document of the dataset is in both indexes."""
        self.wait_read(dataset_id, timeout_s)
        eventually(lambda: not _on_the_way(self.client.get(f"/datasets/{dataset_id}").text), timeout_s, pause_s=0.1)

    def _has_read(self, dataset_id: int) -> bool:
        page = self.client.get(f"/datasets/{dataset_id}/live")
        return page.status_code == 200 and not _waits(page.text)

    def spooled(self) -> list[str]:
        """What lies in the spool."""
        return sorted(path.name for path in (self.data_dir / "uploads").iterdir())

    def __enter__(self) -> Served:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.stop()
        self.client.close()
        self._log.close()
        self._models.close()


def _waits(page: str) -> bool:
    return 'data-stage="queued"' in page or 'data-stage="reading"' in page


def _on_the_way(page: str) -> bool:
    return any(f'data-stage="{stage}"' in page for stage in ("parsed", "keyword_ready", "embedding"))
