"""Assistants on both databases: who may use and change them, and what becomes of them with users and datasets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from braid.core.accounts.accounts import Accounts
from braid.core.accounts.transfer import transfer_datasets
from braid.core.datasets.assistants import MOST_OF_USER, Assistant, Assistants
from braid.core.datasets.registry import Registry
from braid.core.datasets.shares import Share, Shares
from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.ledger.ledger import Ledger
from braid.core.types import Filters
from tests.databases import all_on_both_databases

pytest_generate_tests = all_on_both_databases


@dataclass
class World:
    """Ann has an assistant over her dataset 1; Ben and Eve have none, and Eve is in the group red."""

    ledger: Ledger
    assistants: Assistants
    shares: Shares
    acts: list[tuple[str, ...]]
    ids: dict[str, int]
    pumps: Assistant

    def seen_by(self, name: str) -> list[tuple[str, str, bool]]:
        return [(each.assistant.name, each.owner, each.may_edit) for each in self.assistants.of_user(self.ids[name])]


@pytest.fixture
def world(ledger: Ledger, tmp_path: Path) -> World:
    accounts, acts = Accounts(ledger), list[tuple[str, ...]]()
    ids = {name: accounts.add(name, "correct horse", groups=groups).id for name, groups in PEOPLE.items()}
    ledger.add_dataset(ids["ann"], "Stations")
    registry = Registry(tmp_path / "shared_dbs.json", retired_ids=ledger.retired_shared_ids)
    shares = Shares(ledger, registry, lambda *act: acts.append(act))
    assistants = Assistants(ledger)
    return World(ledger, assistants, shares, acts, ids, assistants.add(ids["ann"], Assistant("Pumps", (1,))))


PEOPLE: dict[str, tuple[str, ...]] = {"ann": (), "ben": (), "eve": ("red",)}


def test_what_is_stored_comes_back(world: World) -> None:
    filters = Filters(frozenset({"md"}), "manuals/", metadata={"year": {"$gte": 2024}})
    made = Assistant(
        " Pumps and valves ",
        (1, -2, 1),
        description="All about\npumps",
        sign="🔧",
        color="green",
        instruction="Answer in one sentence.",
        shows_instruction=True,
        strategy="multi_query",
        options={"k": 12, "mode": "keyword", "filters": filters},
        model="openai:gpt",
        questions=("Which  pump?", " ", "Which  pump?"),
    )
    stored = world.assistants.add(world.ids["ben"], made)
    (found,) = world.assistants.of_user(world.ids["ben"])
    assert found.assistant == stored
    assert (stored.name, stored.dataset_ids, stored.description) == ("Pumps and valves", (1, -2), "All about pumps")
    assert stored.questions == ("Which pump?",)
    assert found.assistant.options["filters"] == filters


def test_who_may_use_it_and_who_may_change_it(world: World) -> None:
    assert world.seen_by("ann") == [("Pumps", "", True)]
    assert world.seen_by("ben") == world.seen_by("eve") == []
    with pytest.raises(NotFoundError):
        world.assistants.get(world.ids["ben"], world.pumps.id)
    world.shares.put(world.pumps, Share("user", "ben"), by="ann")
    world.shares.put(world.pumps, Share("group", "red", may_write=True), by="ann")
    assert world.seen_by("ben") == [("Pumps", "ann", False)]
    assert world.seen_by("eve") == [("Pumps", "ann", True)]
    assert world.shares.of(world.pumps) == [Share("user", "ben"), Share("group", "red", may_write=True)]
    assert world.acts[0] == ("ann", "assistant.shared", f"{world.pumps.id} Pumps", "user ben may use")
    world.shares.remove(world.pumps, "user", "ben", by="ann")
    assert world.seen_by("ben") == []
    Accounts(world.ledger).set_groups(world.ids["eve"], [])
    assert world.seen_by("eve") == []


def test_shares_of_assistants_open_no_dataset(world: World) -> None:
    """Both have the id 1: a share of one is none of the other."""
    world.shares.put(world.pumps, Share("user", "ben", may_write=True), by="ann")
    assert world.ledger.datasets_shared_with(world.ids["ben"]) == []
    assert world.ledger.ids_opened_for_changes(world.ids["ben"]) == frozenset()
    world.shares.put(world.ledger.dataset(1), Share("user", "eve"), by="ann")
    assert world.seen_by("eve") == []
    with pytest.raises(InvalidInputError, match="is the owner of this assistant"):
        world.shares.put(world.pumps, Share("user", "ann"), by="ann")


def test_it_is_changed_and_deleted(world: World) -> None:
    world.shares.put(world.pumps, Share("user", "ben"), by="ann")
    world.assistants.change(world.pumps, replace(world.pumps, name="Valves", dataset_ids=(1, 2)))
    assert world.seen_by("ben") == [("Valves", "ann", False)]
    world.assistants.remove(world.pumps.id)
    assert world.seen_by("ben") == world.seen_by("ann") == []
    for act in (
        lambda: world.assistants.remove(world.pumps.id),
        lambda: world.assistants.change(world.pumps, world.pumps),
    ):
        with pytest.raises(NotFoundError, match="there is no assistant 1"):
            act()
    again = world.assistants.add(world.ids["ann"], Assistant("Pumps", (1,)))
    assert again.id != world.pumps.id
    assert world.seen_by("ben") == []


def test_it_goes_with_its_owner_unless_it_is_handed_over(world: World) -> None:
    world.shares.put(world.pumps, Share("user", "ben"), by="ann")
    transfer_datasets(world.ledger, world.ids["ann"], world.ids["ben"])
    assert world.seen_by("ben") == [("Pumps", "", True)]
    assert world.seen_by("ann") == []
    assert world.shares.of(world.pumps) == []
    Accounts(world.ledger).remove(world.ids["ben"])
    assert world.seen_by("ben") == []


def test_datasets_that_are_deleted_are_told_from_those_that_are_not(world: World) -> None:
    other = world.ledger.add_dataset(world.ids["ann"], "Old").id
    assert world.assistants.existing([1, other, 99]) == {1, other}
    world.ledger.remove_dataset(other)
    assert world.assistants.existing([1, other, 99]) == {1}


def test_nobody_has_too_many(world: World) -> None:
    for number in range(MOST_OF_USER):
        world.assistants.add(world.ids["ben"], Assistant(f"No. {number}", (1,)))
    with pytest.raises(InvalidInputError, match="which is the limit"):
        world.assistants.add(world.ids["ben"], Assistant("One more", (1,)))


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"name": " "}, "must have 1 to"),
        ({"dataset_ids": ()}, "has no dataset"),
        ({"color": "pink"}, "choose one of blue"),
        ({"sign": "a word" * 3}, "give one emoji or letter"),
        ({"questions": ("1", "2", "3", "4", "5")}, "up to 4"),
        ({"questions": ("x" * 301,)}, "questions has 301 characters"),
        ({"description": "x" * 501}, "description has 501 characters"),
        ({"instruction": "x" * 4001}, "instruction has 4,001 characters"),
        ({"options": {"k": 0}}, "k is 0"),
    ],
)
def test_what_is_wrong_is_named(values: dict[str, object], told: str) -> None:
    given: dict[str, object] = {"name": "Pumps", "dataset_ids": (1,), **values}
    with pytest.raises(InvalidInputError, match=told):
        Assistant(**given)  # type: ignore[arg-type]


def test_two_editors_at_once_lose_nothing_of_each_other(world: World) -> None:
    seen = world.pumps
    world.assistants.change(seen, replace(seen, instruction="Be brief."))
    world.assistants.change(seen, replace(seen, name="Valves"))
    found = world.assistants.get(seen.user_id, seen.id).assistant
    assert (found.name, found.instruction, found.dataset_ids) == ("Valves", "Be brief.", seen.dataset_ids)
