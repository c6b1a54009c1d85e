"""The doctor of a running server, asked as an administrator does: on the page of the indexes."""

from __future__ import annotations

import html
import re
import time

import httpx

EXAMINED_S = 60.0
"""An examination itself waits up to 30 seconds for the indexes."""
FINDING = re.compile(r"<li><strong>(.*?)</li>", re.DOTALL)
TOKEN = re.compile(r'name="csrf[-_]token" (?:content|value)="([^"]+)"')
TAG = re.compile(r"<[^>]*>")


class Doctor:
    """Signs in once; the session outlives the server."""

    def __init__(self, name: str, password: str) -> None:
        self._sign_in = {"name": name, "password": password}
        self._http = httpx.Client()

    def connect(self, url: str) -> None:
        """Speak to the server at this address from now on."""
        self._http = httpx.Client(base_url=url, timeout=30, cookies=self._http.cookies)

    def findings(self) -> str:
        """What differs between ledger and indexes; "" when they agree. Raises RuntimeError when it takes too long."""
        if self._http.get("/admin/indexes").status_code != 200:
            self._post("/login", "/login", **self._sign_in)
        self._post("/admin/indexes", "/admin/indexes/examine")
        until = time.monotonic() + EXAMINED_S
        while time.monotonic() < until:
            text = self._http.get("/admin/indexes").raise_for_status().text
            if "Checking…" not in text:
                found = [" ".join(TAG.sub(" ", html.unescape(each)).split()) for each in FINDING.findall(text)]
                return "" if "Database and indexes agree" in text else "; ".join(found) or "the examination failed"
            time.sleep(0.2)
        raise RuntimeError(f"the doctor has no answer after {EXAMINED_S:g} s")

    def _post(self, form: str, path: str, **fields: str) -> None:
        token = TOKEN.search(self._http.get(form).text)
        answer = self._http.post(path, data={"csrf_token": token[1] if token else "", **fields})
        if answer.status_code not in (302, 303):
            raise RuntimeError(f"{path} answers {answer.status_code}")
