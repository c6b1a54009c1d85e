"""Filters of a search, against brute force: whatever way a filter takes, the same passages are found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import pytest

from braid.core.braid import Braid
from braid.core.indexes import bm25
from braid.core.ledger.change_log import ChangeLog
from braid.core.search import filter_plan
from braid.core.types import Filters, Mode, SearchResult
from tests.fakes import HashEmbeddings
from tests.worlds import ByHand, catch_up, document

COMMON, RARE = "common words of many passages", "seldom seen marvel"


@dataclass(frozen=True)
class Library:
    """200 documents of one passage in a big dataset, a few in a small one, all in one collection."""

    braid: Braid
    embeddings: HashEmbeddings
    big: int
    small: int

    def selected(self, filters: Filters, *dataset_ids: int) -> dict[str, str]:
        """Chunk id → what is indexed of it, for all that the filters select; read from the ledger."""
        log = ChangeLog(self.braid.ledger.database)
        indexed = {c.id: c.text for batch in log.all_chunks("user_1", 1000) for c in batch}
        return {key: indexed[key] for key in self.braid.ledger.passages(list(indexed), dataset_ids, filters)}

    def cosines(self, query: str, texts: dict[str, str]) -> dict[str, float]:
        vectors = np.array(self.embeddings.embed_documents(list(texts.values())) or np.zeros((0, 64)))
        asked = np.array(self.embeddings.embed_query(query))
        lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(asked)
        return dict(zip(texts, (vectors @ asked / lengths).tolist(), strict=True))

    def search(self, query: str, filters: Filters, *dataset_ids: int, **options: Any) -> SearchResult:
        return self.braid.manager.search(query, user_id=1, dataset_ids=dataset_ids, filters=filters, **options)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    embeddings = HashEmbeddings()
    with ByHand(tmp_path_factory.mktemp("library"), embedding_model=embeddings) as braid:
        user = braid.ledger.add_user("ann").id
        big, small = (braid.ledger.add_dataset(user, name).id for name in ("big", "small"))
        documents = []
        for n in range(200):
            kind = RARE if n % 4 == 3 else COMMON
            file_type = "pdf" if n < 2 else "txt" if n % 4 == 3 else "md"
            source = f"{'even' if n % 2 == 0 else 'odd'}/{n:03}"
            text = f"{kind} {' '.join(['more'] * (n % 5))} number n{n}"
            documents.append(document(source, text, file_type=file_type, date=float(n)))
        braid.ledger.put_documents(big, documents)
        braid.ledger.put_document(small, document("few", f"{COMMON} in the small one", RARE))
        catch_up(braid)
        yield Library(braid, embeddings, big, small)


FILTERS = {
    "none": Filters(),
    "narrow": Filters(frozenset({"pdf"})),
    "a quarter": Filters(frozenset({"txt"})),
    "half": Filters(source_prefix="odd/"),
    "wide": Filters(date_from=5.0),
    "everything": Filters(date_from=0.0, date_to=1e9),
    "one": Filters(date_from=101.0, date_to=101.0),
    "nothing": Filters(source_prefix="no such folder"),
    "two of them": Filters(frozenset({"txt"}), "odd/", 50.0, 60.0),
}

# Constants of braid.core.search.filter_plan and of braid.core.indexes.bm25: the largest collections' cases come up with
# 200 passages.
LIMITS = {
    "as shipped": {},
    "too many documents to name": {"MAX_FILTER_DOCUMENTS": 3},
    "and few may be fetched": {"MAX_FILTER_DOCUMENTS": 3, "MAX_FETCH": 60},
    "too many for terms": {"MAX_DOCUMENT_TERMS": 3},
    "and no hit may be read in vain": {"MAX_DOCUMENT_TERMS": 3, "READ_AHEAD": 0.01},
    "and hardly any is read": {"MAX_DOCUMENT_TERMS": 3, "MAX_READ": 20},
    "every filter is narrow": {"NARROW_SHARE": 2.0},
    "no filter is narrow": {"NARROW_SHARE": 0.0},
}


@pytest.mark.parametrize("limits", LIMITS.values(), ids=LIMITS.keys())
@pytest.mark.parametrize("filters", FILTERS.values(), ids=FILTERS.keys())
def test_filters_agree_with_brute_force(
    library: Library, monkeypatch: pytest.MonkeyPatch, filters: Filters, limits: dict[str, float]
) -> None:
    """The query is near to what half of the filters leave out."""
    for name, value in limits.items():
        monkeypatch.setattr(filter_plan if hasattr(filter_plan, name) else bm25, name, value)
    query = COMMON
    for datasets in ([library.big], [library.small], [library.big, library.small]):
        selected = library.selected(filters, *datasets)
        cosines = library.cosines(query, selected)
        semantic = library.search(query, filters, *datasets, mode="semantic", k=20)
        best = sorted(cosines.values(), reverse=True)[:20]
        assert [hit.score for hit in semantic.hits] == pytest.approx(best, abs=1e-4)
        assert {hit.passage.chunk_id for hit in semantic.hits} <= selected.keys()
        for hit in semantic.hits:
            assert hit.score == pytest.approx(cosines[hit.passage.chunk_id], abs=1e-4)

        unfiltered = library.search(query, Filters(), library.big, library.small, mode="keyword", k=1000)
        expected = [hit.score for hit in unfiltered.hits if hit.passage.chunk_id in selected][:20]
        keyword = library.search(query, filters, *datasets, mode="keyword", k=20)
        assert [hit.score for hit in keyword.hits] == pytest.approx(expected, rel=1e-4)
        assert {hit.passage.chunk_id for hit in keyword.hits} <= selected.keys()

        hybrid = library.search(query, filters, *datasets, k=20)
        assert {hit.passage.chunk_id for hit in hybrid.hits} <= selected.keys()
        assert len(hybrid.hits) == min(20, len(selected))
        assert (semantic.degraded, keyword.degraded, hybrid.degraded) == ((), (), ())


def test_formats_are_named_in_capitals_and_with_a_dot_too(library: Library) -> None:
    def sources(file_type: str) -> set[str]:
        found = library.search("number", Filters(file_types=frozenset({file_type})), library.big, k=5)
        return {hit.passage.source for hit in found.hits}

    assert sources("pdf") == sources("PDF") == sources(".pdf") == sources(".Pdf") == {"even/000", "odd/001"}
    assert sources("pd") == set()


@pytest.mark.parametrize("mode", get_args(Mode))
def test_langchains_classes_filter_too(library: Library, mode: Mode) -> None:
    filters = FILTERS["two of them"]
    result = library.search(RARE, filters, library.big, mode=mode, engine="langchain", k=20)
    assert {hit.passage.chunk_id for hit in result.hits} == library.selected(filters, library.big).keys()
