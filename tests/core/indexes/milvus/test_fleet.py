"""Several members over one PostgreSQL and one Milvus: who indexes what, and what each of them says of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from braid.app.metrics import Gauges
from braid.app.readiness import health_of
from braid.core.braid import Braid, IndexOptions
from braid.core.errors import EmbeddingError, IndexUnavailableError, InvalidInputError
from braid.core.indexes.fleet.claimed import INDEX, ClaimedIndex, ClaimedLog, ClaimLostError
from braid.core.indexes.fleet.follower import FleetFollower
from braid.core.indexes.fleet.indexer import FleetIndexer
from braid.core.indexes.follower import IndexFollower
from braid.core.indexes.leg_progress import LegProgress
from braid.core.ledger.change_log import IndexState
from braid.core.ledger.member import Living, Member
from braid.core.workers.fleet import Fleet
from tests.fakes import HashEmbeddings
from tests.milvus_server import MilvusLite
from tests.worlds import WAIT_S, document, eventually

LEASE_S = 1.5
NEVER_S = 600.0
SOON_S = 0.1

Open = Callable[..., Braid]


@pytest.fixture
def open_member(
    tmp_path: Path, new_postgres_url: Callable[[], str], in_milvus: IndexOptions, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Open]:
    """Opens one more member of the same fleet. They look for work only when they are woken, and what has failed is
    tried again soon.
    """
    monkeypatch.setattr("braid.core.workers.fleet.LEASE_S", LEASE_S)
    monkeypatch.setattr("braid.core.indexes.fleet.indexer.SLOW_POLL_S", NEVER_S)
    monkeypatch.setattr("braid.core.indexes.reader.KEPT_S", SOON_S)
    monkeypatch.setattr("braid.core.indexes.retries.FIRST_RETRY_S", SOON_S)
    monkeypatch.setattr("braid.core.indexes.follower.OUTAGE_RETRY_S", 4 * SOON_S)
    url = new_postgres_url()
    with ExitStack() as opened:

        def open_one(*, work: bool = True, model: HashEmbeddings | None = None) -> Braid:
            model = model or HashEmbeddings()
            braid = Braid(tmp_path, database_url=url, embedding_model=model, index_options=in_milvus, work=work)
            return opened.enter_context(braid)

        yield open_one


def fleet_of(braid: Braid) -> Fleet:
    assert isinstance(braid._roles, Fleet)
    return braid._roles


def follows(braid: Braid) -> set[str]:
    return set(fleet_of(braid).member.held(INDEX))


def _claimed(follower: IndexFollower) -> ClaimedLog:
    assert isinstance(follower, FleetFollower)
    return follower._claimed


def cut_off(braid: Braid) -> None:
    """Its heartbeat stops, as when it is suspended or the network is away; it does not know."""
    fleet_of(braid)._stop_beating()


def new_dataset(braid: Braid, name: str = "ann") -> int:
    user = braid.ledger.add_user(name)
    return braid.ledger.add_dataset(user.id, "notes").id


def told(braid: Braid) -> list[tuple[str, str, int]]:
    return [(part.leg, part.state, part.pending) for part in braid.indexer.progress()]


def metric(gauges: Gauges, name: str, **labels: str) -> float:
    [value] = [
        sample.value
        for family in gauges.collect()
        for sample in family.samples
        if (sample.name, sample.labels) == (name, labels)
    ]
    return value


def sources(braid: Braid, text: str, user_id: int = 1) -> set[str]:
    found = braid.search(text, user_id=user_id, mode="keyword")
    assert found.degraded == ()
    return {hit.passage.source for hit in found.hits}


def test_one_that_only_serves_shows_and_finds_what_another_indexes(open_member: Open) -> None:
    serving = open_member(work=False)
    assert (serving.is_member, serving.is_owner) == (True, False)
    assert serving.living() == Living(1, 0)
    assert "start a worker" in health_of(serving).parts["owner"].reason
    assert health_of(serving).status == 200, "what is indexed can be searched"
    dataset = new_dataset(serving)
    serving.ledger.put_document(dataset, document("pump", "the pump runs at 12 bar"))
    assert not serving.indexer.wait(0.1), "nobody indexes"
    assert [part.pending for part in serving.indexer.states([("bm25", "user_1")])] == [1]
    assert "not in the" in serving.search("pump", user_id=1).degraded[0].reason
    gauges = Gauges(serving, min_free_mb=0, embedding_model="")
    assert (metric(gauges, "braid_members", works="yes"), metric(gauges, "braid_members", works="no")) == (0, 1)
    assert all(metric(gauges, "braid_oldest_change_seconds", leg=leg) > 0 for leg in ("bm25", "dense"))

    working = open_member()
    assert serving.indexer.wait(WAIT_S)
    working.registry.add("Handbook", "shared_main", allowed_groups=["board"])
    assert [entry.allowed_groups for entry in serving.registry.entries()] == [("board",)]
    assert not working.registry.is_file
    assert not working.registry.path.exists()

    assert serving.living() == Living(2, 1)
    assert metric(gauges, "braid_members", works="yes") == 1
    assert [metric(gauges, "braid_oldest_change_seconds", leg=leg) for leg in ("bm25", "dense")] == [0, 0]
    assert health_of(serving).parts["owner"].state == "ok"
    for braid in (serving, working):
        assert sources(braid, "pump") == {"pump"}
        assert {part.hits[0].passage.source for part in [braid.search("pump", user_id=1, mode="semantic")]} == {"pump"}
        eventually(
            lambda braid=braid: told(braid) == [("bm25", "ready", 0), ("dense", "ready", 0)]
        )  # kept for a second

    working.close()  # else it may have done it before it is looked at
    serving.indexer.rebuild("bm25", "user_1")
    assert serving.indexer.states([("bm25", "user_1")])[0].state == "rebuilding"
    open_member()
    assert serving.indexer.wait(WAIT_S)
    assert sources(serving, "pump") == {"pump"}


def test_the_collections_are_shared_and_given_back(
    open_member: Open, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "braid")
    slow = HashEmbeddings(delay_s=0.01)
    first, second = open_member(model=slow), open_member(model=slow)
    datasets = [new_dataset(first, f"user {number}") for number in range(6)]
    for dataset in datasets:
        texts = [f"passage {number} of {dataset}" for number in range(30)]
        first.ledger.put_document(dataset, document("book", *texts))
    held: list[tuple[int, int]] = []

    def both_have_some() -> bool:
        mine, yours = follows(first), follows(second)
        assert not mine & yours, "a collection is one member's"
        held.append((len(mine), len(yours)))
        return len(mine) >= 2 and len(yours) >= 2

    eventually(both_have_some)
    assert first.indexer.wait(WAIT_S)
    assert second.indexer.wait(WAIT_S)
    assert first.dense.count("user_1") == 30
    assert not [each.getMessage() for each in caplog.records if each.levelname == "ERROR"]
    assert "rebuilding" not in caplog.text, "new collections are followed from their beginning"
    monkeypatch.setattr("braid.core.indexes.fleet.indexer.IDLE_S", 0.0)
    first.indexer.wake()
    eventually(lambda: not follows(first) and not follows(second))


def test_another_takes_over_from_one_that_was_cut_off_which_comes_back_as_a_new_one(open_member: Open) -> None:
    first = open_member()
    dataset = new_dataset(first)
    first.ledger.put_document(dataset, document("pump", "the pump"))
    assert first.indexer.wait(WAIT_S)
    assert follows(first) == {"user_1"}
    before = fleet_of(first).member.name
    second = open_member()
    cut_off(first)
    eventually(lambda: not follows(first))
    first.ledger.put_document(dataset, document("tank", "the tank"))
    eventually(lambda: follows(second) == {"user_1"})

    assert second.indexer.wait(WAIT_S)
    assert sources(first, "tank") == {"tank"}
    assert not follows(first)
    fleet_of(first).beat()
    assert fleet_of(first).member.name != before
    assert second.living() == Living(2, 2)
    assert metric(Gauges(second, min_free_mb=0, embedding_model=""), "braid_members_died_total") == 1


def test_one_whose_heartbeat_was_late_goes_on(open_member: Open) -> None:
    """It was not declared dead: it is the only member."""
    braid = open_member()
    dataset = new_dataset(braid)
    braid.ledger.put_document(dataset, document("pump", "the pump"))
    assert braid.indexer.wait(WAIT_S)
    cut_off(braid)
    eventually(lambda: not follows(braid))
    braid.ledger.put_document(dataset, document("tank", "the tank"))
    eventually(lambda: not any(_claimed(each).following for each in braid.indexer.followers.values()))

    def is_done_with_heartbeats() -> bool:
        fleet_of(braid).beat()
        return all(part.pending == 0 for part in braid.indexer.states([("bm25", "user_1"), ("dense", "user_1")]))

    eventually(is_done_with_heartbeats)


def test_one_that_is_beaten_to_a_collection_takes_another(open_member: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two that look at the same time may want the same one, and another is left."""
    monkeypatch.setattr("braid.core.workers.fleet.LEASE_S", NEVER_S)
    serving = open_member(work=False)
    for name in ("ann", "ben"):
        serving.ledger.put_document(new_dataset(serving, name), document("pump", "the pump"))
    quicker = Member(serving.ledger.database)
    quicker.claim([INDEX + "user_1", INDEX + "user_2"])
    working = open_member()
    eventually(fleet_of(working).is_woken)
    claims, late = Member.claims, []

    def claims_a_moment_ago(self: Member) -> dict[str, str]:
        found = claims(self)
        if INDEX + "user_2" in found or late:
            return found
        late.append(self)
        return {}

    monkeypatch.setattr("random.sample", lambda names, count: sorted(names)[:count])
    monkeypatch.setattr(Member, "claims", claims_a_moment_ago)

    quicker.release([INDEX + "user_2"])

    eventually(lambda: follows(working) == {"user_2"})
    assert late == [fleet_of(working).member]


