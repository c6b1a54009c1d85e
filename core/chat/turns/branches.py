"""The tree of a conversation's messages: variants of a question or an answer, and the path that is shown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Node(NamedTuple):
    """A message's place in the tree."""

    id: int
    parent_id: int | None
    chosen: bool


class Branches:
    """The tree of one conversation, from its messages in the order in which they were stored.

    Messages with the same parent are variants: edited questions, or further answers to a question.
    """

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._parents: dict[int, int | None] = {}
        self._children: dict[int | None, list[Node]] = {}
        self._older: dict[int, int] = {}
        for node in nodes:
            self._parents[node.id] = node.parent_id
            variants = self._children.setdefault(node.parent_id, [])
            if variants:
                self._older[node.id] = variants[-1].id
            variants.append(node)

    def __contains__(self, message_id: int) -> bool:
        return message_id in self._parents

    @property
    def ids(self) -> frozenset[int]:
        """The ids of all messages."""
        return frozenset(self._parents)

    def path(self) -> list[int]:
        """Return the ids of the chosen messages, from the first question on."""
        ids: list[int] = []
        below: int | None = None
        while variants := self._children.get(below):
            below = next((node.id for node in reversed(variants) if node.chosen), variants[-1].id)
            ids.append(below)
        return ids

    def above(self, message_id: int) -> list[int]:
        """Return the ids of the messages that lead to this one, from the first question on."""
        ids: list[int] = []
        parent = self._parents[message_id]
        while parent is not None:
            ids.append(parent)
            parent = self._parents.get(parent)
        return ids[::-1]

    def before(self, answer_id: int) -> list[int]:
        """Return the ids of the answers that were there when this one was asked for, the nearest ones: the variant
        before it, and the answer that its question follows.
        """
        question = self._parents[answer_id]
        above = self._parents.get(question) if question is not None else None
        return [id_ for id_ in (self._older.get(answer_id), above) if id_ is not None]

    def parent(self, message_id: int) -> int | None:
        """Return the id of the message that this one follows; None for a first question."""
        return self._parents[message_id]

    def is_question(self, message_id: int) -> bool:
        """Return whether the message is a question: they take turns with answers, and begin."""
        return len(self.above(message_id)) % 2 == 0

    def variants(self, message_id: int) -> tuple[int, ...]:
        """Return the ids of the message and its variants, in the order in which they were stored."""
        return tuple(node.id for node in self._children[self._parents[message_id]])
