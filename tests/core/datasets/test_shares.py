"""Datasets that are shared by their owners, on both databases: who may read and change them, and who asks for it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from braid.core.accounts.accounts import Accounts
from braid.core.accounts.transfer import transfer_datasets
from braid.core.datasets.registry import Registry
from braid.core.datasets.scope import may_write, resolve_scope
from braid.core.datasets.shares import LEAST_TYPED, MOST_FOUND, Share, Shares
from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.ledger.ledger import Ledger
from tests.databases import all_on_both_databases

pytest_generate_tests = all_on_both_databases
PEOPLE, GROUPS = ("ann", "ben", "eve", "kim"), ("red", "green", "blue")
STEPS = 80


@dataclass
class World:
    """People with groups and datasets; the truth is kept here, and never read back from what is tested."""

    ledger: Ledger
    registry: Registry
    shares: Shares
    acts: list[tuple[str, str, str, str]]
    users: dict[str, int] = field(default_factory=dict)
    groups: dict[str, set[str]] = field(default_factory=dict)
    owners: dict[int, str] = field(default_factory=dict)
    """Dataset → its owner, or "" of a shared one, which everybody may read."""
    given: dict[int, dict[tuple[str, str], bool]] = field(default_factory=dict)
    """Dataset → (kind, name) → whether they may change it."""

    def may(self, user: str, dataset: int, *, change: bool) -> bool:
        if dataset not in self.owners:
            return False
        if self.owners[dataset] == user or (not self.owners[dataset] and not change):
            return True
        given = self.given[dataset]
        mine = [("user", user), *(("group", group) for group in self.groups[user])]
        return any(given[whom] or not change for whom in mine if whom in given)


@pytest.fixture
def world(ledger: Ledger, tmp_path: Path) -> World:
    registry = Registry(tmp_path / "shared_dbs.json", retired_ids=ledger.retired_shared_ids)
    acts: list[tuple[str, str, str, str]] = []
    shares = Shares(ledger, registry, lambda *act: acts.append(act))
    world = World(ledger, registry, shares, acts)
    for user in PEOPLE:
        world.users[user] = ledger.add_user(user).id
        world.groups[user] = set()
        for number in range(2):
            world.owners[ledger.add_dataset(world.users[user], f"{user} {number}").id] = user
    entry = registry.add("guide", "shared_main")
    ledger.register_shared(entry.id, entry.name, entry.collection_name)
    world.owners[entry.id] = ""
    world.given = {dataset: {} for dataset in world.owners}
    return world


def check(world: World, everything: list[int]) -> int:
    """Compare who may read and change what with the truth; return how many pairs of a user and a dataset are open."""
    opened = 0
    for user, user_id in world.users.items():
        scope = resolve_scope(world.ledger, world.registry, user_id=user_id, dataset_ids="all")
        truth = {dataset for dataset in everything if world.may(user, dataset, change=False)}
        assert scope.dataset_ids == truth, user
        named = resolve_scope(world.ledger, world.registry, user_id=user_id, dataset_ids=everything)
        assert named.dataset_ids == truth
        assert set(named.unresolved_dataset_ids) == set(everything) - truth
        own = resolve_scope(world.ledger, world.registry, user_id=user_id, dataset_ids=None)
        assert own.dataset_ids == {dataset for dataset, owner in world.owners.items() if owner == user}
        for part in named.collections:
            stored = world.ledger.datasets_in([part.collection])
            readable = {dataset.id for dataset in stored} & truth
            assert part.dataset_ids <= readable
            assert part.readable_ids == (None if part.user_id == user_id else readable), "whose words count in scores"
            assert {dataset.user_id for dataset in stored} == {part.user_id}, "the collection is its owner's"
        for dataset in world.owners:
            found = may_write(world.ledger, world.registry, user_id, world.ledger.dataset(dataset), is_admin=False)
            assert found == world.may(user, dataset, change=True), (user, dataset)
        opened += len(truth) - len(own.dataset_ids) - 1
    return opened


def step(world: World, chance: random.Random) -> None:
    dataset = chance.choice([*world.owners])
    user, kind = chance.choice(PEOPLE), chance.choice(("user", "group"))
    name, change = user if kind == "user" else chance.choice(GROUPS), chance.random() < 0.5
    act = chance.choices(("share", "unshare", "groups", "give", "remove"), (10, 6, 4, 1, 0.3))[0]
    if act == "share":
        try:
            world.shares.put(world.ledger.dataset(dataset), Share(kind, name, change), by="x")  # type: ignore[arg-type]
        except InvalidInputError:
            has_members = any(name in groups for groups in world.groups.values())
            assert world.owners[dataset] == name or (kind == "group" and not has_members) or not world.owners[dataset]
        else:
            world.given[dataset][kind, name] = change
    elif act == "unshare" and world.given[dataset]:
        kind, name = chance.choice([*world.given[dataset]])
        world.shares.remove(world.ledger.dataset(dataset), kind, name, by="x")  # type: ignore[arg-type]
        del world.given[dataset][kind, name]
    elif act == "groups":
        world.groups[user] = set(chance.sample(GROUPS, chance.randint(0, 2)))
        Accounts(world.ledger).set_groups(world.users[user], world.groups[user])
    elif act == "give" and world.owners[dataset] not in ("", user):
        transfer_datasets(world.ledger, world.users[world.owners[dataset]], world.users[user], [dataset])
        world.owners[dataset] = user
        world.given[dataset].pop(("user", user), None)
    elif act == "remove" and dataset > 0 and len(world.owners) > 5:
        world.ledger.remove_dataset(dataset)
        del world.owners[dataset], world.given[dataset]


@pytest.mark.parametrize("seed", range(3))
def test_who_may_read_and_change_follows_what_is_shared(world: World, seed: int) -> None:
    chance, everything, opened = random.Random(seed), [*world.owners], 0
    for _ in range(STEPS):
        step(world, chance)
        opened += check(world, everything)
    assert opened > STEPS, "else nothing was shared"


def test_what_is_shared_is_listed_and_in_the_audit_log(world: World) -> None:
    Accounts(world.ledger).set_groups(world.users["kim"], {"red"})
    dataset = world.ledger.dataset(1)
    world.shares.put(dataset, Share("group", "red", may_write=True), by="ann")
    world.shares.put(dataset, Share("user", "ben"), by="ann")
    world.shares.put(dataset, Share("user", "ben", may_write=True), by="ann")
    assert world.shares.of(world.ledger.dataset(1)) == [
        Share("user", "ben", may_write=True),
        Share("group", "red", may_write=True),
    ]
    world.shares.remove(dataset, "user", "ben", by="ann")
    assert world.shares.of(dataset) == [Share("group", "red", may_write=True)]
    assert world.acts == [
        ("ann", "dataset.shared", "1 ann 0", "group red may read and change"),
        ("ann", "dataset.shared", "1 ann 0", "user ben may read"),
        ("ann", "dataset.shared", "1 ann 0", "user ben may read and change"),
        ("ann", "dataset.unshared", "1 ann 0", "user ben"),
    ]
    with pytest.raises(NotFoundError, match="not shared with the user 'ben'"):
        world.shares.remove(dataset, "user", "ben", by="ann")


@pytest.mark.parametrize(
    ("share", "told"),
    [
        (Share("user", "nobody"), "nobody named 'nobody'"),
        (Share("user", ""), "nobody named ''"),
        (Share("user", "gone"), "nobody named 'gone'"),
        (Share("user", "ann"), "'ann' is the owner"),
        (Share("group", "blue"), "no group named 'blue'"),
    ],
)
def test_a_dataset_is_shared_with_those_who_are_there(world: World, share: Share, told: str) -> None:
    accounts = Accounts(world.ledger)
    accounts.set_disabled(accounts.add("gone").id, True)
    with pytest.raises(InvalidInputError, match=told):
        world.shares.put(world.ledger.dataset(1), share, by="ann")
    assert world.shares.of(world.ledger.dataset(1)) == []


def test_a_shared_dataset_gets_editors_who_may_read_it(world: World) -> None:
    entry = world.registry.add("staff", "shared_staff", allowed_groups=["red"])
    world.ledger.register_shared(entry.id, entry.name, entry.collection_name)
    dataset, ben = world.ledger.dataset(entry.id), world.users["ben"]
    with pytest.raises(InvalidInputError, match="the groups of a shared dataset say who may read it"):
        world.shares.put(dataset, Share("user", "ben"), by="ann")
    world.shares.put(dataset, Share("user", "ben", may_write=True), by="ann")

    def allowed() -> tuple[bool, bool]:
        scope = resolve_scope(world.ledger, world.registry, user_id=ben, dataset_ids=[dataset.id])
        return bool(scope.dataset_ids), may_write(world.ledger, world.registry, ben, dataset, is_admin=False)

    assert allowed() == (False, False)
    Accounts(world.ledger).set_groups(ben, {"red"})
    assert allowed() == (True, True)
    world.registry.update(dataset.id, enabled=False)
    assert allowed() == (False, False)


def test_files_of_a_conversation_are_not_shared(world: World) -> None:
    from dataclasses import replace

    with pytest.raises(InvalidInputError, match="files of a conversation are not shared"):
        world.shares.put(replace(world.ledger.dataset(1), conversation_id=7), Share("user", "ben"), by="ann")


def test_people_and_groups_are_found_by_what_is_typed(world: World) -> None:
    accounts = Accounts(world.ledger)
    for number in range(20):
        accounts.add(f"Robin {number}", groups=[f"team {number}"])
    accounts.set_disabled(accounts.add("Robin gone").id, True)
    accounts.add("A Robin")
    found = world.shares.find("user", "rob")
    assert len(found) == MOST_FOUND
    assert all(name.startswith("Robin ") for name in found), "those that begin with it come first"
    assert "Robin gone" not in world.shares.find("user", "robin g")
    assert world.shares.find("user", "robin g", or_suspended=True) == ["Robin gone"]
    assert world.shares.find("user", "<", or_suspended=True) == []
    assert world.shares.find("user", "a rob") == ["A Robin"]
    assert world.shares.find("user", "ann", besides=world.users["ann"]) == []
    assert world.shares.find("group", "m 1")[:2] == ["team 1", "team 10"]
    for nothing in ("", " ", "r", " r ", "%", "__", "\\"):
        assert world.shares.find("user", nothing) == []
    assert LEAST_TYPED == 2


def test_requests_are_answered_by_sharing_or_declined(world: World) -> None:
    world.shares.ask(world.users["ben"], 1)
    world.shares.ask(world.users["ben"], 1)
    world.shares.ask(world.users["eve"], 1)
    world.shares.ask(world.users["kim"], 1)
    assert [(each.user, each.dataset_name) for each in world.shares.requests([1, 2])] == [
        (name, "ann 0") for name in ("ben", "eve", "kim")
    ]
    world.shares.put(world.ledger.dataset(1), Share("user", "ben"), by="ann")
    world.shares.decline(world.ledger.dataset(1), "eve", by="ann")
    Accounts(world.ledger).set_groups(world.users["kim"], {"red"})
    world.shares.put(world.ledger.dataset(1), Share("group", "red"), by="ann")
    assert world.shares.requests([1]) == []
    world.shares.ask(world.users["eve"], 1)
    assert world.shares.requests([1]) == [], "declined once is declined"
    assert world.shares.asked_by(world.users["eve"]) == {1}
    with pytest.raises(NotFoundError, match="'eve' does not ask"):
        world.shares.decline(world.ledger.dataset(1), "eve", by="ann")


def test_nobody_is_asked_for_what_is_gone(world: World) -> None:
    world.ledger.remove_dataset(1)
    for dataset in (1, 999):
        world.shares.ask(world.users["ben"], dataset)
        assert world.shares.requests([dataset]) == []


@pytest.mark.parametrize("end", ["dataset", "user"])
def test_shares_go_with_the_dataset_and_with_the_user(world: World, end: str) -> None:
    shared = world.ledger.dataset(1)
    world.shares.put(shared, Share("user", "ben"), by="ann")
    world.shares.ask(world.users["ben"], 2)
    ends: dict[str, Callable[[], object]] = {
        "dataset": lambda: world.ledger.remove_dataset(1),
        "user": lambda: Accounts(world.ledger).remove(world.users["ben"]),
    }
    ends[end]()
    assert world.shares.of(shared) == []
    assert world.ledger.datasets_shared_with(world.users["ben"]) == []
    assert len(world.shares.requests([2])) == (end == "dataset")
