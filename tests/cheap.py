"""Password hashes and certificates that cost apps of the tests less than in earnest."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from argon2 import PasswordHasher


@contextmanager
def password_hashes_are_cheap() -> Iterator[None]:
    """Argon2 at its least cost: hashing as in earnest takes longer than most tests."""
    with pytest.MonkeyPatch.context() as patch:
        cheap = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
        patch.setattr("braid.core.accounts.accounts._HASHER", cheap)
        patch.setattr("braid.core.accounts.accounts._INITIAL_HASHER", cheap)
        yield


@contextmanager
def certificates_are_read_once() -> Iterator[None]:
    """Clients of HTTP that check certificates alike share a context: to read them takes longer than most answers."""
    make, made = ssl.create_default_context, dict[tuple[object, ...], ssl.SSLContext]()

    def shared(*purpose: object, **given: object) -> ssl.SSLContext:
        key = (*purpose, *given.items(), os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
        if key not in made:
            made[key] = make(*purpose, **given)  # type: ignore[arg-type]
        return made[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl, "create_default_context", shared)
        yield
