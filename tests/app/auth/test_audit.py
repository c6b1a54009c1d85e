"""What the audit log and the server's log say about sign-ins, and what becomes of entries."""

from __future__ import annotations

import json
import logging
import re
import time
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import insert, select, update

from braid.app.auth import attempts
from braid.config.settings import Settings
from braid.core.accounts.audit import AuditFilter, AuditLog
from braid.core.background.retention import Retention, RetentionDays
from braid.core.braid import Braid
from braid.core.chat.store import ConversationStore
from braid.core.chat.types import ChatRequest, ChatResult
from braid.core.errors import NotFoundError
from braid.core.ledger.tables import ApiTokenRow, AuditRow, ConversationRow, UsageRow
from braid.core.types import Query, SearchResult
from tests.web import PASSWORD, acts, add_user, bearer, csrf_token, make_app, post_form, sign_in, site_of

DAY_S = 86_400
MANUAL = (Path(__file__).parents[3] / "docs" / "administration.md").read_text(encoding="utf-8")


def of_fail2ban() -> list[re.Pattern[str]]:
    """The expressions of the manual's filter; fail2ban puts what an address looks like for its word for one."""
    found = re.search(r"failregex = (.*)\n +(event=.*)\n", MANUAL)
    assert found
    return [re.compile(each.replace("<HOST>", r"(?P<host>[0-9a-f.:]+)")) for each in found.groups()]


@pytest.fixture
def app(braid: Braid) -> Flask:
    return make_app(braid, Settings(sign_up="open"))


@pytest.fixture
def admin(app: Flask) -> FlaskClient:
    return sign_in(app)


def fail(app: Flask, name: str, address: str = "203.0.113.7") -> int:
    client = app.test_client()
    form = {"name": name, "password": "wrong", "csrf_token": csrf_token(client, "/login")}
    return client.post("/login", data=form, environ_overrides={"REMOTE_ADDR": address}).status_code


def signs(app: Flask, action: str) -> list[tuple[str, str, str]]:
    return [(e.actor, e.target, e.detail) for e in site_of(app).audit.entries(AuditFilter(action=action))]


def test_failures_have_name_and_address(app: Flask, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert [fail(app, "root\n") for _ in range(11)] == [401] * 10 + [429]
    assert signs(app, "user.sign_in_failed") == [("-", "root", "203.0.113.7")] * 10
    assert signs(app, "user.sign_in_refused") == [("-", "root", "203.0.113.7")]
    found = [of_fail2ban()[0].search(line) for line in caplog.messages]
    assert [match["host"] for match in found if match] == ["203.0.113.7"] * 11


def test_an_address_cannot_write_a_line_of_its_own(app: Flask, caplog: pytest.LogCaptureFixture) -> None:
    fail(app, 'x" address=198.51.100.1', "8.8.8.8 address=198.51.100.1")
    [line] = [line for line in caplog.messages if "sign_in_failed" in line]
    assert line.startswith("event=sign_in_failed address=8.8.8.8?address?198.51.100.1 name=")


def test_a_flood_of_failures_does_not_fill_the_log(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "AUDITED", attempts.parse("3/minute"))
    for number in range(5):
        fail(app, f"name {number}", f"203.0.113.{number}")
    assert len(signs(app, "user.sign_in_failed")) == 3


def test_who_is_denied_is_in_the_servers_log(app: Flask, caplog: pytest.LogCaptureFixture) -> None:
    ann = add_user(app, "ann")
    client = sign_in(app, "ann")
    with caplog.at_level(logging.INFO):
        caplog.clear()  # signing in, which is logged where another test has set the level
        client.get("/admin/")
        app.test_client().get("/api/v1/me", headers={"Authorization": "Bearer braid_wrong"})
        client.get("/account")
    denied, wrong, fine = [line for line in caplog.messages if line.startswith("event=request")]
    assert denied.endswith(f" address=127.0.0.1 user={ann.id}")
    assert wrong.endswith(" address=127.0.0.1 user=-")
    assert [bool(of_fail2ban()[1].search(line)) for line in (denied, wrong, fine)] == [False, True, False]
    assert "address=" not in fine


def test_what_users_do_to_their_own_account_is_recorded(app: Flask) -> None:
    client = app.test_client()
    form = {"name": "zoe", "password": PASSWORD, "csrf_token": csrf_token(client, "/signup")}
    assert client.post("/signup", data=form).status_code == 302
    zoe = site_of(app).accounts.named("zoe")
    assert zoe
    assert post_form(client, "/account/tokens", name="t", scope="read").status_code == 201
    [token] = (each.id for each in site_of(app).tokens.of_user(zoe.id))
    post_form(client, f"/account/tokens/{token}/revoke")
    post_form(client, "/account/password", old=PASSWORD, password="another password")
    post_form(client, "/account/sessions/end", tokens="1")
    found = [(entry.actor, entry.action, entry.detail) for entry in reversed(acts(app))]
    assert found == [
        ("zoe", "user.signed_up", "127.0.0.1"),
        ("zoe", "token.made", f"{token} read"),
        ("zoe", "token.revoked", str(token)),
        ("zoe", "user.password", "own, 0 tokens revoked"),
        ("zoe", "user.signed_out", "all browsers, 0 tokens revoked"),
    ]


@pytest.fixture
def filled(app: Flask) -> Flask:
    """Entries of the last five days, one a day."""
    now = time.time()
    rows = [
        {
            "at": now - n * DAY_S,
            "actor": "root",
            "action": ("user.added", "userx.y")[n % 2],
            "target": f"t{n}",
            "detail": "",
        }
        for n in range(5, 0, -1)
    ]
    with site_of(app).braid.ledger.database.write() as connection:
        connection.execute(insert(AuditRow), rows)
    return app


def test_the_log_is_filtered_and_exported(filled: Flask, admin: FlaskClient) -> None:
    day = time.strftime("%Y-%m-%d", time.gmtime(time.time() - 2 * DAY_S))
    page = admin.get(f"/admin/audit?action=user.added&until={day}").text
    assert re.findall(r"<td[^>]*>(t\d)</td>", page) == ["t2", "t4"]
    assert re.findall(r"<td[^>]*>(t\d)</td>", admin.get("/admin/audit?q=T3").text) == ["t3"]
    assert admin.get("/admin/audit?since=yesterday").status_code == 400
    lines = admin.get("/admin/audit.jsonl?action=user").text.splitlines()
    assert [json.loads(line)["target"] for line in lines][:2] == ["t4", "t2"]
    assert acts(filled)[0].action == "audit.exported"


def test_the_api_has_the_log(filled: Flask) -> None:
    client = filled.test_client()
    client.environ_base["HTTP_AUTHORIZATION"] = bearer(filled, site_of(filled).accounts.get(1), "admin")[
        "Authorization"
    ]
    found = client.get("/api/v1/audit?action=userx&limit=2").get_json()
    assert [each["target"] for each in found["items"]] == ["t1", "t3"]
    assert "action=userx" in found["next"]
    since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 2.5 * DAY_S))
    lines = client.get(f"/api/v1/audit/export?q=t&since={since}&action=user").text.splitlines()
    assert json.loads(lines[0])["target"] == "t2"
    assert client.get("/api/v1/audit?since=2026-01-01").status_code == 422


