"""A database of Milvus has the indexes of one site."""

from __future__ import annotations

from pathlib import Path

import pytest

from braid.core.braid import Braid, IndexOptions
from braid.core.errors import IndexUnavailableError, OtherSiteError
from braid.core.indexes.milvus.options import MilvusOptions
from braid.core.indexes.milvus.server import MilvusServer
from tests.fakes import HashEmbeddings
from tests.milvus_server import MilvusLite
from tests.worlds import add_notes, catch_up, document

WAIT_S = 60


def opened(path: Path, options: IndexOptions, **values: bool) -> Braid:
    return Braid(path, embedding_model=HashEmbeddings(), index_options=options, **values)  # type: ignore[arg-type]


def test_another_site_is_refused_and_its_ledger_deletes_nothing(
    tmp_path: Path, milvus: MilvusLite, in_milvus: IndexOptions
) -> None:
    with opened(tmp_path / "production", in_milvus) as production:
        dataset = add_notes(production.ledger)
        production.ledger.put_document(dataset, document("a.md", "The pump leaks."))
        catch_up(production)
        with pytest.raises(OtherSiteError, match="is new, but Milvus at "):
            opened(tmp_path / "staging", in_milvus)
        assert production.bm25.count("user_1") == production.dense.count("user_1") == 1
        with opened(tmp_path / "staging", in_milvus, new_site=True) as copy:
            assert len(copy.claim.site) == 32
        later = MilvusServer(MilvusOptions(milvus.url), production.claim)
        with pytest.raises(IndexUnavailableError, match="is of"), later.answering():
            pass


def test_indexes_without_an_id_are_those_of_who_had_them(
    tmp_path: Path, milvus: MilvusLite, in_milvus: IndexOptions
) -> None:
    with opened(tmp_path / "data", in_milvus) as production:
        dataset = add_notes(production.ledger)
        production.ledger.put_document(dataset, document("a.md", "The pump leaks."))
        catch_up(production)
        mark = f"braid_site_{production.claim.site}"
    server = MilvusServer(MilvusOptions(milvus.url))
    with server.answering() as client:
        client.drop_collection(mark)  # as an earlier version left them
    with pytest.raises(OtherSiteError, match="of a site already, with indexes"):
        opened(tmp_path / "new", in_milvus)
    opened(tmp_path / "data", in_milvus).close()
    with server.answering() as client:
        assert mark in client.list_collections()
