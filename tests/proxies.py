"""nginx and Caddy with the files of deploy/, in front of a server on this computer and below a path."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.worlds import WAIT_S, eventually

DEPLOY = Path(__file__).parents[1] / "deploy"
NAME = "braid.example.org"
PROXIES = ("nginx", "caddy")
IN_FRONT_OF_PROCESSES = "caddy of compose.yaml"
"""Caddy with the file that `deploy/compose.yaml` gives it. It knows no path and has no certificate here."""
NGINX = """
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/site.conf;
}}
"""


@dataclass(frozen=True)
class Site:
    """What is changed in the files of deploy/: the server's port ``behind``, the path, and the certificate with its
    key; without one the proxy answers without TLS."""

    behind: int
    prefix: str
    certificate: tuple[Path, Path] | None = None


@contextmanager
def proxy(kind: str, folder: Path, site: Site) -> Iterator[int]:
    """Run the proxy; gives its port. Skips the test where it is not installed."""
    name = kind.partition(" ")[0]
    program = shutil.which(name) or shutil.which(name, path="/usr/sbin")
    if program is None:
        pytest.skip(f"{name} is not installed: apt-get install nginx-light caddy")
    folder.chmod(0o755)
    port = free_port()
    arguments = _FILES[kind](folder, port, site)
    environment = {**os.environ, "HOME": str(folder), "XDG_DATA_HOME": str(folder)}
    process = subprocess.Popen([program, *arguments], env=environment)
    try:
        eventually(lambda: _listens(port))
        yield port
    finally:
        process.terminate()
        process.wait(WAIT_S)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _nginx(folder: Path, port: int, site: Site) -> list[str]:
    text = (DEPLOY / "nginx.conf").read_text()
    text = re.sub(r"server \{\n    listen 80;.*?\n\}\n", "", text, flags=re.DOTALL)  # the redirect needs port 80
    key = "/etc/letsencrypt/live/" + NAME
    tls = [("    listen 443 ssl;\n", f"    listen 127.0.0.1:{port} ssl;\n")]
    if site.certificate:
        tls += [(f"{key}/fullchain.pem", str(site.certificate[0])), (f"{key}/privkey.pem", str(site.certificate[1]))]
    else:
        tls = [("    listen 443 ssl;\n", f"    listen 127.0.0.1:{port};\n")]
        text = re.sub(r"    ssl_.*\n", "", text)
    changes = [
        *tls,
        ("    listen [::]:443 ssl;\n", ""),
        ("    location / {\n", f"    location {site.prefix}/ {{\n"),
        ("http://127.0.0.1:8000;", f"http://127.0.0.1:{site.behind};"),
    ]
    (folder / "site.conf").write_text(_changed(text, changes))
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder))
    return ["-p", str(folder), "-c", str(folder / "nginx.conf"), "-g", "daemon off; master_process off;"]


def _caddy(folder: Path, port: int, site: Site) -> list[str]:
    address = f"http://:{port} {{\n\tbind 127.0.0.1\n"
    if site.certificate:
        address = f"{NAME}:{port} {{\n\ttls {site.certificate[0]} {site.certificate[1]}\n"
    changes = [
        (f"\n{NAME} {{\n", f"\n{address}"),
        ("\thandle {\n", f"\thandle {site.prefix}/* {{\n"),
        ("127.0.0.1:8000", f"127.0.0.1:{site.behind}"),
    ]
    return _caddy_with(folder, _changed((DEPLOY / "Caddyfile").read_text(), changes))


def _caddy_of_compose(folder: Path, port: int, site: Site) -> list[str]:
    text = (DEPLOY / "compose.Caddyfile").read_text()
    dynamic = re.search(r"\t\tdynamic a \{.*?\n\t\t\}\n", text, flags=re.DOTALL)
    assert dynamic is not None
    changes = [
        ("{$BRAID_NAME} {\n", f"http://:{port} {{\n\tbind 127.0.0.1\n"),
        (dynamic[0], f"\t\tto 127.0.0.1:{site.behind}\n"),  # no server of names knows `web` here
    ]
    return _caddy_with(folder, _changed(text, changes))


def _caddy_with(folder: Path, text: str) -> list[str]:
    options = "{\n\tadmin off\n\tauto_https disable_redirects\n}\n"
    (folder / "Caddyfile").write_text(options + text)
    return ["run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]


def _changed(text: str, changes: list[tuple[str, str]]) -> str:
    for before, after in changes:
        assert before in text, before
        text = text.replace(before, after)
    return text


_FILES = {"nginx": _nginx, "caddy": _caddy, IN_FRONT_OF_PROCESSES: _caddy_of_compose}