def test_an_export_of_a_long_log_is_read_in_parts(filled: Flask) -> None:
    log = AuditLog(site_of(filled).braid.ledger, entries_per_read=2)
    assert [entry.target for entry in log.all()] == ["t5", "t4", "t3", "t2", "t1"]


def test_what_is_too_old_is_counted_and_deleted(filled: Flask, braid: Braid) -> None:
    here, now = site_of(filled), time.time()
    old = here.conversations.create(1, "old").id
    young = here.conversations.create(1, "young").id
    tokens = [here.tokens.add(1, "t", ["read"], days=1)[0].id for _ in range(2)]
    with braid.ledger.database.write() as connection:
        connection.execute(update(ConversationRow).where(ConversationRow.id == old).values(updated_at=now - 11 * DAY_S))
        connection.execute(update(ApiTokenRow).where(ApiTokenRow.id == tokens[0]).values(expires_at=now - 11 * DAY_S))
        connection.execute(
            insert(UsageRow),
            [{"day": day, "user_id": 1, "kind": "chat", "count": 1} for day in ("2020-01-01", "9999-01-01")],
        )
    for_ever = Retention(braid, RetentionDays(deleted=0))
    assert set(for_ever.preview().values()) == set(for_ever.apply().values()) == {0}
    deleted = here.conversations.create(1, "deleted").id
    here.conversations.discard(1, deleted)
    with braid.ledger.database.write() as connection:
        long_ago = update(ConversationRow).where(ConversationRow.id == deleted)
        connection.execute(long_ago.values(deleted_at=now - 31 * DAY_S))
    retention = Retention(braid, RetentionDays(conversations=10, audit=3, usage=10, expired_tokens=10))
    counts = retention.preview()
    assert (counts["conversations"], counts["usage"], counts["expired_tokens"]) == (1, 1, 1)
    assert counts["deleted"] == 1
    assert counts["audit"] == 3
    assert retention.apply() == counts
    assert set(retention.preview().values()) == {0}
    with pytest.raises(NotFoundError):
        here.conversations.conversation(1, old)
    assert here.conversations.conversation(1, young)
    assert [token.id for token in here.tokens.of_user(1)] == [tokens[1]]
    with braid.ledger.database.read() as connection:
        assert connection.execute(select(UsageRow.day)).scalars().all() == ["9999-01-01"]


def test_a_conversation_that_is_used_while_old_ones_go_stays(
    filled: Flask, braid: Braid, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, old = site_of(filled), time.time() - 11 * DAY_S
    written, attached, unused = (here.conversations.create(1, name).id for name in ("written", "attached", "unused"))
    with braid.ledger.database.write() as connection:
        connection.execute(
            update(ConversationRow)
            .where(ConversationRow.id.in_((written, attached, unused)))
            .values(updated_at=old, created_at=old)
        )
    delete = ConversationStore.delete

    def use_then_delete(store: ConversationStore, user_id: int, conversation_id: int, **options: Any) -> bool:
        if conversation_id == written:
            found = SearchResult(Query("q"), "basic", "none", ("q",), (), ())
            here.conversations.add(written, ChatRequest(1, "q"), ChatResult("q", "q", "none", found))
        elif conversation_id == attached:
            here.conversations.files.add_dataset(1, attached)
        return delete(store, user_id, conversation_id, **options)

    monkeypatch.setattr(ConversationStore, "delete", use_then_delete)
    assert Retention(braid, RetentionDays(conversations=10)).apply()["conversations"] == 1
    assert {each.id for each in here.conversations.conversations(1)} >= {written, attached}
    assert here.conversations.files.dataset(1, attached)


def test_the_overview_says_what_goes(filled: Flask, admin: FlaskClient, braid: Braid) -> None:
    assert "kept forever" in admin.get("/admin/").text
    site_of(filled).background.retention = Retention(braid, RetentionDays(audit=3))
    assert "3 days · 3 to be deleted within the hour" in admin.get("/admin/").text
