"""A collection that fails is tried again after longer and longer pauses."""

from __future__ import annotations

import pytest

from braid.core.indexes.retries import Retries


def test_pauses_double_up_to_a_minute_and_begin_again_after_a_success(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("braid.core.indexes.retries.FIRST_RETRY_S", 1.0)
    retries = Retries()
    assert retries.is_due("user_1")
    assert [retries.postpone("user_1") for _ in range(8)] == [1, 2, 4, 8, 16, 32, 60, 60]
    assert not retries.is_due("user_1")
    assert retries.is_due("user_2")
    retries.retry_now("user_1")
    assert retries.is_due("user_1")
    retries.succeed("user_1")
    assert retries.postpone("user_1") == 1
