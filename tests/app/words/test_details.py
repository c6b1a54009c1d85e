"""What the audit log says, on pages: in the language of the reader, and without ids."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask
from flask_babel import force_locale

from braid.app.words.audit_log import detail_text, target_text
from braid.core.braid import Braid
from tests.web import make_app

CASES = [
    ("user.added", "administrator, run by root", "管理者、実行者：root", "관리자, 실행: root"),
    ("user.signed_in", "with a code, 127.0.0.1", "確認コード、127.0.0.1", "인증 코드, 127.0.0.1"),
    ("user.password", "1 token revoked, run by ann", "トークン 1 件を無効化、実行者：ann", "토큰 1개 폐기, 실행: ann"),
    ("conversation.deleted", "of user 3, run by root", "実行者：root", "실행: root"),
    (
        "dataset.transferred",
        "12 datasets of ann",
        "データセット 12 件（元の所有者：ann）",
        "데이터셋 12개(이전 소유자: ann)",
    ),
    ("dataset.transferred", "7 Notes, run by root", "Notes、実行者：root", "Notes, 실행: root"),
    ("dataset.shared", "group lab may read and change", "グループ：lab（閲覧と変更）", "그룹: lab(열람 및 변경)"),
    ("token.made", "4 read write", "閲覧と変更", "열람 및 변경"),
    ("token.revoked", "4", "", ""),
    ("shared_db.changed", "allowed_groups: a, b → everyone", "グループ：a, b → 全員", "그룹: a, b → 모든 사용자"),
    ("shared_db.changed", "enabled: True → False", "オフ", "끔"),
    ("folder.added", "3 Wiki; prefix w/", "Wiki; 接頭辞：w/", "Wiki; 접두사: w/"),
    # Names and texts that people wrote stay, also where they are words of the log.
    ("user.groups", "all, none, run by root", "all, none、実行者：root", "all, none, 실행: root"),
    ("group.renamed", "administrator", "administrator", "administrator"),
    ("documents.removed", "12 documents", "文書 12 件", "문서 12개"),
    ("documents.removed", "my, run by hand.md", "my, run by hand.md", "my, run by hand.md"),
    ("search.as_user", "all", "all", "all"),
    ("user.changed", "was all documents", "変更前：all documents", "변경 전: all documents"),
    ("user.added", "lots of documents", "lots of documents", "lots of documents"),
]


CASES += [
    ("shared_db.added", "shared_lab; ops, lab", "ops, lab", "ops, lab"),
    ("shared_db.added", "shared_main_db; everyone", "全員", "모든 사용자"),
]
TARGETS = [
    ("dataset.removed", "7 Notes", "Notes"),
    ("dataset.removed", "7", ""),
    ("shared_db.added", "-1 Handbook", "Handbook"),
    ("conversation.deleted", "12", "会話"),
    ("assistant.shared", "3 Writer", "Writer"),
    ("user.added", "7 of nine", "7 of nine"),
    ("documents.removed", "dataset 7", ""),
    ("scans.queued", "1 document", "文書 1 件"),
    ("sign_up.changed", "approval", "承認制"),
    ("models.chosen", "summary", "回答用モデル"),
]


@pytest.fixture
def app(braid: Braid) -> Iterator[Flask]:
    opened = make_app(braid)
    with opened.test_request_context("/search"):
        yield opened


@pytest.mark.usefixtures("app")
def test_details_and_targets_are_in_the_language_of_the_page_and_without_ids() -> None:
    for place, language in ((2, "ja"), (3, "ko")):
        with force_locale(language):
            shown = [(action, detail, detail_text(detail, action)) for action, detail, *_ in CASES]
        assert shown == [(case[0], case[1], case[place]) for case in CASES]
    with force_locale("ja"):
        assert [(action, target, target_text(target, action)) for action, target, _ in TARGETS] == TARGETS
    with force_locale("en"):
        assert detail_text("1 document, run by root", "dataset.removed") == "1 document, run by root"


RECORDED = re.compile(r"(?:audit\.add|record|_record|_audit|audit)\((?:[^()]|\([^()]*\))*\)", re.DOTALL)
FIXED = re.compile(r'"((?:[a-z]+ )+[a-z]+|administrator|none|all|everyone|settings)(?:, )?"')


@pytest.mark.usefixtures("app")
def test_every_fixed_text_that_is_recorded_can_be_translated() -> None:
    seen = set()
    for path in [*Path("app").rglob("*.py"), *Path("core").rglob("*.py")]:
        for call in RECORDED.findall(path.read_text(encoding="utf-8")):
            seen |= set(FIXED.findall(call))
    assert {"administrator", "none"} <= seen
    with force_locale("ja"):
        assert [text for text in sorted(seen) if detail_text(text, "user.added") == text] == []
