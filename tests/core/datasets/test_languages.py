"""In which languages datasets are: of a text, and of a dataset as it changes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from braid.core.datasets.languages import DatasetLanguages
from braid.core.ledger.ledger import Ledger
from braid.core.text.scripts import text_language
from braid.core.types import ChunkInput, DocumentInput
from tests.databases import on_both_databases

TEXTS = {
    "en": "We agreed to keep the search as it is.",
    "ja": "検索はしばらくそのままにする。",
    "ko": "검색은 당분간 그대로 두기로 했다.",
    "": "0.5 0.7\n12 13",
}


@pytest.mark.parametrize(
    ("text", "language"),
    [
        *((text, code) for code, text in TEXTS.items()),
        ("Wir haben beschlossen, dass die Suche so bleibt, wie sie ist.", "de"),
        ("総務部 定例会 議事録", "ja"),
        ("我们决定暂时保持混合搜索的排名融合方法不变，以后再讨论其他方案。", "zh"),
        ("def fuse(rankings): return sorted(rankings, key=score)", ""),
        ("Braid 검색 API: 하이브리드 검색을 호출합니다", "ko"),
        ("", ""),
    ],
)
def test_the_language_of_a_text(text: str, language: str) -> None:
    assert text_language(text) == language


def put(ledger: Ledger, dataset_id: int, languages: Sequence[str]) -> None:
    for number, language in enumerate(languages):
        document = DocumentInput(f"{number}{language}.md", "T", "md", (ChunkInput(TEXTS[language]),))
        ledger.put_document(dataset_id, document)


@on_both_databases
def test_a_document_that_is_translated_in_part_has_the_language_of_most_of_it(ledger: Ledger) -> None:
    ann = ledger.add_user("ann").id
    manual = ledger.add_dataset(ann, "manual").id
    for number, middle in enumerate(("en", "")):
        parts = ("en", *["ja"] * 4, *[middle] * 2, *["ja"] * 5)
        chunks = tuple(ChunkInput(TEXTS[code]) for code in parts)
        ledger.put_document(manual, DocumentInput(f"{number}.md", "T", "md", chunks))
    assert languages_of(DatasetLanguages(ledger), ledger, ann) == {"manual": ("ja",)}


def languages_of(found: DatasetLanguages, ledger: Ledger, user_id: int) -> dict[str, tuple[str, ...]]:
    datasets = ledger.datasets(user_id)
    languages = found.of(datasets)
    return {dataset.name: languages[dataset.id] for dataset in datasets if dataset.id in languages}


@on_both_databases
def test_each_dataset_has_its_own_the_most_frequent_first(ledger: Ledger) -> None:
    ann = ledger.add_user("ann").id
    notes, tables = (ledger.add_dataset(ann, name).id for name in ("notes", "tables"))
    ledger.add_dataset(ann, "empty")
    put(ledger, notes, ["ko", "ja", "ja", "en", "en", "en"])
    put(ledger, tables, ["", "", "en"])
    assert languages_of(DatasetLanguages(ledger), ledger, ann) == {"notes": ("en", "ja", "ko"), "tables": ("en", "")}


def test_what_is_rare_is_not_named(ledger: Ledger) -> None:
    ann = ledger.add_user("ann").id
    put(ledger, ledger.add_dataset(ann, "notes").id, ["en"] * 30 + ["ja"])
    assert languages_of(DatasetLanguages(ledger), ledger, ann) == {"notes": ("en",)}


def test_a_change_is_seen_and_nothing_is_read_without_one(ledger: Ledger) -> None:
    ann = ledger.add_user("ann").id
    notes = ledger.add_dataset(ann, "notes").id
    found = DatasetLanguages(ledger, again_s=0.0)
    put(ledger, notes, ["en"])
    assert languages_of(found, ledger, ann) == {"notes": ("en",)}
    before = found._seen[notes].at
    assert languages_of(found, ledger, ann) == {"notes": ("en",)}
    assert found._seen[notes].at == before
    put(ledger, notes, ["ja", "ja"])
    assert languages_of(found, ledger, ann) == {"notes": ("ja", "en")}


def test_of_many_datasets_only_those_are_read_again_whose_counts_changed(
    ledger: Ledger,
) -> None:
    ann = ledger.add_user("ann").id
    ids = [ledger.add_dataset(ann, name).id for name in ("one", "two", "three")]
    for dataset_id in ids:
        put(ledger, dataset_id, ["en"])
    found = DatasetLanguages(ledger, again_s=0.0, few=2)
    languages_of(found, ledger, ann)
    before = {dataset_id: found._seen[dataset_id].at for dataset_id in ids}
    put(ledger, ids[0], ["ja", "ja"])
    assert languages_of(found, ledger, ann) == {"one": ("ja", "en"), "two": ("en",), "three": ("en",)}
    assert [found._seen[dataset_id].at == before[dataset_id] for dataset_id in ids] == [False, True, True]


@on_both_databases
def test_of_many_documents_a_sample_is_read(ledger: Ledger) -> None:
    ann = ledger.add_user("ann").id
    dataset = ledger.add_dataset(ann, "notes")
    put(ledger, dataset.id, ["en"] * 60)
    [stored] = ledger.datasets(ann)
    assert 4 <= len(DatasetLanguages(ledger)._sample(stored, 10)) <= 20


def test_a_language_is_told_by_the_middle_of_a_document(ledger: Ledger) -> None:
    notes = ledger.add_dataset(ledger.add_user("ann").id, "notes").id
    chunks = tuple(map(ChunkInput, ("index | next", "1 2 3", TEXTS["en"], "A B C", "1 2 3")))
    ledger.put_document(notes, DocumentInput("a.html", "A", "html", chunks))
    assert DatasetLanguages(ledger).counts(ledger.dataset(notes)) == {"en": 1}


def test_single_letters_are_no_words_of_a_language() -> None:
    assert text_language("a s t d l j n c m a s t d l j n") == ""
