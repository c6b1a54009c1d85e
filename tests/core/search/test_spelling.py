"""Words of a query that no passage has: near words of passages that the user may read are named, never put in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from braid.core.braid import Braid
from braid.core.errors import IndexUnavailableError
from tests.fakes import HashEmbeddings
from tests.worlds import World, catch_up, fill

CONTENTS = {
    "notes": {
        "pump.md": (
            "The calibration of the pump is repeated each spring. The maintenance contract covers it.",
            "Réglage of the thermostat is done by the manufacturer. Calibration takes an hour.",
            "The service desk calls back. Cards are at the gate.",
        ),
        "契約.md": ("サーバーのメンテナンス契約は三月に更新する。インターフェースの仕様は別紙にある。",),
        "계약.md": (
            "임대차 계약서는 관리사무소에서 보관한다. 보증금을 돌려받는 절차도 적혀 있다. 가장 먼저 읽는다.",
            "입사 1년 미만인 직원은 한 달에 하루를 쉰다. 온라인으로 신청하세요.",
        ),
    },
    "private": {"secret.md": ("The sedative is in the cupboard.",)},
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    embeddings = HashEmbeddings()
    with Braid(tmp_path_factory.mktemp("spelling"), embedding_model=embeddings) as braid:
        ids = fill(braid, CONTENTS, {})
        catch_up(braid)
        yield World(braid, embeddings, 1, ids)


@pytest.mark.parametrize(
    ("query", "meant"),
    [
        ("calibraton of the pump", "calibration of the pump"),
        ("When is the Callibration due?", "When is the Calibration due?"),
        ("MAINTENACE contract", "MAINTENANCE contract"),
        ("thermsotat", "thermostat"),
        ("the manufcturer's contarct", "the manufacturer's contract"),
        ("メンテナソスの時期", "メンテナンスの時期"),
        ("サーバのインターフェイス", "サーバのインターフェース"),
        ("임대차 게약서를 어디에 보관하나요", "임대차 계약서를 어디에 보관하나요"),
        ("보증굼 돌려받는 절차", "보증금 돌려받는 절차"),
        ("관리사무수에서 보관하나요", "관리사무소에서 보관하나요"),
        ("cadrs at the gate", "cards at the gate"),
        ("carrds", "cards"),
    ],
)
def test_a_near_word_is_named(world: World, query: str, meant: str) -> None:
    assert world.search(query, "notes").did_you_mean == meant


@pytest.mark.parametrize(
    "query",
    [
        "calibration of the pump",
        "calibrated pumps",  # the same stem
        "reglage",  # the index folds accents
        "Who waters the begonias?",  # unknown, and nothing is near
        "가상 펌프",  # of two syllables, so that another one is another word
        "pimp",  # too short to be near to anything but by chance
        "CALIBRATON-2 E-104 calibraton.md x_calibraton",  # names of things are never respelled
        "https://example.org/calibraton",
        "계약서는 어디에 있나요",
        "サーバー",
        "契約",
        "cells",  # with another letter it is another word: calls
        "carts at the gate",
        "glomerular epithelial calibraton",  # of something else, so that what is near is chance
        "입사 1년 미만이면 며칠 쉬나요",  # another form of 미만
        "온라인으로 신청하나요",
        "보증그를 돌려받는 절차",  # 를 does not go with 보증금
        "zzzzz qqqqq wwwww kkkkk calibraton",  # more unknown words than a query with a slip has
        "2026",
    ],
)
def test_nothing_is_named(world: World, query: str) -> None:
    assert world.search(query, "notes").did_you_mean == ""


def test_a_word_of_another_dataset_is_not_named(world: World) -> None:
    assert world.search("sedatve", "notes").did_you_mean == ""
    assert world.search("sedatve", "private").did_you_mean == "sedative"


def test_the_query_itself_is_searched(world: World) -> None:
    result = world.search("calibraton", "notes")
    assert result.query.text == "calibraton"
    assert result.queries == ("calibraton",)


def test_nothing_is_named_by_meaning_alone_or_where_an_index_does_not_answer(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert world.search("calibraton", "notes", mode="semantic").did_you_mean == ""

    def unavailable(*given: object, **named: object) -> None:
        raise IndexUnavailableError("the keyword index is away")

    monkeypatch.setattr(world.braid.manager._context.bm25, "statistics", unavailable)
    found = world.search("calibraton", "notes")
    assert found.degraded
    assert found.did_you_mean == ""
