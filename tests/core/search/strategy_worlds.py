"""A world with every kind of dataset, whose search model answers over real HTTP."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from braid.core.braid import Braid
from braid.core.models.chat import ChatModels
from tests import worlds
from tests.fakes import HashEmbeddings
from tests.model_server import ModelServer
from tests.worlds import ByHand, catch_up, fill

SAME = "The same sentence stands in two datasets."

LONELY = "A lonely passage. It has two sentences."

CONTENTS: dict[str, dict[str, tuple[str, ...]]] = {
    "animals": {
        "cats.md": ("The cat sat on the mat. It rained all day long.", "A cat and a dog met at the gate.", SAME),
        "dogs.md": ("Dogs bark at night when strangers pass.", "The old dog slept all day."),
    },
    "languages": {
        "猫.md": ("吾輩は猫である。名前はまだ無い。どこで生れたか見当がつかぬ。", "東京は日本の首都です。"),
        "고양이.md": ("고양이가 매트 위에 앉았다. 비가 하루 종일 내렸다.", "서울은 대한민국의 수도이다."),
    },
    "empty": {},
    "single": {"one.md": (LONELY,)},
    "guide": {"guide.md": ("How to feed a cat.", SAME, "Opening hours of the library.")},
    "rules": {"rules.md": ("No dog may enter the library.", "Keep the gate shut.")},
    "recipes": {"soup.md": ("Boil water and add salt.", "Cut the carrots and the leek.")},
}

SHARED = {"guide": "shared_main", "rules": "shared_main", "recipes": "shared_kitchen"}

EXPANDING = ("multi_query", "hyde", "step_back")

WITH_MODEL = (*EXPANDING, "compression")

WAYS = [
    *((strategy, generator) for strategy, generator in itertools.product(WITH_MODEL, ("llm", "feedback"))),
    ("parent_document", "auto"),
    ("basic", "auto"),
]


class BatchEmbeddings(HashEmbeddings):
    """Takes several queries at once."""

    def embed_queries(self, texts: list[str]) -> list[list[float]]:
        self.batches.append(len(texts))
        return [self._vector(text) for text in texts]


@dataclass(frozen=True)
class World(worlds.World):
    """A world with a search model behind real HTTP."""

    server: ModelServer


def written(messages: Sequence[tuple[str, str]]) -> str:
    """What a well-behaved model writes for each prompt."""
    system, asked = messages[0][1], messages[1][1]
    if "sentences" in system:
        return ", ".join(re.findall(r"^(\d+\.1) ", asked, re.MULTILINE))
    if "more general" in system:
        return f"background of {asked}"
    if "short passage" in system:
        return f"A passage that answers: {asked}"
    return "\n".join(f"{number}. {word} {asked}" for number, word in enumerate(("old", "big", "small"), start=1))


@contextmanager
def opened(folder: Path, models: ChatModels, **options: Any) -> Iterator[tuple[Braid, BatchEmbeddings]]:
    embeddings = BatchEmbeddings()
    with ByHand(folder, embedding_model=embeddings, models=models, **options) as braid:
        yield braid, embeddings


def filled_world(folder: Path, server: ModelServer, models: ChatModels) -> Iterator[World]:
    with opened(folder, models) as (braid, embeddings):
        ids = fill(braid, CONTENTS, SHARED)
        catch_up(braid)
        yield World(braid, embeddings, 1, ids, server)
