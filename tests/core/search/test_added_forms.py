"""Abbreviations and their long forms: a query that has one is searched by the other, too, and only by keyword."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from braid.core.datasets.glossary import Glossaries, csv_of, terms_in_csv
from braid.core.errors import InvalidInputError
from braid.core.text.terms import Term
from braid.core.types import AddedForm
from tests.fakes import HashEmbeddings
from tests.worlds import ByHand, World, catch_up, document, shown

TEXTS = {
    "contract.md": ("The Service Level Agreement (SLA) is part of the contract.",),
    "times.md": ("By the service level agreement, an outage is answered within an hour.",),
    "short.md": ("The SLA of the backup is a day.",),
    "規程.md": ("在宅勤務手当支給規程（以下「手当規程」という。）を定める。",),
    "手当.md": ("在宅勤務手当支給規程により、月に五千円を支給する。",),
}


@pytest.fixture
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    embeddings = HashEmbeddings()
    with ByHand(tmp_path_factory.mktemp("forms"), embedding_model=embeddings) as braid:
        user = braid.ledger.add_user("ann").id
        ids = {name: braid.ledger.add_dataset(user, name).id for name in ("notes", "other")}
        for source, texts in TEXTS.items():
            braid.ledger.put_document(ids["notes"], document(source, *texts))
        braid.ledger.put_document(ids["other"], document("other.md", "The SLA is Saint Louis Airport."))
        catch_up(braid)
        yield World(braid, embeddings, user, ids)


def forms(world: World, text: str, *names: str, **options: str) -> list[tuple[str, str]]:
    found = world.search(text, *names, **options)
    return [(form.said, form.added) for form in found.added_forms]


def test_the_long_form_is_searched_for_the_short_one_and_the_other_way(world: World) -> None:
    assert forms(world, "SLA outage", "notes") == [("SLA", "Service Level Agreement")]
    found = world.search("SLA", "notes", mode="keyword", k=5)
    assert set(shown(found)) == {texts[0] for name, texts in TEXTS.items() if name.endswith(("t.md", "s.md"))}
    assert found.query.text == "SLA", "nothing is replaced"
    assert found.queries == ("SLA",)
    assert forms(world, "service level agreement of the backup", "notes") == [("Service Level Agreement", "SLA")]
    assert forms(world, "手当規程の金額", "notes") == [("手当規程", "在宅勤務手当支給規程")]
    assert "五千円" in "".join(shown(world.search("手当規程の金額", "notes", mode="keyword")))


def test_what_has_the_form_that_is_asked_for_comes_first(world: World) -> None:
    first, *_ = shown(world.search("SLA", "notes", mode="keyword"))
    assert "SLA" in first


def test_a_search_by_meaning_or_as_langchain_ranks_has_the_query_alone(world: World) -> None:
    assert forms(world, "SLA", "notes", mode="semantic") == []
    assert forms(world, "SLA", "notes", pooling="none") == []


def test_an_explanation_says_so(world: World) -> None:
    [hit] = world.search("outage answered within an hour", "notes", mode="keyword", k=1).hits
    found = world.braid.manager.explain(
        "SLA", chunk_id=hit.passage.chunk_id, user_id=world.user, dataset_ids=[world.ids["notes"]], mode="keyword"
    )
    assert found.found
    assert "For 'SLA', 'Service Level Agreement' was searched by keyword, too." in found.detail


def test_only_terms_of_the_datasets_that_are_searched_count(world: World) -> None:
    assert forms(world, "SLA", "other") == []
    glossaries = Glossaries(world.braid.ledger.database)
    glossaries.put(world.ids["other"], [Term("SLA", "Saint Louis Airport")])
    assert forms(world, "where is the SLA hall", "notes") == [("SLA", "Service Level Agreement")]
    assert forms(world, "where is the SLA hall", "other") == [("SLA", "Saint Louis Airport")]
    ben = world.braid.ledger.add_user("ben").id
    assert world.braid.manager.search("SLA", user_id=ben, dataset_ids=[world.ids["notes"]]).added_forms == ()


def test_terms_go_with_their_document_and_their_dataset(world: World) -> None:
    ledger, notes = world.braid.ledger, world.ids["notes"]
    ledger.put_document(notes, document("contract.md", "The contract has no such thing any more."))
    assert ledger.terms([notes], ["sla"]) == []
    ledger.put_document(notes, document("contract.md", *TEXTS["contract.md"]))
    assert ledger.terms([notes], ["sla"]) == [Term("SLA", "Service Level Agreement")]
    stored = ledger.document(notes, "contract.md")
    assert stored is not None
    ledger.remove_document(notes, "contract.md")
    assert ledger.terms([notes], ["sla"]) == []
    glossaries = Glossaries(ledger.database)
    glossaries.put(notes, [Term("SLA", "Service Level Agreement")])
    world.braid.remove_dataset(notes)
    assert glossaries.terms(notes) == []


# ---------------------------------------------------------------- glossaries


def test_a_glossary_is_written_and_read_as_csv(world: World) -> None:
    glossaries, notes = Glossaries(world.braid.ledger.database), world.ids["notes"]
    terms = [Term("経費", "経費精算規程"), Term("PTO", 'Paid "time" off, annual')]
    glossaries.put(notes, terms)
    text = csv_of(glossaries.terms(notes))
    assert text.splitlines()[0] == "short,long"
    assert sorted(terms_in_csv("\ufeff" + text), key=str) == sorted(terms, key=str)
    glossaries.add(notes, [Term(" PTO ", "Personal  time off"), terms[0]])
    assert glossaries.terms(notes)[:2] == [terms[1], Term("PTO", "Personal time off")]
    glossaries.remove(notes, terms[0])
    assert {term.short for term in glossaries.terms(notes)} == {"PTO"}
    assert AddedForm("PTO", "Personal time off") in world.search("PTO rules", "notes").added_forms


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "must name the columns"),
        ("word,meaning\nA,B", "must name the columns"),
        ("short,long\nSLA,", "line 2: the long form is empty"),
        ("short,long\nSLA,sla", "line 2: both forms are 'SLA'"),
        ('short,long\n"SLA,Service', "unexpected end"),
        (f"short,long\nA,{'b' * 101}", "101 characters"),
    ],
)
def test_a_wrong_file_is_named_by_its_line(text: str, told: str) -> None:
    with pytest.raises(InvalidInputError, match=told):
        terms_in_csv(text)
