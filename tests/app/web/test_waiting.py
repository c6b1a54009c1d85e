"""What is said of passages that an index does not have yet: no internal names, and how long it takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from markupsafe import Markup

from braid.app.pages.search.answer import Missing
from braid.app.web.waiting import is_over, waiting
from braid.app.words.reasons import reason_html
from braid.core.braid import Braid
from braid.core.indexes.leg_progress import LegProgress
from braid.core.types import ChunkInput, Dataset, DocumentInput
from tests.web import make_app

REASON = LegProgress("dense", "user_1", "ready", 249, 180.0, "", 0).shortfall


def mine(braid: Braid, *names: str) -> Sequence[Dataset]:
    user = braid.ledger.add_user("ann").id
    for name in names:
        chunks = tuple(ChunkInput(f"{name} {number}") for number in range(3))
        braid.ledger.put_document(braid.ledger.add_dataset(user, name).id, DocumentInput("a", "A", "md", chunks))
    return braid.ledger.datasets(user)


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "3 of 3 passages of “Notes” are not ready for search by meaning yet"),
        ("ja", "「Notes」の抜粋 3 件のうち 3 件は、意味検索の準備がまだできていません"),
        ("ko", "“Notes”의 단락 3개 중 3개는 의미 검색 준비가 아직 끝나지 않았어요"),
    ],
)
def test_datasets_are_named_as_their_owner_named_them(braid: Braid, language: str, said: str) -> None:
    assert "249" in REASON
    with make_app(braid).test_request_context("/", headers={"Accept-Language": language}):
        [text] = waiting([REASON], [replace(one, collection="user_1") for one in mine(braid, "Notes")])
        assert text.startswith(said)
        assert "user_1" not in text
        assert isinstance(text, Markup)
        assert reason_html(text) == text


def test_how_long_it_takes_is_said(braid: Braid, monkeypatch: pytest.MonkeyPatch) -> None:
    part = LegProgress("dense", "user_1", "ready", 249, 180.0, "", 0)
    monkeypatch.setattr(braid.indexer, "leg_progress", lambda leg, collection: part)
    with make_app(braid).test_request_context("/", headers={"Accept-Language": "en"}):
        own = [replace(one, collection="user_1") for one in mine(braid, "a<b", "c", "d")]
        [text] = waiting([REASON], own)
        assert text.endswith("3 datasets are not ready for search by meaning yet (about 3 minutes).")
        assert "a&lt;b" in waiting([REASON], own[:1])[0]


def test_several_collections_are_added_up_in_one_sentence(braid: Braid) -> None:
    reasons = [LegProgress("dense", name, "ready", 2).shortfall for name in ("user_1", "user_2", "user_3")]
    with make_app(braid).test_request_context("/", headers={"Accept-Language": "en"}):
        own = [replace(one, collection=f"user_{number}") for number, one in enumerate(mine(braid, "a", "b", "c"), 1)]
        said = waiting([*reasons, "the dense index is closed"], own)
        told = "6 of 9 passages of 3 datasets are not ready for search by meaning yet."
        assert said == [told, "the dense index is closed"]


def test_other_reasons_and_others_collections_are_left_as_they_are(braid: Braid) -> None:
    with make_app(braid).test_request_context("/"):
        for reason in ("the dense index is closed", REASON):
            assert waiting([reason], mine(braid) if reason != REASON else []) == [reason]


def test_what_has_come_by_now_is_known_for_ones_own_datasets(braid: Braid, monkeypatch: pytest.MonkeyPatch) -> None:
    with make_app(braid).test_request_context("/"):
        own = [replace(one, collection="user_1") for one in mine(braid, "Notes")]
        for pending, state, expected in ((0, "ready", True), (1, "ready", False), (0, "rebuilding", False)):
            part = LegProgress("dense", "user_1", state, pending)  # type: ignore[arg-type]
            monkeypatch.setattr(braid.indexer, "leg_progress", lambda leg, collection, part=part: part)
            assert is_over(REASON, own) is expected
        part = LegProgress("dense", "user_1", "ready")
        monkeypatch.setattr(braid.indexer, "leg_progress", lambda leg, collection: part)
        assert not is_over(REASON, [replace(one, owner="ben") for one in own])
        assert not is_over(REASON, [])
        assert not is_over("the dense index is closed", own)


def test_an_answer_without_passages_that_wait_is_no_failure() -> None:
    waits = Markup("3 of 3 passages are not ready")
    assert Missing("dense", (), (waits,)).only_waits
    assert not Missing("dense", (), (waits, "the dense index is closed")).only_waits
    assert not Missing("dense", (), ()).only_waits
    assert not Missing("model", (), (waits,)).only_waits
