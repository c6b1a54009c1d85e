"""What was taken away, or lost from the list, cannot be read by those who still hold on to something."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from braid.core.braid import Braid
from braid.core.errors import NotFoundError, RegistryError


def test_a_retriever_that_is_kept_asks_again_what_its_user_may_read(braid: Braid, put: Callable[..., str]) -> None:
    user = braid.ledger.add_user("ada", ["hr"])
    secret = braid.registry.add("HR", "shared_hr", allowed_groups=("hr",))
    braid.mirror_registry()
    put(secret.id, "pay.md", "the salary of the boss", "the holidays of the boss")
    kept = [
        braid.manager.get_retriever("basic", user_id=user.id, dataset_ids=[secret.id], mode=mode)
        for mode in ("hybrid", "keyword", "semantic")
    ]
    assert all(retriever.invoke("salary") for retriever in kept)
    braid.registry.update(secret.id, allowed_groups=["board"])
    for retriever in kept:
        with pytest.raises(NotFoundError, match=f"user {user.id} may not read it"):
            retriever.invoke("salary")


def test_an_id_with_documents_is_not_given_to_a_new_entry_when_the_list_has_lost_it(
    braid: Braid, put: Callable[..., str]
) -> None:
    braid.registry.add("Guide", "shared_guide")
    lost = braid.registry.add("HR", "shared_hr", allowed_groups=("hr",))
    braid.mirror_registry()
    put(lost.id, "pay.md", "the salary of the boss")
    braid.registry.replace_text('[{"id": -1, "name": "Guide", "collection_name": "shared_guide"}]')
    braid.registry._lowest_id = 0  # as in a process that never saw the entry
    new = braid.registry.add("For all", "shared_all")
    braid.mirror_registry()
    assert new.id < lost.id
    assert braid.manager.search("salary", user_id=None, dataset_ids=[new.id, lost.id]).hits == ()


def test_a_dataset_stays_while_its_entry_cannot_be_taken_out_of_a_broken_list(
    braid: Braid, put: Callable[..., str]
) -> None:
    entry = braid.registry.add("Guide", "shared_guide")
    braid.mirror_registry()
    put(entry.id, "a.md", "how to begin")
    braid.registry.path.write_text("[{", encoding="utf-8")
    with pytest.raises(RegistryError, match="fix it first"):
        braid.remove_dataset(entry.id)
    assert braid.ledger.dataset(entry.id).documents == 1