def test_one_that_closes_frees_its_collections_at_once(open_member: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = open_member(), open_member(work=False)
    dataset = new_dataset(first)
    first.ledger.put_document(dataset, document("pump", "the pump"))
    assert first.indexer.wait(WAIT_S)
    first.close()

    assert fleet_of(second).member.claims() == {}
    assert second.living() == Living(1, 0)
    assert sources(second, "pump") == {"pump"}, "it searches by itself"


def test_what_is_written_late_is_refused_and_set_right_by_the_next(open_member: Open) -> None:
    braid = open_member(work=False)
    dataset = new_dataset(braid)
    braid.ledger.put_document(dataset, document("pump", "the pump"))
    fleet = fleet_of(braid)
    fleet.member.claim([INDEX + "user_1"])
    log = ClaimedLog(braid.ledger.database, fleet.member)
    log.following["user_1"] = fleet.member.name
    index = ClaimedIndex(braid.bm25, log)
    [chunk] = log.chunks("user_1", sorted(log.chunk_ids("user_1")))
    head = log.heads()["user_1"]
    index.apply("user_1", [chunk], ())
    log.set_state("milvus_bm25", "user_1", IndexState("v", head, "ready"))

    fleet.member.release([INDEX + "user_1"])  # which the follower has not seen yet

    with pytest.raises(ClaimLostError):
        log.set_state("milvus_bm25", "user_1", IndexState("v", head + 5, "ready"))
    with pytest.raises(ClaimLostError):
        index.apply("user_1", (), [chunk.id])
    assert braid.bm25.count("user_1") == 1, "refused before it was written"

    fleet.member._held[INDEX + "user_1"] = fleet.member.name  # as one that was suspended in the middle believes
    with pytest.raises(ClaimLostError):
        index.apply("user_1", (), [chunk.id])
    assert braid.bm25.count("user_1") == 0
    log.following.clear()
    index.set_right()
    assert [change.chunk_id for change in log.after("user_1", head, 10)] == [chunk.id]
    del fleet.member._held[INDEX + "user_1"]

    working = open_member()
    assert working.indexer.wait(WAIT_S)
    assert sources(working, "pump") == {"pump"}


def test_what_cannot_be_indexed_is_told_to_all(open_member: Open, milvus: MilvusLite) -> None:
    model = HashEmbeddings()
    working, serving = open_member(model=model), open_member(work=False)
    dataset = new_dataset(working)
    model.failing = True
    working.ledger.put_document(dataset, document("pump", "the pump"))

    def says_why() -> bool:
        progress = serving.indexer.leg_progress("dense", "user_1", 1)
        return progress.pending == 1 and "the model server is down" in progress.error

    eventually(says_why)
    model.failing = False
    assert serving.indexer.wait(WAIT_S)
    milvus.stop()
    try:
        assert {part.leg for part in serving.search("pump", user_id=1).degraded} == {"bm25", "dense"}
        working.ledger.put_document(dataset, document("tank", "the tank"))
        eventually(lambda: any(part.state == "failed" for part in serving.indexer.progress()))
        assert health_of(serving).parts["indexes"].state == "impaired"
    finally:
        milvus.start()
    assert serving.indexer.wait(WAIT_S)
    assert sources(serving, "tank") == {"tank"}


def test_what_came_after_a_failure_is_said_to_be_missing(open_member: Open) -> None:
    braid = open_member(work=False)
    dataset = new_dataset(braid)
    braid.ledger.put_document(dataset, document("pump", "the pump"))
    fleet = fleet_of(braid)
    fleet.member.claim([INDEX + "user_1"])
    log = ClaimedLog(braid.ledger.database, fleet.member)
    log.following["user_1"] = fleet.member.name
    log.set_state("milvus_bm25", "user_1", IndexState(braid.bm25.version, log.heads()["user_1"], "ready"))
    failed = LegProgress("bm25", "user_1", "failed", error="the server did not answer")
    log.report("milvus_bm25", braid.bm25.version, failed)
    assert [part.pending for part in braid.indexer.states([("bm25", "user_1")])] == [0]

    braid.ledger.put_document(dataset, document("tank", "the tank"))

    [found] = braid.indexer.states([("bm25", "user_1")])
    assert (found.state, found.pending) == ("ready", 1), "the server may answer, and does not have it"
    assert found.shortfall


def at_rest(braid: Braid) -> ClaimedLog:
    """A collection with a document, both of whose indexes are said to be complete, claimed by nobody."""
    braid.ledger.put_document(new_dataset(braid), document("pump", "the pump"))
    member = fleet_of(braid).member
    member.claim([INDEX + "user_1"])
    log = ClaimedLog(braid.ledger.database, member)
    log.following["user_1"] = member.name
    versions = {"milvus_bm25": braid.bm25.version, "milvus_dense": braid.model_of("user_1").fingerprint}
    for name, version in versions.items():
        log.set_state(name, "user_1", IndexState(version, log.heads()["user_1"], "ready"))
    return log


def test_what_has_failed_is_tried_until_it_is_ready(open_member: Open) -> None:
    """Also where nothing is to be applied, and nobody's search asks for it."""
    braid = open_member(work=False)
    log = at_rest(braid)
    assert isinstance(braid.indexer, FleetIndexer)
    assert braid.indexer._sharing._with_work() == {}
    log.report("milvus_bm25", braid.bm25.version, LegProgress("bm25", "user_1", "failed", error="no answer"))
    assert braid.indexer._sharing._with_work() == {"user_1": False}
    log.report("milvus_bm25", braid.bm25.version, LegProgress("bm25", "user_1", "ready"))
    assert braid.indexer._sharing._with_work() == {}


def test_a_wish_that_cannot_be_fulfilled_is_told_and_holds_nobody_up(
    open_member: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    braid = open_member(work=False)
    log = at_rest(braid)
    log.want("milvus_dense", "user_1", "rebuild")
    follower = braid.indexer.followers["dense"]
    assert isinstance(follower, FleetFollower)

    def none(collection: str) -> str:
        raise EmbeddingError("there is no model nonesuch")

    monkeypatch.setattr(follower._source, "version", none)
    follower.work(threading.Event())
    assert log.wanted("milvus_dense") == []
    assert "no model nonesuch" in braid.indexer.leg_progress("dense", "user_1").error
    with pytest.raises(EmbeddingError, match="nonesuch"):
        braid.indexer.rebuild("dense", "user_1")


def test_an_index_that_cannot_be_deleted_says_nothing_of_others(
    open_member: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    braid = open_member(work=False)
    follower = braid.indexer.followers["bm25"]
    assert isinstance(follower, FleetFollower)
    follower._claimed.following |= at_rest(braid).following
    follower._board.report("user_1", "ready")

    def fail(collection: str) -> None:
        raise IndexUnavailableError("the server did not answer")

    monkeypatch.setattr(follower.index, "drop", fail)
    follower._store_is_broken = True
    with pytest.raises(IndexUnavailableError):
        follower._drop("user_2")
    assert [part.state for part in braid.indexer.progress()] == ["ready", "ready"]
    assert follower._board.state("user_1") == "ready"


def test_a_search_that_finds_nothing_left_has_it_made_again(open_member: Open, milvus: MilvusLite) -> None:
    working, serving = open_member(), open_member(work=False)
    assert isinstance(working.indexer, FleetIndexer)
    dataset = new_dataset(working)
    working.ledger.put_document(dataset, document("pump", "the pump"))
    assert serving.indexer.wait(WAIT_S)
    milvus.clear()

    assert {part.leg for part in serving.search("pump", user_id=1).degraded} == {"bm25", "dense"}

    eventually(lambda: not serving.search("pump", user_id=1).degraded)
    assert sources(serving, "pump") == {"pump"}


def test_where_nobody_else_would_work_one_has_to(tmp_path: Path, in_milvus: IndexOptions) -> None:
    with pytest.raises(InvalidInputError, match="nobody else would index"):
        Braid(tmp_path, embedding_model=HashEmbeddings(), index_options=in_milvus, work=False)
