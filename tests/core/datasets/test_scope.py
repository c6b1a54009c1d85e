"""What a caller may read, rule by rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from braid.core.datasets.registry import Registry
from braid.core.datasets.scope import readable_shared, resolve_scope
from braid.core.errors import InvalidInputError
from braid.core.ledger.ledger import Ledger
from braid.core.types import CollectionScope, Scope


@dataclass(frozen=True)
class World:
    """Ann and Bob, their datasets, and shared ones of every kind."""

    ledger: Ledger
    registry: Registry
    ids: dict[str, int]

    def resolve(self, user: str | None, names: Sequence[str | int] | None) -> Scope:
        """Names of datasets, or plain ids."""
        return resolve_scope(
            self.ledger,
            self.registry,
            user_id=None if user is None else self.ids[user],
            dataset_ids=None if names is None else [self.ids[n] if isinstance(n, str) else n for n in names],
        )

    def allowed(self, user: str | None, names: Sequence[str | int] | None) -> set[str]:
        """Names of the datasets that the scope allows."""
        allowed = self.resolve(user, names).dataset_ids
        return {name for name, dataset_id in self.ids.items() if dataset_id in allowed and name in DATASETS}


DATASETS = ("ann 1", "ann 2", "bob 1", "guide", "rules", "staff", "off", "other")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("scope")
    ledger = Ledger(f"sqlite:///{folder / 'ledger.db'}")
    registry = Registry(folder / "shared_dbs.json", retired_ids=ledger.retired_shared_ids)
    ids: dict[str, int] = {}
    for user, groups in (("ann", ["staff", "legal"]), ("bob", []), ("nobody", [])):
        ids[user] = ledger.add_user(user, groups).id
    for name, owner in (("ann 1", "ann"), ("bob 1", "bob"), ("ann 2", "ann"), ("removed", "ann")):
        ids[name] = ledger.add_dataset(ids[owner], name).id
    ledger.remove_dataset(ids["removed"])
    for name, collection, limited_to in (
        ("guide", "shared_main", ()),
        ("rules", "shared_main", ()),
        ("staff", "shared_staff", ("staff", "board")),
        ("off", "shared_main", ()),
        ("other", "shared_other", ()),
    ):
        ids[name] = registry.add(name, collection, allowed_groups=limited_to).id
    registry.update(ids["off"], enabled=False)
    yield World(ledger, registry, ids)
    ledger.close()


# ---------------------------------------------------------------- who may read what


@pytest.mark.parametrize(
    ("user", "asked", "allowed", "unresolved"),
    [
        pytest.param("ann", None, {"ann 1", "ann 2"}, [], id="no ids: all personal ones"),
        pytest.param("ann", [], {"ann 1", "ann 2"}, [], id="an empty list is no ids"),
        pytest.param("ann", ["ann 2"], {"ann 2"}, [], id="one's own"),
        pytest.param("ann", ["bob 1"], set(), ["bob 1"], id="another's"),
        pytest.param("ann", ["ann 1", "bob 1"], {"ann 1"}, ["bob 1"], id="one's own and another's"),
        pytest.param("ann", ["removed"], set(), ["removed"], id="removed"),
        pytest.param("ann", [999, -999], set(), [999, -999], id="never given"),
        pytest.param("ann", [10**30, -(10**30)], set(), [10**30, -(10**30)], id="too large for a database"),
        pytest.param("ann", ["off"], set(), ["off"], id="disabled"),
        pytest.param("ann", ["guide", "other"], {"guide", "other"}, [], id="shared, for everyone"),
        pytest.param("ann", ["staff"], {"staff"}, [], id="shared, in one of its groups"),
        pytest.param("bob", ["staff"], set(), ["staff"], id="shared, in none of its groups"),
        pytest.param("bob", ["guide", "bob 1"], {"guide", "bob 1"}, [], id="both kinds"),
        pytest.param("ann", ["ann 1"] * 3 + ["guide"] * 2 + [999] * 2, {"ann 1", "guide"}, [999], id="duplicates"),
        pytest.param("nobody", None, set(), [], id="a user without datasets"),
        pytest.param(None, None, set(), [], id="nobody, no ids"),
        pytest.param(None, ["guide"], {"guide"}, [], id="nobody, shared for everyone"),
        pytest.param(None, ["staff", "ann 1"], set(), ["staff", "ann 1"], id="nobody, limited and personal"),
    ],
)
def test_rule(
    world: World, user: str | None, asked: list[str | int] | None, allowed: set[str], unresolved: list[str | int]
) -> None:
    assert world.allowed(user, asked) == allowed
    listed = [world.ids[n] if isinstance(n, str) else n for n in unresolved]
    assert list(world.resolve(user, asked).unresolved_dataset_ids) == listed


@pytest.mark.parametrize(
    ("user", "asked", "within", "allowed", "unresolved"),
    [
        pytest.param("ann", None, ["ann 2", "guide"], {"ann 2", "guide"}, [], id="no ids: all that is allowed"),
        pytest.param("ann", "all", ["ann 2", "guide"], {"ann 2", "guide"}, [], id="all of it"),
        pytest.param("ann", ["ann 1", "ann 2"], ["ann 2"], {"ann 2"}, ["ann 1"], id="a part of what is asked"),
        pytest.param("ann", ["guide"], ["ann 2"], set(), ["guide"], id="a shared one that is not allowed"),
        pytest.param("ann", None, ["bob 1", "off"], set(), [], id="it never gives more than the user has"),
        pytest.param("bob", ["staff"], ["staff"], set(), ["staff"], id="nor what only others may read"),
        pytest.param("ann", None, [], set(), [], id="nothing is allowed"),
        pytest.param("ann", "all", [], set(), [], id="nothing of all"),
    ],
)
def test_a_limit_only_takes_away(
    world: World, user: str, asked: list[str] | str | None, within: list[str], allowed: set[str], unresolved: list[str]
) -> None:
    ids = [world.ids[name] for name in asked] if isinstance(asked, list) else asked
    scope = resolve_scope(
        world.ledger,
        world.registry,
        user_id=world.ids[user],
        dataset_ids=ids,  # type: ignore[arg-type]
        within=frozenset(world.ids[name] for name in within),
    )
    assert scope.dataset_ids == {world.ids[name] for name in allowed}
    assert scope.unresolved_dataset_ids == tuple(world.ids[name] for name in unresolved)
    for part in scope.collections:
        assert part.readable_ids is None or part.readable_ids <= {world.ids[name] for name in within}


def test_an_unknown_user_reads_only_what_everyone_may(world: World) -> None:
    scope = resolve_scope(
        world.ledger, world.registry, user_id=4711, dataset_ids=[world.ids[n] for n in ("ann 1", "guide", "staff")]
    )
    assert scope.dataset_ids == {world.ids["guide"]}
    assert set(scope.unresolved_dataset_ids) == {world.ids["ann 1"], world.ids["staff"]}
    assert resolve_scope(world.ledger, world.registry, user_id=4711, dataset_ids=None) == Scope((), user_id=4711)


def test_the_reasons_are_not_told_apart(world: World) -> None:
    """Whether a dataset exists is nothing that a stranger may find out."""
    scope = world.resolve("ann", ["bob 1", "removed", 999, "off"])
    assert scope == Scope((), (world.ids["bob 1"], world.ids["removed"], 999, world.ids["off"]), world.ids["ann"])


@pytest.mark.parametrize("wrong", [0, True, False, 1.0, 1.5, "1", None, float("nan")])
def test_what_is_no_id_is_an_error(world: World, wrong: object) -> None:
    with pytest.raises(InvalidInputError, match="is not one: personal ids are 1, 2, …") as caught:
        resolve_scope(world.ledger, world.registry, user_id=1, dataset_ids=[2, wrong])  # type: ignore[list-item]
    assert caught.value.field == "dataset_ids"


def test_an_absurd_number_of_ids_is_an_error(world: World) -> None:
    with pytest.raises(InvalidInputError, match="1001 datasets are selected; at most 1000"):
        world.resolve("ann", list(range(1, 1002)))
    assert world.allowed("ann", list(range(1, 1001))) == {"ann 1", "ann 2"}


# ---------------------------------------------------------------- how it is put to the indexes


def test_datasets_are_grouped_by_collection(world: World) -> None:
    scope = world.resolve("ann", ["guide", "ann 2", "rules", "staff", "ann 1"])
    ann, ids = world.ids["ann"], world.ids
    main, staff = frozenset({ids["guide"], ids["rules"]}), frozenset({ids["staff"]})
    assert set(scope.collections) == {
        CollectionScope("shared_main", main, readable_ids=main),
        CollectionScope(f"user_{ann}", frozenset({ids["ann 1"], ids["ann 2"]}), ann),
        CollectionScope("shared_staff", staff, readable_ids=staff),
    }


def test_what_may_be_selected_is_known_beside_what_is(world: World) -> None:
    """The words of the others must not count in scores."""
    [main] = world.resolve("bob", ["guide"]).collections
    assert main.dataset_ids == {world.ids["guide"]}
    assert main.readable_ids == {world.ids["guide"], world.ids["rules"]}  # and not what is switched off
    [personal] = world.resolve("ann", ["ann 1"]).collections
    assert personal.readable_ids is None


# ---------------------------------------------------------------- the menu


@pytest.mark.parametrize(
    ("user", "offered"),
    [
        ("ann", ["guide", "rules", "staff", "other"]),
        ("bob", ["guide", "rules", "other"]),
        (None, ["guide", "rules", "other"]),
    ],
)
def test_the_menu_offers_what_may_be_read(world: World, user: str | None, offered: list[str]) -> None:
    user_id = None if user is None else world.ids[user]
    assert [e.name for e in readable_shared(world.ledger, world.registry, user_id)] == offered


def test_what_is_changed_holds_for_the_next_request(tmp_path: Path) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    registry = Registry(tmp_path / "shared_dbs.json")
    ann = ledger.add_user("ann", ["staff"]).id
    guide = registry.add("guide", "shared_main").id

    def may_read() -> bool:
        return guide in resolve_scope(ledger, registry, user_id=ann, dataset_ids=[guide]).dataset_ids

    assert may_read()
    registry.update(guide, enabled=False)
    assert not may_read()
    registry.update(guide, enabled=True, allowed_groups=["board"])
    assert not may_read()
    registry.update(guide, allowed_groups=["board", "staff"])
    assert may_read()
    registry.remove(guide)
    assert not may_read()
    ledger.close()


@pytest.mark.parametrize(
    ("user", "allowed"),
    [
        ("ann", {"ann 1", "ann 2", "guide", "rules", "staff", "other"}),
        ("bob", {"bob 1", "guide", "rules", "other"}),
        ("nobody", {"guide", "rules", "other"}),
        (None, {"guide", "rules", "other"}),
    ],
)
def test_all_is_everything_that_the_caller_may_read(world: World, user: str | None, allowed: set[str]) -> None:
    user_id = None if user is None else world.ids[user]
    scope = resolve_scope(world.ledger, world.registry, user_id=user_id, dataset_ids="all")
    assert scope.dataset_ids == {world.ids[name] for name in allowed}
    assert scope.unresolved_dataset_ids == ()
    if user is not None:
        assert {d.name for d in world.ledger.datasets(user_id)} <= allowed
