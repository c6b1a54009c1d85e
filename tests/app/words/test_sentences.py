"""Sentences of pages, one after the other, in languages with and without blanks between them."""

from __future__ import annotations

from markupsafe import Markup

from braid.app.words.filled import fill
from braid.app.words.values import sentences


def test_no_blank_follows_a_japanese_full_stop() -> None:
    assert sentences(["検索できます。", "", "変更できます。"]) == "検索できます。変更できます。"
    assert sentences(["검색해요.", "바꿔요."]) == "검색해요. 바꿔요."
    assert sentences([]) == ""
    assert not isinstance(sentences(["<b>", "c"]), Markup)
    assert sentences([Markup("<b>a</b>."), "<i>"]) == Markup("<b>a</b>. &lt;i&gt;")


def test_no_blank_follows_a_bracket_before_japanese() -> None:
    names = {"names": "グループ「東京オフィス」"}
    assert (
        fill("%(names)s もこのデータセットを閲覧できます。", names)
        == "グループ「東京オフィス」もこのデータセットを閲覧できます。"
    )
    assert fill("%(names)s もこのデータセット", {"names": "Ben"}) == "Ben もこのデータセット"
    assert fill("%(names)s に依頼", {"names": "Ben さん"}) == "Ben さんに依頼"
    assert fill("%(names)s can read it", names) == "グループ「東京オフィス」 can read it"
