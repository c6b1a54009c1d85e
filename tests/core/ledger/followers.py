"""Whoever follows the change log, from wherever, ends with what stands in the ledger: written and copied at random."""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from braid.core.ledger.change_log import ChangeLog, IndexedChunk
from braid.core.ledger.ledger import Ledger
from tests.core.ledger.contents import document

COLLECTIONS = ("user_1", "shared_a", "shared_b")

Contents = dict[str, IndexedChunk]


def contents(log: ChangeLog, collection: str) -> Contents:
    return {chunk.id: chunk for batch in log.all_chunks(collection, 1000) for chunk in batch}


class Followers(RuleBasedStateMachine):
    """Writes at random; at any time an index may take a copy, and later follow the log from there."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__()
        self.ledger = ledger
        self.log = ChangeLog(ledger.database)
        user = ledger.user_named("ann") or ledger.add_user("ann")
        for dataset in ledger.all_datasets():
            ledger.remove_dataset(dataset.id)
        self.datasets = [ledger.add_dataset(user.id, "notes").id, self._new_shared_id()]
        ledger.register_shared(self.datasets[1], "Guide", "shared_a")
        self.copies: list[tuple[str, int, Contents]] = []

    def _new_shared_id(self) -> int:
        return min(self.ledger.retired_shared_ids(), default=0) - 1

    datasets_numbers = st.integers(0, 1)
    sources = st.sampled_from("ab")
    passages = st.lists(st.sampled_from(["one", "two", "three", "four"]), max_size=4)

    @rule(number=datasets_numbers, source=sources, given=passages)
    def put(self, number: int, source: str, given: list[str]) -> None:
        self.ledger.put_document(self.datasets[number], document(source, *given))

    @rule(number=datasets_numbers, source=sources)
    def put_failed(self, number: int, source: str) -> None:
        self.ledger.put_failed(self.datasets[number], source, title="T", file_type="md", error="broken")

    @rule(number=datasets_numbers, source=sources)
    def remove(self, number: int, source: str) -> None:
        self.ledger.remove_document(self.datasets[number], source)

    @rule()
    def remove_personal(self) -> None:
        self.ledger.remove_dataset(self.datasets[0])
        self.datasets[0] = self.ledger.add_dataset(self.ledger.users()[0].id, "notes").id

    @rule(collection=st.sampled_from(["shared_a", "shared_b"]))
    def move_shared(self, collection: str) -> None:
        self.ledger.register_shared(self.datasets[1], "Guide", collection)

    @rule(collection=st.sampled_from(COLLECTIONS))
    def copy(self, collection: str) -> None:
        head = self.log.heads().get(collection, 0)
        self.copies.append((collection, head, contents(self.log, collection)))

    @rule(collection=st.sampled_from(COLLECTIONS))
    def prune(self, collection: str) -> None:
        """As the indexer does when every index has come as far as the slowest copy."""
        seqs = [seq for name, seq, _ in self.copies if name == collection]
        if seqs:
            self.log.prune(collection, min(seqs))

    @rule()
    def look(self) -> None:
        self.teardown()

    def teardown(self) -> None:
        """What holds at any time."""
        self.followers_end_with_the_ledger()
        self.counters_are_right()

    def followers_end_with_the_ledger(self) -> None:
        for collection, seq, copied in self.copies:
            followed = dict(copied)
            changed = [change.chunk_id for change in self.log.after(collection, seq, 10_000)]
            for chunk_id in changed:
                followed.pop(chunk_id, None)
            followed.update({chunk.id: chunk for chunk in self.log.chunks(collection, changed)})
            assert followed == contents(self.log, collection)
            assert self.log.pending(collection, seq) == len(changed)

    def counters_are_right(self) -> None:
        for dataset in self.ledger.all_datasets():
            documents = self.ledger.documents(dataset.id)
            passages = [p for d in documents for p in self.ledger.document_passages(d.id, [dataset.id])]
            assert (dataset.documents, dataset.chunks) == (len(documents), len(passages))
            assert sum(d.chunks for d in documents) == len(passages)


def follow_at_random(ledger: Ledger) -> None:
    """Write, copy and follow, the same at each call; raises AssertionError where a follower ends with anything else."""
    run_state_machine_as_test(
        lambda: Followers(ledger),  # type: ignore[arg-type]  # any callable will do
        settings=settings(
            max_examples=15,
            stateful_step_count=15,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
