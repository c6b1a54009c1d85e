"""What the ledger tells of a scope's words: values of metadata and terms, bounded, on both databases."""

from __future__ import annotations

from braid.core.datasets.glossary import Glossaries
from braid.core.ledger.ledger import Ledger
from braid.core.search.question.vocabulary import MAX_VALUES_OF_KEY, Value, vocabulary_of
from braid.core.text.terms import Term
from tests.databases import on_both_databases
from tests.worlds import add_notes, document


@on_both_databases
def test_values_follow_the_ledger_and_are_those_of_the_datasets_named(ledger: Ledger) -> None:
    dataset = add_notes(ledger)
    other = ledger.add_dataset(1, "other").id
    facts = {"author": "Sato", "tags": ["urgent", "的"], "year": 2024, "page": "the"}
    ledger.put_document(dataset, document("a", "one", metadata=facts))
    ledger.put_document(other, document("b", "two", metadata={"author": "Kim"}))
    known = vocabulary_of(ledger.database, [dataset])
    assert known.values == {"sato": (Value("author", "text", "Sato"),), "urgent": (Value("tags", "item", "urgent"),)}
    assert known.keys["year"] == ("number",)
    assert set(vocabulary_of(ledger.database, [dataset, other]).values) == {"sato", "urgent", "kim"}
    ledger.remove_document(dataset, "a")
    assert vocabulary_of(ledger.database, [dataset]).values == {}


@on_both_databases
def test_a_key_with_many_values_is_known_by_its_first_ones(ledger: Ledger) -> None:
    dataset = add_notes(ledger)
    many = (document(f"{n}", f"text {n}", metadata={"code": f"code {n:04}"}) for n in range(MAX_VALUES_OF_KEY + 20))
    ledger.put_documents(dataset, many)
    known = vocabulary_of(ledger.database, [dataset]).values
    assert sorted(known) == [f"code {n:04}" for n in range(MAX_VALUES_OF_KEY)]


@on_both_databases
def test_terms_of_documents_and_glossaries_are_found_by_either_form(ledger: Ledger) -> None:
    dataset = add_notes(ledger)
    ledger.put_document(
        dataset, document("a", "The Service Level Agreement (SLA) and 就業規則（以下「規則」という。）.")
    )
    glossaries = Glossaries(ledger.database)
    glossaries.put(dataset, [Term("SLA", "Saint Louis Airport")])
    assert [(term.long, term.of_glossary) for term in ledger.terms([dataset], ["sla"])] == [
        ("Saint Louis Airport", True),
        ("Service Level Agreement", False),
    ]
    assert ledger.terms([dataset], ["就業"]) == [Term("規則", "就業規則")]
    assert ledger.terms([], ["sla"]) == ledger.terms([dataset], []) == []
    assert glossaries.terms(dataset) == [Term("SLA", "Saint Louis Airport")]
    assert set(glossaries.of_documents(dataset, limit=10)) == {
        Term("SLA", "Service Level Agreement"),
        Term("規則", "就業規則"),
    }
