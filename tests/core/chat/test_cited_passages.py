"""What a user may no longer read is in no stored answer, whatever reads it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from braid.core.chat.citations import Citation, Featured
from braid.core.chat.export import as_json, as_markdown
from braid.core.chat.feedback import AnswerThumbs
from braid.core.chat.marks import mark, shown
from braid.core.chat.store import ConversationStore
from braid.core.chat.support.findings import Finding, Support
from braid.core.chat.tables.calculate import Calculation, UsedRows
from braid.core.chat.texts import say
from braid.core.chat.turns.cited_passages import withheld_text
from braid.core.chat.types import ChatRequest, ChatResult
from braid.core.datasets.registry import Registry
from braid.core.ledger.ledger import Ledger
from braid.core.types import ChunkInput, Degraded, DocumentInput, Query, SearchResult
from tests.databases import on_both_databases

SECRET = "The salary of the director is 240,000 EUR."


@pytest.fixture
def registry(ledger: Ledger, tmp_path: Path) -> Registry:
    return Registry(tmp_path / "shared_dbs.json", retired_ids=ledger.retired_shared_ids)


class Talk:
    """Ann asks about a shared dataset of her group and one of her own; then her group may not read the shared one."""

    def __init__(self, ledger: Ledger, registry: Registry) -> None:
        self.store = ConversationStore(ledger, registry)
        self.ann = ledger.add_user("ann", ["hr"]).id
        own = ledger.add_dataset(self.ann, "notes").id
        self._registry = registry
        self.entry = registry.add("HR", "shared_hr", allowed_groups=("hr",))
        ledger.register_shared(self.entry.id, self.entry.name, self.entry.collection_name)
        cited = []
        for number, (dataset, source, text) in enumerate(
            ((self.entry.id, "salaries.md", SECRET), (own, "notes.md", "It is sunny.")), start=1
        ):
            put = ledger.put_document(dataset, DocumentInput(source, f"Title of {source}", "md", (ChunkInput(text),)))
            (passage,) = ledger.document_passages(put.document_id, [dataset])
            cited.append(Citation(number, passage, text))
        self.cited = tuple(cited)
        search = SearchResult(Query("q"), "basic", "none", (f"query {SECRET}",), (), ())
        said, marks = shown(f"- {SECRET} {mark(1)}\n- It says [1] in the table {mark(2)}.\n\nIt is sunny {mark(2)}.")
        self.conversation = self.store.create(self.ann, "Pay").id
        self.store.add(self.conversation, ChatRequest(self.ann, "What does the director earn?"), ChatResult(
            "q", "q", "none", search, said, "extractive", True, self.cited, marks=marks,
            support=(Support(0, 9, "differs", (1,), (), (Finding("number", 2, 5, "The", 1, 0, 42, SECRET),)),),
            featured=Featured(SECRET, 0, len(SECRET), 1), also=(Featured(SECRET, 0, len(SECRET), 1),),
            calculation=Calculation("pay", 1, "SELECT 1", ("a",), ((SECRET,),), UsedRows(1, ("a",), ((SECRET,),))),
        ))  # fmt: skip

    def surfaces(self) -> dict[str, str]:
        messages = self.store.messages(self.ann, self.conversation)
        stored = self.store.conversation(self.ann, self.conversation)
        return {
            "messages": repr(messages),
            "variants": repr(self.store.messages(self.ann, self.conversation, ids=[messages[1].id])),
            "markdown": "".join(as_markdown(stored, messages)),
            "json": "".join(as_json(stored, messages)),
            "history": repr(self.store.history(self.ann, self.conversation)),
            "search": repr(self.store.find(self.ann, "salary director", limit=5)),
        }

    def regroup(self, *groups: str) -> None:
        self._registry.update(self.entry.id, allowed_groups=groups)


@on_both_databases
def test_what_may_no_longer_be_read_is_nowhere_and_comes_back_with_the_right(
    ledger: Ledger, registry: Registry
) -> None:
    talk = Talk(ledger, registry)
    assert all("salary of the director" in text for text in talk.surfaces().values())
    talk.regroup("board")
    for name, text in talk.surfaces().items():
        assert "240,000" not in text, name
        assert "salary" not in text, name
        assert "salaries.md" not in text, name
    answer = talk.store.messages(talk.ann, talk.conversation)[1]
    assert [each.fate for each in answer.citations] == ["withheld", "current"]
    assert answer.text.endswith("\n\nIt is sunny [2].")
    assert answer.marked_text.count("[2]") == 0, "its citation is still one"
    assert "It says [1] in the table" in answer.text, "a number in brackets that cites nothing"
    talk.regroup("hr")
    assert all("salary of the director" in text for text in talk.surfaces().values())


def test_a_shared_dataset_that_is_removed_may_be_read_by_nobody(ledger: Ledger, registry: Registry) -> None:
    talk = Talk(ledger, registry)
    registry.remove(talk.entry.id)
    ledger.remove_dataset(talk.entry.id)
    assert all("240,000" not in text for text in talk.surfaces().values())


def related(talk: Talk) -> None:
    """Ann asks what is not found, and is shown the closest passages."""
    search = SearchResult(Query("q"), "basic", "none", ("q",), (), ())
    said, marks = shown(f"{say('related', 'en')}\n\n- {SECRET} {mark(1)}\n- It is sunny {mark(2)}")
    answer = ChatResult("q", "q", "none", search, said, "extractive", False, talk.cited, marks=marks)
    talk.store.add(talk.conversation, ChatRequest(talk.ann, "Who pays the director?"), answer)


def test_passages_that_are_only_close_are_withheld_like_those_that_answer(ledger: Ledger, registry: Registry) -> None:
    talk = Talk(ledger, registry)
    related(talk)
    assert "240,000" in talk.store.messages(talk.ann, talk.conversation)[3].text
    talk.regroup("board")
    for name, text in talk.surfaces().items():
        assert "240,000" not in text, name
    assert talk.store.messages(talk.ann, talk.conversation)[3].text.endswith("\n- It is sunny [2]")


def test_that_nothing_was_found_is_still_said_when_a_right_is_lost(ledger: Ledger, registry: Registry) -> None:
    talk = Talk(ledger, registry)
    search = SearchResult(Query("q"), "basic", "none", ("q",), (), ())
    said = say("not_found", "en")
    answer = ChatResult("q", "q", "openai:m", search, said, "openai:m", False, ())
    talk.store.add(talk.conversation, ChatRequest(talk.ann, "And the weather on Mars?"), answer)
    talk.regroup("board")
    assert talk.store.messages(talk.ann, talk.conversation)[3].text == said


def test_a_reader_of_a_link_sees_and_copies_nothing_that_only_its_owner_may_read(
    ledger: Ledger, registry: Registry
) -> None:
    talk = Talk(ledger, registry)
    related(talk)
    ben = ledger.add_user("ben").id
    shared = talk.store.links.find(talk.store.links.share(talk.ann, talk.conversation))
    read = talk.store.messages(talk.ann, talk.conversation, reader_id=ben, language="en")
    copied = talk.store.messages(ben, talk.store.copy(ben, shared).id)
    for messages in (read, copied):
        assert len(messages) == 4
        assert "240,000" not in repr(messages)
        assert "sunny" not in repr(messages)


def test_a_reader_of_a_link_is_not_told_what_was_searched_and_not_how_its_owner_rated_it(
    ledger: Ledger, registry: Registry
) -> None:
    talk = Talk(ledger, registry)
    ben = ledger.add_user("ben").id
    public = registry.add("Public", "shared_public")
    ledger.register_shared(public.id, public.name, public.collection_name)
    search = SearchResult(
        Query("q"), "basic", "none", ("q", "payroll form"), (), ("shared_public", "shared_payroll"),
        unresolved_dataset_ids=(talk.entry.id,), did_you_mean="payroll word",
    )  # fmt: skip
    answer = ChatResult(
        "q", "q", "none", search, "Nothing.", "extractive", True, (),
        degraded=(Degraded("dense", "shared_payroll", "slow"),), notes=("payroll note",),
    )  # fmt: skip
    request = ChatRequest(talk.ann, "Which?", dataset_ids=[public.id, talk.entry.id])
    turn = talk.store.add(talk.store.create(talk.ann).id, request, answer)
    AnswerThumbs(ledger).put(
        talk.ann, turn.conversation_id, turn.answer_id, "down", fault="wrong", comment="payroll comment"
    )
    shared = talk.store.links.find(talk.store.links.share(talk.ann, turn.conversation_id))
    assert "payroll" in repr(talk.store.messages(talk.ann, turn.conversation_id))
    read = talk.store.messages(talk.ann, turn.conversation_id, reader_id=ben)
    copied = talk.store.copy(ben, shared)
    stored = talk.store.messages(ben, copied.id)
    for messages in (read, stored):
        assert "payroll" not in repr(messages)
        assert messages[0].settings["dataset_ids"] == [public.id]
        assert messages[1].text == "Nothing."
        assert not messages[1].thumb
    assert "payroll" not in "".join(as_json(copied, stored))


def test_what_is_left_out_is_said_in_the_language_of_the_question() -> None:
    quoted = "給与は高い [1]。"
    assert withheld_text(quoted, None, {1}, "How much is it?")[0].startswith("[Left out")
    assert withheld_text("It costs 5 EUR [1].", None, {1}, "얼마인가요?")[0].startswith("[생략")
    assert withheld_text(quoted, None, {1})[0].startswith("[省略")


def test_lines_that_cite_what_is_withheld_are_replaced_once() -> None:
    text, marks = withheld_text("給与は高い [1]。\n役員も [1]。\n\n晴れ [2]。", None, {1})
    assert text == "[省略：ここで引用されている文書を読む権限がなくなりました。]\n\n晴れ [2]。"
    assert [text[place : place + 3] for place in marks] == ["[2]"]


def later(talk: Talk, *, generator: str, query_generator: str) -> None:
    """Ann asks once more, about a dataset of her own: what the model wrote has words of the first answer."""
    (own,) = {each.dataset_id for each in talk.store.messages(talk.ann, talk.conversation)[1].citations} - {
        talk.entry.id
    }
    question = f"Is {SECRET} much?"
    search = SearchResult(Query(question), "basic", "none", (question,), (), ())
    said, marks = shown(f"Yes, {SECRET}\nIt is sunny {mark(1)}.")
    cited = tuple(replace(each, number=1) for each in talk.cited if each.passage.dataset_id == own)
    talk.store.add(
        talk.conversation,
        ChatRequest(talk.ann, "Is that much?", dataset_ids=[own]),
        ChatResult(question, question, query_generator, search, said, generator, True, cited, marks=marks),
    )


@pytest.mark.parametrize(("generator", "query_generator"), [("openai:m", "openai:m"), ("openai:m", "feedback")])
def test_what_a_model_wrote_after_it_had_read_what_is_withheld_is_withheld_too(
    ledger: Ledger, registry: Registry, generator: str, query_generator: str
) -> None:
    talk = Talk(ledger, registry)
    for _ in range(2):  # of which the second one follows an answer that repeats it
        later(talk, generator=generator, query_generator=query_generator)
    assert repr(talk.surfaces()["json"]).count("240,000") > 9
    talk.regroup("board")
    for name, text in talk.surfaces().items():
        assert "240,000" not in text, name
    answers = talk.store.messages(talk.ann, talk.conversation)[3::2]
    assert len(answers) == 2
    for answer in answers:
        assert answer.text.endswith("\nIt is sunny [1].")
        assert "240,000" not in repr(talk.store.messages(talk.ann, talk.conversation, ids=[answer.id]))
    talk.regroup("hr")
    assert repr(talk.surfaces()["json"]).count("240,000") > 9


def test_what_a_model_wrote_stays_withheld_when_the_dataset_that_it_had_read_is_deleted(
    ledger: Ledger, registry: Registry
) -> None:
    talk = Talk(ledger, registry)
    later(talk, generator="openai:m", query_generator="openai:m")
    registry.remove(talk.entry.id)
    ledger.remove_dataset(talk.entry.id)
    for name, text in talk.surfaces().items():
        assert "240,000" not in text, name


def test_an_answer_that_no_model_had_a_part_in_stays_when_an_earlier_one_is_withheld(
    ledger: Ledger, registry: Registry
) -> None:
    talk = Talk(ledger, registry)
    later(talk, generator="extractive", query_generator="feedback")
    before = talk.store.messages(talk.ann, talk.conversation)[3]
    talk.regroup("board")
    assert talk.store.messages(talk.ann, talk.conversation)[3] == before
