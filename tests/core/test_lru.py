"""What was not used for the longest time is evicted first."""

from __future__ import annotations

from braid.core.lru import LeastRecentlyUsed


def test_the_least_recently_used_value_goes_first() -> None:
    cache = LeastRecentlyUsed[str, int](2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert [cache.get(key) for key in ("a", "b", "c")] == [1, None, 3]


def test_a_value_is_made_once_until_it_is_evicted() -> None:
    cache, made = LeastRecentlyUsed[str, str](1), list[str]()

    def make() -> str:
        made.append("x")
        return ""

    assert [cache.get_or_make("a", make), cache.get_or_make("a", make)] == ["", ""]
    assert len(made) == 1
    cache.put("b", "y")
    cache.get_or_make("a", make)
    assert len(made) == 2
