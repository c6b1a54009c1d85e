"""Questions about the versions of one document: what changed since one of them, between two, in the newest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from braid.core.braid import Braid
from braid.core.chat.citations import Citation
from braid.core.chat.conversation import Conversation
from braid.core.chat.quoting.logs import days_in, told_of_versions, version_above, version_of
from braid.core.chat.texts import say
from braid.core.chat.types import ChatRequest, ChatResult
from braid.core.chat.whole import about
from braid.core.models.chat import ChatModels, chat_models
from braid.core.types import ChunkInput, DocumentInput
from tests.core.chat.test_extractive import passage
from tests.fakes import HashEmbeddings
from tests.model_server import model_server
from tests.worlds import WAIT_S

LOGS = {
    "Harbour Client changelog": {
        "[1.10.0] - 2026-09-01 > Added": "- Tides are shown for a week.\n- Notes can be pinned.",
        "[1.10.0] - 2026-09-01 > Fixed": "- The compass no longer turns at random.",
        "[1.9.2] - 2026-06-15 > Fixed": "- The anchor alarm rings again.",
        "[1.9.0] - 2026-05-02 > Added": "- Routes may have 50 points instead of 20.",
        "[1.8.0] - 2025-12-20 > Removed": "- The old chart format is not read any more.",
    },
    "潮だより 更新履歴": {
        "バージョン3.2（2026年10月5日）": "- 満月の日が色で分かります。\n- 通知の時刻を選べます。",
        # The last versions are so short that they were stored with the one above them.
        "バージョン3.1（2026年7月8日）": "- 港を30か所まで登録できます。\n\n"
        "バージョン3.0（2026年3月1日）\n\n- 広告をなくしました。",
    },
    "물때 알리미 변경 이력": {
        "7.1 (2026년 8월 9일)": "- 파도 높이를 미터로 보여 줍니다.",
        "7.0 (2026년 4월 2일)": "- 어두운 화면을 넣었습니다.",
        "6.5 (2026년 1월 20일)": "- 글씨 크기를 바꿀 수 있습니다.",
    },
    "Purchasing rules": {
        "Limits": "Orders above 900 euros need two signatures.",
        "Document history": "| Version | Date | Change |\n|---|---|---|\n| 1.0 | 2 May 2024 | First issue |\n"
        "| 1.1 | 4 March 2025 | Limit raised to 700 euros |\n| 2.0 | 9 April 2026 | Limit raised to 900 euros |",
    },
    "Quay: log of changes": {
        "4 November 2026": "The crane is back in service.",
        "12 August 2026": "The slipway closes at dusk.",
        "3 February 2026": "Berth 9 has electricity.",
    },
    "Oar canteen prices": {
        "Price changes": "| Drink | Price | Note |\n|---|---|---|\n| Coffee | 2.50 | hot |\n| Tea | 1.80 | green |\n"
        "| Juice | 3.20 | cold |",
    },
    "Gull API changelog": {
        "2.7-rc1": "- Login by fingerprint was added.",
        "2.6": "- Voice output was removed from the API.\n\nInstallation\n\n- Run setup as root.",
        "2.5": "- The SOAP endpoint was removed from the API.\n\nFixed\n\n- Dates are sorted.",
        "[Unreleased]": "- Icons are blue.",
    },
    "Tide tables, revision history": {
        "Revision 2": "The tables begin in spring.",
        "Revision 1": "The tables are printed on blue paper.",
    },
    "Mooring contract": {
        "2.5 Fees": "The fee for a berth is 310 euros a year.",
        "2.6 Notice": "Notice is given three months before.",
    },
}  # fmt: skip


def store(braid: Braid, dataset: int, title: str, sections: dict[str, str]) -> None:
    chunks = tuple(ChunkInput(text, heading_path=heading) for heading, text in sections.items())
    braid.ledger.put_document(dataset, DocumentInput(f"{title}.md", title, "md", chunks))


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Braid]:
    with Braid(tmp_path_factory.mktemp("harbour") / "data", embedding_model=HashEmbeddings()) as braid:
        dataset = braid.ledger.add_dataset(braid.ledger.add_user("ann").id, "harbour").id
        for title, sections in LOGS.items():
            store(braid, dataset, title, sections)
        assert braid.indexer.wait(WAIT_S)
        yield braid


def ask(braid: Braid, question: str, **more: Any) -> ChatResult:
    return Conversation(braid, models=more.pop("models", ChatModels())).ask(
        ChatRequest(1, question, dataset_ids=[1], **more)
    )


def lines(result: ChatResult) -> list[str]:
    """Return what is quoted, without marks of citations and emphasis."""
    return [line.partition(" [")[0] for line in result.text.replace("[1.", "(1.").split("\n") if line.startswith("- ")]


TIDES, PIN = "- Tides are shown for a week.", "- Notes can be pinned."
COMPASS, ALARM = "- The compass no longer turns at random.", "- The anchor alarm rings again."
ROUTES, CHART = "- Routes may have 50 points instead of 20.", "- The old chart format is not read any more."
MOON, TIMES, PORTS = "- 満月の日が色で分かります。", "- 通知の時刻を選べます。", "- 港を30か所まで登録できます。"


@pytest.mark.parametrize(("question", "expected"), [
    ("What changed since 1.9.2?", [TIDES, PIN, COMPASS]),
    ("what's new in Harbour Client since version 1.9.0", [TIDES, PIN, COMPASS, ALARM]),
    ("What changed between 1.8.0 and 1.9.2?", [ALARM, ROUTES]),
    ("How do 1.9.2 and 1.8.0 differ?", [ALARM, ROUTES]),
    ("What is new in 1.9.0?", [ROUTES]),
    ("What changed in 1.9?", [ALARM, ROUTES]),
    ("What is the latest version of Harbour Client?", [TIDES, PIN, COMPASS]),
    ("What changed in the Harbour Client since June 2026?", [TIDES, PIN, COMPASS, ALARM]),
    ("What changed in the Harbour Client in 2025?", [CHART]),
    ("What changed for the compass since 1.8.0?", [COMPASS]),
    ("潮だより 3.0から何が変わった？", [MOON, TIMES, PORTS]),
    ("3.0と3.1の違いは？", [PORTS]),
    ("潮だよりの最新バージョンは？", [MOON, TIMES]),
    ("6.5 이후에 뭐가 바뀌었어요?", ["- 파도 높이를 미터로 보여 줍니다.", "- 어두운 화면을 넣었습니다."]),
    ("6.5랑 7.0은 뭐가 달라요?", ["- 어두운 화면을 넣었습니다."]),
    ("물때 알리미 최신 버전이 뭐야", ["- 파도 높이를 미터로 보여 줍니다."]),
    ("What changed in the purchasing rules since version 1.0?", [
        "- 1.1 · Date: 4 March 2025 · Change: Limit raised to 700 euros",
        "- 2.0 · Date: 9 April 2026 · Change: Limit raised to 900 euros",
    ]),
    ("What was removed from the API in 2.5?", ["- The SOAP endpoint was removed from the API."]),
    ("What was removed from the Harbour Client in 1.8.0?", [CHART]),
    ("What features were added in 1.9.0 after the beta?", [ROUTES]),
    ("What was added from the list in the Harbour Client in 2025?", [CHART]),
    ("潮だよりの3.0で画面から何が変わった？", ["- 広告をなくしました。"]),
    ("7.0에서 사진부터 뭐가 바뀌었어요?", ["- 어두운 화면을 넣었습니다."]),
    ("What changed in 2.6?", ["- Voice output was removed from the API."]),
    ("What is new since 2.6?", ["- Login by fingerprint was added."]),
    ("What changed in the quay since August 2026?", [
        "- The crane is back in service.", "- The slipway closes at dusk."
    ]),
])  # fmt: skip
def test_the_versions_that_are_meant_are_quoted_and_no_other(
    harbour: Braid, question: str, expected: list[str]
) -> None:
    result = ask(harbour, question)
    assert result.found
    assert lines(result) == expected
    assert not [each for each in result.support if each.findings]


def test_each_version_is_named_above_what_it_says(harbour: Braid) -> None:
    result = ask(harbour, "What changed since 1.9.0?")
    assert result.text.split("\n")[:3] == [
        say("versions", "en", title="Harbour Client changelog"), "", "**[1.10.0] - 2026-09-01 · Added** [1]"
    ]  # fmt: skip
    assert [(each.asked, each.found, each.new) for each in result.lookups] == [("Harbour Client changelog", 5, 3)]


def test_that_there_is_no_newer_version_is_said_with_the_newest(harbour: Braid) -> None:
    result = ask(harbour, "물때 알리미 7.1 이후에 뭐가 바뀌었어요?")
    assert result.text.split("\n")[0] == say("no_newer_version", "ko", title="물때 알리미 변경 이력")
    assert lines(result) == ["- 파도 높이를 미터로 보여 줍니다."]


@pytest.mark.parametrize("question", [
    "What changed between 1.9.0 and 4.4.0?",
    "What changed between 2.5 and 2.60?",
    "Which drinks changed from 1.80 to 3.20 in the canteen prices?",
    "What changed in the mooring contract since 2024?",
    "What is the latest version of the mooring contract?",
    "What changed in the Harbour Client in March 2024?",
    "What changed in the tide tables since June 2026?",
])  # fmt: skip
def test_what_no_log_has_is_answered_as_any_other_question(harbour: Braid, question: str) -> None:
    heads = [say(name, "en", title=title) for title in LOGS for name in ("versions", "no_newer_version")]
    assert ask(harbour, question).text.split("\n")[0] not in heads


def test_a_quote_from_a_log_says_of_which_version_it_is(harbour: Braid) -> None:
    assert "[1.9.2] - 2026-06-15:" in ask(harbour, "Which version made the anchor alarm ring again?").text
    assert "バージョン3.0（2026年3月1日）:" in ask(harbour, "広告をなくしたのはいつですか").text


def test_a_model_is_given_the_passages_of_these_versions(harbour: Braid) -> None:
    with model_server("The compass is fixed [2].") as server:
        models = ChatModels(None, chat_models(None, server.settings()).summary)
        result = ask(harbour, "What changed since 1.9.2?", models=models)
        prompt = server.calls[-1].messages[-1][1]
    assert [each.passage.text for each in result.citations] == ["- The compass no longer turns at random."]
    assert "Tides are shown" in prompt
    assert "anchor alarm" not in prompt
    assert "2 of 5 passages, those that were asked about" in prompt
    assert "the rest of it was not read" not in prompt


def test_more_lines_than_are_shown_are_counted(braid: Braid) -> None:
    dataset = braid.ledger.add_dataset(braid.ledger.add_user("ann").id, "logs").id
    items = "\n".join(f"- Winch {n} turns faster." for n in range(50))
    store(braid, dataset, "Tug changelog", {"1.1": items, "1.0": "- The tug sails."})
    assert braid.indexer.wait(WAIT_S)
    text = ask(braid, "What changed since 1.0?").text
    assert text.count("turns faster") == 40
    assert text.endswith(say("changes_left_out_bare", "en", count=10))


def test_the_newest_is_not_told_where_the_end_of_a_log_was_not_read(
    braid: Braid, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = braid.ledger.add_dataset(braid.ledger.add_user("ann").id, "logs").id
    store(braid, dataset, "Tug log of changes", {f"Version 1.{n}": f"The winch has gear {n} now." for n in range(1, 7)})
    assert braid.indexer.wait(WAIT_S)
    assert "gear 6" in ask(braid, "What is the latest version of the tug?").text
    read = about.passages_of

    def first_four(*given: Any) -> tuple[tuple[Any, ...], int]:
        hits, total = read(*given)
        return hits[:4], total

    monkeypatch.setattr(about, "passages_of", first_four)
    assert not ask(braid, "What is the latest version of the tug?").lookups


@pytest.mark.parametrize(("heading", "title", "numbers", "day"), [
    ("Version 4 (May 2026)", "", (4,), (2026, 5)),
    ("v2.0.1", "", (2, 0, 1), ()),
    ("Kestrel 3.4", "Kestrel release notes", (3, 4), ()),
    ("第3版　2026年4月1日", "", (3,), (2026, 4, 1)),
    ("3. 1. 2026", "Minutes", None, None),
    ("2026年4月1日", "更新履歴", (), (2026, 4, 1)),
    ("2026年4月1日", "議事録", None, None),
    ("第3回 防災部会", "第3回 防災部会 議事録", None, None),
    ("Kestrel 3.4", "Kestrel 3.4", None, None),
    ("4.2 Termination", "Contract", None, None),
    ("2.50", "Canteen prices", None, None),
    ("12.5", "Measurements", None, None),
    ("10.0.0.1", "Addresses of the hosts", None, None),
    ("2.5", "Contract", None, None),
    ("2.5 (May 2026)", "Kestrel", (2, 5), (2026, 5)),
    ("2.0.0-beta.1", "Changelog", (2, 0, 0), ()),
    ("[2.0-rc1] - 2026-05-02", "Changelog", (2, 0), (2026, 5, 2)),
    ("[Unreleased]", "Changelog", None, None),
    ("제3조", "계약서", None, None),
])  # fmt: skip
def test_headings_that_are_versions(
    heading: str, title: str, numbers: tuple[int, ...] | None, day: tuple[int, ...] | None
) -> None:
    found = version_of(heading, title)
    assert (found.numbers if found else None, found.day if found else None) == (numbers, day)


HEADED = (
    "# Log\n\n## 2.6\n\n### Editor\n\n- Search is fast.\n- Minor fixes.\n\n## 2.5-rc1\n\n- Menus are short."
    "\n- Minor fixes.\n\n## [Unreleased]\n\n- Icons are blue.\n\n## 2.4\n\n- Fonts are big.\n\n"
    "# License\n\nAll is reserved by the makers."
)
PLAIN = "Version 2.6\n\n- Search is fast.\n\nFixed\n\n- Menus are short.\n\nInstallation\n\n- Run setup as root."


@pytest.mark.parametrize(("text", "title", "expected"), [
    (HEADED, "Changelog", {
        "Search is fast.": "2.6", "Minor fixes.": "", "Menus are short.": "2.5-rc1", "Icons are blue.": "",
        "Fonts are big.": "2.4", "All is reserved by the makers.": "",
    }),
    (PLAIN, "Gull", {"Search is fast.": "Version 2.6", "Menus are short.": "Version 2.6", "Run setup as root.": ""}),
])  # fmt: skip
def test_a_text_is_of_the_one_version_whose_heading_it_is_below(
    text: str, title: str, expected: dict[str, str]
) -> None:
    cited = Citation(1, passage(text, title=title), text)
    assert {each: version_above(cited, each, each) for each in expected} == expected


def test_a_quote_of_two_versions_is_named_by_none() -> None:
    cited = Citation(1, passage(HEADED, title="Changelog"), HEADED)
    assert not version_above(cited, "Search is fast.", "Search is fast. Menus are short.")


@pytest.mark.parametrize(("title", "table", "expected"), [
    ("Price changes", "| Drink | Price |\n|---|---|\n| Coffee | 2.50 |\n| Tea | 1.80 |", []),
    ("Updates of prices", "| Price | Drink |\n|---|---|\n| 2.50 | Coffee |\n| 1.80 | Tea |", []),
    ("History", "| Point | Depth |\n|---|---|\n| 1 | 12.5 m |\n| 2 | 13.25 |", []),
    ("Hosts, changes", "| Address | Host |\n|---|---|\n| 10.0.0.1 | gull |\n| 10.0.0.2 | tern |", []),
    ("Devices", "| Device | Version |\n|---|---|\n| Pump | 2.5 |\n| Crane | 2.6 |", []),
    ("Rules", "| Date | Rev. | Change |\n|---|---|---|\n| 2 May 2024 | 1.0 | First |\n| 3 May 2025 | 2 | Second |",
     [(1, 0), (2,)]),
    ("規則", "| 版 | 内容 |\n|---|---|\n| 1.0 | 初版 |\n| 1.1 | 上限の変更 |", [(1, 0), (1, 1)]),
    ("지침", "| 버전 | 내용 |\n|---|---|\n| 1.0 | 첫 판 |\n| v1.1 | 한도 변경 |", [(1, 0), (1, 1)]),
])  # fmt: skip
def test_rows_are_of_versions_where_their_column_is_named_so(
    title: str, table: str, expected: list[tuple[int, ...]]
) -> None:
    told = told_of_versions(Citation(1, passage(table, title=title), table))
    assert [version.numbers for version, _, _ in told] == expected


def test_days_of_a_question_may_lack_their_year() -> None:
    assert days_in("since June, or 9月以降, or 2026년 3월 2일") == [(0, 6), (0, 9), (2026, 3, 2)]
