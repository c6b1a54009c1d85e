"""What several processes have to know of each other, step by step; each request of a step goes to another process."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import psycopg

from tests.chaos.checks import FILLER
from tests.chaos.fleet.caller import Caller
from tests.chaos.fleet.clients import SLOW, FleetClient, form_token
from tests.chaos.fleet.machines import Fleet
from tests.chaos.fleet.warden import API, Warden
from tests.chaos.server import ADMIN, PASSWORD
from tests.worlds import eventually

SETTINGS = {"API_RATE_LIMIT": "300/minute", "MAX_USER_DATASETS": 6}
"""Of the fleet in which the steps are made."""
LIMIT, MOST_DATASETS = 300, 6
WAIT_S = 60.0
PAUSE_S = 0.3
STOPPED = "You stopped this answer."


class Scenario:
    """Three web processes and two workers. ``limited`` is a user for what is counted."""

    def __init__(self, fleet: Fleet, client: FleetClient, warden: Warden, *, admin: Caller, limited: Caller) -> None:
        self._fleet, self._client, self._warden, self._admin, self._limited = fleet, client, warden, admin, limited
        self._caller = client.caller
        self.failed: list[str] = []
        self.took: dict[str, float] = {}

    def run(self) -> None:
        """Make every step; what fails is in ``failed``."""
        steps: tuple[Callable[[], None], ...] = (
            self.signed_in_everywhere,
            self.uploaded_to_one_and_found_by_each,
            self.followed_and_stopped_from_others,
            self.a_key_is_answered_once,
            self.a_shared_dataset_is_renamed,
            self.sign_up_is_opened,
            self.revoked_at_once,
            self.sign_ins_are_counted_together,
            self.datasets_are_counted_together,
            self.requests_are_counted_together,
        )
        for step in steps:
            started = time.monotonic()
            try:
                step()
            except (AssertionError, httpx.HTTPError, psycopg.Error, KeyError, IndexError) as error:
                self.failed.append(f"{step.__name__}: {type(error).__name__} {str(error)[:300]}")
            self.took[step.__name__] = time.monotonic() - started

    # ------------------------------------------------------------ steps

    def signed_in_everywhere(self) -> None:
        """A browser that signs in at one process is signed in at each."""
        browser = self._browser(self._client.name)
        for web in self._fleet.webs:
            assert browser.ask("account", "GET", "/account", at=web).status_code == 200

    def uploaded_to_one_and_found_by_each(self) -> None:
        """A file is taken by a web process, read and indexed by a worker, and found by each web process."""
        first, second, third = self._fleet.webs
        text = f"tray77w1 of the plotter holds blue paper, {FILLER}"
        given = {"files": {"file": ("plotter.md", text.encode())}}
        path = f"{API}/datasets/{self._client.dataset}/documents"
        job = self._caller.ask("upload", "POST", path, at=first, **given).json()["items"][0]["id"]

        def state() -> str:
            return str(self._caller.ask("job", "GET", f"{API}/jobs/{job}", at=second).json()["state"])

        eventually(lambda: state() not in ("queued", "running"), WAIT_S, pause_s=PAUSE_S)
        assert state() == "done", state()
        with psycopg.connect(self._fleet.postgres.get_uri()) as connection:
            [(by,)] = connection.execute("SELECT process FROM jobs WHERE id = %s", (job,)).fetchall()
        workers = [each.popen.pid for each in self._fleet.processes if each.works]
        assert int(str(by).partition("@")[0]) in workers, f"{by} is none of the workers {workers}"
        eventually(lambda: self._search(third, "tray77w1", "keyword"), WAIT_S, pause_s=PAUSE_S)
        eventually(lambda: self._search(third, text, "semantic"), WAIT_S, pause_s=PAUSE_S)
        self._client.documents["plotter.md"] = {text}
        for web in (first, second, third):
            for mode, query in (("keyword", "tray77w1"), ("semantic", text), ("hybrid", text)):
                assert self._search(web, query, mode), f"{web.name} does not find it, {mode}"

    def followed_and_stopped_from_others(self) -> None:
        """A chat streams from one process, is followed from a second, stopped from a third, and seen in each."""
        first, second, third = self._fleet.webs
        browser = self._browser(self._client.name)
        csrf = form_token(browser.ask("account", "GET", "/account").text)
        headers = {"Accept": "text/event-stream", "X-CSRFToken": csrf}
        read = {"asked": "", "followed": ""}

        def stream(name: str, method: str, url: str, data: dict[str, str] | None = None) -> None:
            with browser.http.stream(method, url, data=data, headers=headers) as answer:
                for piece in answer.iter_text():
                    read[name] += piece

        asking = threading.Thread(target=stream, args=("asked", "POST", f"{first.url}/chat/messages", {"text": SLOW}))
        asking.start()
        eventually(lambda: "event: text" in read["asked"], WAIT_S)
        turn = json.loads(re.findall(r"event: turn\ndata: (.*)\n", read["asked"])[0])
        following = threading.Thread(target=stream, args=("followed", "GET", f"{second.url}{turn['follow']}"))
        following.start()
        eventually(lambda: read["followed"].count("event: text") >= 1, WAIT_S)
        assert "event: answer" not in read["followed"], "the answer has ended before it could be stopped"
        stopped = browser.ask(
            "stop", "POST", turn["stop"], at=third, headers={**headers, "Accept": "application/json"}
        ).json()
        assert stopped == {"stopped": True}, stopped
        for thread in (asking, following):
            thread.join(WAIT_S)
        for name, text in read.items():
            assert STOPPED in text.partition("event: answer")[2], f"{name}: {text[-300:]}"
        number = turn["conversation"].rpartition("/")[2]
        for web in self._fleet.webs:
            page = browser.ask("page", "GET", turn["conversation"], at=web).text
            assert "word3" in page, f"{web.name} does not show the answer"
            assert "word299" not in page, f"{web.name} shows more than was written"
            whole = self._caller.ask("conversation read", "GET", f"{API}/conversations/{number}", at=web).json()
            assert [each["state"] for each in whole["messages"]] == ["complete", "stopped"], whole["messages"]
        self._client.conversations[int(number)] = (2, 2)

    def a_key_is_answered_once(self) -> None:
        """What is sent to each process with the same key is done once."""
        headers = {"Idempotency-Key": "scenario"}
        path = f"{API}/conversations"
        made = [
            self._caller.ask("begin once", "POST", path, at=web, json={}, headers=headers) for web in self._fleet.webs
        ]
        assert len({each.json()["id"] for each in made}) == 1
        assert [each.headers.get("Idempotency-Replayed") for each in made] == [None, "true", "true"]
        self._client.conversations[int(made[0].json()["id"])] = (0, 0)

    def a_shared_dataset_is_renamed(self) -> None:
        """Its name is another one for each process at once."""
        path = f"{API}/shared-databases/{self._warden.handbook}"
        for number, web in enumerate(self._fleet.webs):
            self._admin.ask("rename", "PATCH", path, at=web, json={"name": f"Handbook {number}"})
            for other in self._fleet.webs:
                said = self._admin.ask("shared dataset", "GET", path, at=other).json()["name"]
                assert said == f"Handbook {number}", f"{other.name} says {said} after {web.name} renamed it"

    def sign_up_is_opened(self) -> None:
        """An administrator opens it at one process, and the next request of each other shows the form."""
        first, *others = self._fleet.webs
        browser = self._browser(ADMIN)
        csrf = form_token(browser.ask("account", "GET", "/account").text)
        stranger = self._stranger()
        for how, status in (("open", 200), ("closed", 404)):
            form = {"sign_up": how, "csrf_token": csrf}
            browser.ask("sign up", "POST", "/admin/users/sign-up", at=first, data=form, expected=(302,))
            for web in (first, *others):
                found = stranger.ask("sign up", "GET", "/signup", at=web, expected=(404, 403, 302)).status_code
                assert (found == 200) == (status == 200), f"{web.name}: {found} when sign-up is {how}"

    def revoked_at_once(self) -> None:
        """Tokens, sessions, groups and the groups of a shared dataset."""
        faults = self._admin.figures
        before = len(faults.leaked), len(faults.lost)
        for act in (self._warden.token, self._warden.session, self._warden.group, self._warden.list_of_groups):
            act()
        now = [*faults.leaked[before[0] :], *faults.lost[before[1] :]]
        assert not now, now

    def sign_ins_are_counted_together(self) -> None:
        """Ten wrong passwords, whichever process they are told."""
        stranger = self._stranger()
        csrf = form_token(stranger.ask("sign in", "GET", "/login").text)
        form = {"name": "limited", "password": "wrong horse", "csrf_token": csrf}
        statuses = [
            stranger.ask("sign in", "POST", "/login", data=form, expected=(401, 429)).status_code for _ in range(11)
        ]
        assert statuses == [401] * 10 + [429], statuses

    def datasets_are_counted_together(self) -> None:
        """As many as a user may have, wherever they are made."""
        bodies = [{"name": f"one of many {number}"} for number in range(MOST_DATASETS + 2)]
        statuses = [
            self._limited.ask("dataset", "POST", f"{API}/datasets", json=body, expected=(400,)).status_code
            for body in bodies
        ]
        assert statuses == [201] * MOST_DATASETS + [400] * 2, statuses

    def requests_are_counted_together(self) -> None:
        """As many in a minute as a user may send, over all processes."""
        sent = MOST_DATASETS + 2

        def look(_: int) -> int:
            return self._limited.ask("me", "GET", f"{API}/me", expected=(429,)).status_code

        with ThreadPoolExecutor(6) as pool:
            statuses = list(pool.map(look, range(LIMIT + 12 - sent)))
        assert statuses.count(200) == LIMIT - sent, (statuses.count(200), statuses.count(429))

    # ------------------------------------------------------------ parts

    def _search(self, web: Any, query: str, mode: str) -> bool:
        body = self._client.query(query, mode)
        answer = self._caller.ask("search", "POST", f"{API}/search", at=web, json=body).json()
        found = any(hit["passage"]["source"] == "plotter.md" for hit in answer["hits"])
        return found and not answer["degraded"]

    def _stranger(self) -> Caller:
        admin = self._admin
        return Caller(admin.fleet, admin.outages, admin.figures, key="", owners=())

    def _browser(self, name: str) -> Caller:
        browser = self._stranger()
        form = {"name": name, "password": PASSWORD}
        form["csrf_token"] = form_token(browser.ask("sign in", "GET", "/login").text)
        browser.ask("sign in", "POST", "/login", data=form, expected=(302,))
        return browser
