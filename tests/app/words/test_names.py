"""Words for what programs write in codes: actions of the audit log, browsers, models of connected servers, sizes."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from braid.app.cli.common import ACTOR
from braid.app.words.audit_log import ACTIONS, action_name, actor_name
from braid.app.words.values import called, device, provider_name, size
from braid.core.braid import Braid
from tests.app.words.test_translations import ROOT
from tests.web import make_app

RECORDERS = ("audit", "add", "record", "_record", "add_entry", "_publish")
AGENTS = {
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36": (
        "Chrome on Linux"
    ),
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:131.0) Gecko/20100101 Firefox/131.0": "Firefox on Windows",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/17.6 Safari/605.1": ("Safari on Mac"),
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/130.0 "
    "Mobile/15E148 Safari/604.1": "Chrome on iPhone",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/130.0 Safari/537.36 Edg/130.0": "Edge on Windows",
    "Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 SamsungBrowser/25.0 Chrome/121 Mobile Safari/537.36": (
        "Samsung Internet on Android"
    ),
    "curl/8.5.0": "curl",
    "Mozilla/5.0 (Windows NT 6.1) Unheard/1": "Browser on Windows",
    "": "Unknown browser",
    "<script>": "Unknown browser",
}


@pytest.mark.parametrize(
    ("language", "user", "group", "server"),
    [
        ("en", "Mio", "the group “Tokyo”", "OpenAI-compatible"),
        ("ja", "Mio さん", "グループ「Tokyo」", "OpenAI 互換"),
        ("ko", "Mio 님", "“Tokyo” 그룹", "OpenAI 호환"),
    ],
)
def test_a_person_is_addressed_and_a_group_is_not(
    braid: Braid, language: str, user: str, group: str, server: str
) -> None:
    with make_app(braid).test_request_context(f"/?lang={language}"):
        assert (called("Mio", "user"), called("Tokyo", "group")) == (user, group)
        assert (provider_name("OpenAI-compatible"), provider_name("Ollama")) == (server, "Ollama")


@pytest.mark.parametrize(("agent", "words"), AGENTS.items())
def test_a_browser_is_called_by_its_name_and_system(braid: Braid, agent: str, words: str) -> None:
    with make_app(braid).test_request_context("/account?lang=en"):
        assert device(agent) == words


def test_every_action_that_is_recorded_has_a_name(braid: Braid) -> None:
    recorded = {code for path in (ROOT / "app").rglob("*.py") for code in _codes(path)}
    recorded |= set(_codes(ROOT / "core" / "datasets" / "shared_changes.py"))
    assert len(recorded) > 40
    assert {code for code in recorded if code not in ACTIONS} == set()
    with make_app(braid).test_request_context("/admin/?lang=ja"):
        assert action_name("user.signed_in") == "サインイン"
        assert action_name("of.a.newer.version") == "of.a.newer.version"


def _codes(path: Path) -> list[str]:
    """The actions that are written as texts in calls that record."""
    calls = (node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call))
    named = (call for call in calls if _name(call.func) in RECORDERS)
    texts = (text.value for call in named for each in call.args[:3] for text in ast.walk(each) if _is_text(text))
    return [text for text in texts if re.fullmatch(r"[a-z_]+\.[a-z_]*[a-z]", text)]


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _name(called: ast.expr) -> str:
    return called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""


@pytest.mark.parametrize(
    ("size_bytes", "shown"),
    [(0, "0 B"), (1023, "1,023 B"), (1536, "1.5 KB"), (59_678_654_464, "56 GB"), (3 * 2**50, "3,072 TB")],
)
def test_sizes_are_in_units_that_one_reads_easily(braid: Braid, size_bytes: int, shown: str) -> None:
    with make_app(braid).test_request_context("/?lang=en"):
        assert size(size_bytes) == shown


@pytest.mark.parametrize(("language", "named"), [("en", "command line"), ("ja", "コマンドライン"), ("ko", "명령줄")])
def test_what_commands_did_is_said_in_the_language_of_the_page(braid: Braid, language: str, named: str) -> None:
    with make_app(braid).test_request_context(headers={"Accept-Language": language}):
        assert (actor_name(ACTOR), actor_name("Ana")) == (named, "Ana")
