"""A running server with people who ask it by the client of OpenAI."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import openai
from flask import Flask

from braid.core.accounts.accounts import Account
from tests.model_server import ModelServer
from tests.web import bearer
from tests.worlds import WAIT_S

PRINTER = "The printer shows error E-4711 when the tray is empty."

TRAVEL = "Trains to the printer fair are booked by the travel office."


@dataclass
class Town:
    """A running server with ann, who asks no chat model, and eve, who asks one; the handbook is everybody's."""

    app: Flask
    address: str
    model: ModelServer
    people: dict[str, Account]

    def client(self, name: str, key: str = "", *scopes: str) -> openai.OpenAI:
        """Return a client to be closed: as part of a cycle, it is else collected during another test, connected."""
        key = key or bearer(self.app, self.people[name], *(scopes or ("read",)))["Authorization"].removeprefix(
            "Bearer "
        )
        return openai.OpenAI(base_url=f"{self.address}/v1", api_key=key, max_retries=0, timeout=WAIT_S)


def ask(text: str) -> list[Any]:
    return [{"role": "user", "content": text}]
