"""Assistants: datasets, instructions and a way to search under a name, for those with whom they are shared."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from sqlalchemy import Select, delete, func, insert, select, update

from braid.core.errors import InvalidInputError, NotFoundError, Reason
from braid.core.json_form import to_json
from braid.core.ledger.database import storable
from braid.core.ledger.ledger import Ledger, checked_name
from braid.core.ledger.quota import one_at_a_time
from braid.core.ledger.tables import AssistantRow, DatasetRow, ShareRow, UserGroupRow, UserRow, columns_of
from braid.core.options import SearchOptions, require_choice, stored_options
from braid.core.types import MAX_ID, MAX_NAME_CHARS

COLORS = ("blue", "green", "amber", "red", "purple", "gray")
MOST_QUESTIONS = 4
MAX_QUESTION_CHARS = 300
MAX_DESCRIPTION_CHARS = 500
MAX_ASSISTANT_INSTRUCTION_CHARS = 4_000
MAX_SIGN_CHARS = 8
"""Code points of one emoji, such as a family or a flag."""
MOST_DATASETS = 200
MOST_OF_USER = 200
"""Assistants that one user may own."""


@dataclass(frozen=True, slots=True)
class Assistant:
    """Datasets and how to answer from them. It never widens what who uses it may read.

    ``options`` are fields of `braid.core.types.SearchOptions`. ``model`` is ``provider:model``; empty for the model of
    who uses it. Raises InvalidInputError.

    >>> Assistant("Pumps", dataset_ids=(1,), questions=("Which pump is in hall three?",)).sign
    'P'
    >>> Assistant("Pumps", dataset_ids=())
    Traceback (most recent call last):
    braid.core.errors.InvalidInputError: the assistant has no dataset; choose 1 to 200
    """

    name: str
    dataset_ids: tuple[int, ...]
    description: str = ""
    sign: str = ""
    """An emoji or a letter, its picture; by default the first letter of its name."""
    color: str = COLORS[0]
    instruction: str = ""
    shows_instruction: bool = False
    """Whether who uses it may read the instruction."""
    strategy: str = "basic"
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    model: str = ""
    questions: tuple[str, ...] = ()
    """Questions to begin with."""
    id: int = 0
    """0 until it is stored."""
    user_id: int = 0

    def __post_init__(self) -> None:
        name = checked_name(self.name, "assistant")
        questions = tuple(" ".join(storable(each).split()) for each in self.questions if each.strip())
        cleaned = {
            "name": name,
            "description": " ".join(storable(self.description).split()),
            "sign": storable(self.sign).strip() or name[:1].upper(),
            "instruction": storable(self.instruction).strip(),
            "dataset_ids": tuple(dict.fromkeys(self.dataset_ids)),
            "questions": tuple(dict.fromkeys(questions)),
            "model": storable(self.model).strip(),
        }
        for name, value in cleaned.items():
            object.__setattr__(self, name, value)
        if not 1 <= len(self.dataset_ids) <= MOST_DATASETS:
            count = f"{len(self.dataset_ids)} datasets" if self.dataset_ids else "no dataset"
            raise InvalidInputError(f"the assistant has {count}; choose 1 to {MOST_DATASETS}", field="dataset_ids")
        require_choice("color", self.color, COLORS)
        if len(self.sign) > MAX_SIGN_CHARS or any(unicodedata.category(each) == "Cc" for each in self.sign):
            raise InvalidInputError(f"sign is {self.sign[:20]!r}; give one emoji or letter", field="sign")
        if len(self.questions) > MOST_QUESTIONS:
            raise InvalidInputError(
                f"there are {len(self.questions)} opening questions; give up to {MOST_QUESTIONS}", field="questions"
            )
        _require_short("description", self.description, MAX_DESCRIPTION_CHARS)
        _require_short("instruction", self.instruction, MAX_ASSISTANT_INSTRUCTION_CHARS)
        _require_short("model", self.model, MAX_NAME_CHARS)
        for question in self.questions:
            _require_short("questions", question, MAX_QUESTION_CHARS)
        SearchOptions(**self.options)


@dataclass(frozen=True, slots=True)
class OpenAssistant:
    """An assistant that a user may use. ``owner`` is the owner's name, empty for the user's own."""

    assistant: Assistant
    owner: str
    may_edit: bool


class Assistants:
    """Assistants of all users, each read for one who may use it: the owner, or somebody with whom it is shared.

    >>> assistants = Assistants(braid.ledger)
    >>> pumps = assistants.add(1, Assistant("Pumps", dataset_ids=(1,), instruction="Answer in one sentence."))
    >>> [each.assistant.name for each in assistants.of_user(1)]
    ['Pumps']
    >>> assistants.get(braid.ledger.add_user("ben").id, pumps.id)
    Traceback (most recent call last):
    braid.core.errors.NotFoundError: there is no assistant 1
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._database = ledger.database

    def of_user(self, user_id: int) -> list[OpenAssistant]:
        """Return the assistants that a user may use: the user's own, then those of others, each by name."""
        return self._read(user_id, _select(user_id).order_by(AssistantRow.user_id != user_id, AssistantRow.name))

    def get(self, user_id: int, assistant_id: int) -> OpenAssistant:
        """Return an assistant that a user may use. Raises NotFoundError for any other, whether it exists or not."""
        is_id = 0 < assistant_id <= MAX_ID  # a database refuses any other number
        found = self._read(user_id, _select(user_id).where(AssistantRow.id == assistant_id)) if is_id else []
        if not found:
            raise NotFoundError(Reason("there is no assistant %(number)s", number=assistant_id))
        return found[0]

    def add(self, user_id: int, assistant: Assistant) -> Assistant:
        """Store a new assistant of a user. Raises InvalidInputError when the user has too many."""
        with self._database.write() as connection:
            one_at_a_time(connection, f"assistants {user_id}")
            count = select(func.count()).select_from(AssistantRow).where(AssistantRow.user_id == user_id)
            if connection.execute(count).scalar_one() >= MOST_OF_USER:
                raise InvalidInputError(
                    Reason("you have %(most)s assistants, which is the limit; delete one", most=MOST_OF_USER),
                    field="name",
                )
            values = {**_values(assistant), "user_id": user_id, "created_at": time.time()}
            key = connection.execute(insert(AssistantRow).values(**values)).inserted_primary_key
        assert key is not None, "the row is stored"
        return replace(assistant, id=key[0], user_id=user_id)

    def change(self, before: Assistant, after: Assistant) -> None:
        """Store what ``after`` has otherwise than ``before``, so that what others change meanwhile stays; the owner
        stays, too. Raises NotFoundError.
        """
        old = _values(before)
        changed = {name: value for name, value in _values(after).items() if value != old[name]}
        changed = changed or {"name": after.name}  # which says whether there is one
        self._one(update(AssistantRow).where(AssistantRow.id == before.id).values(**changed), before.id)

    def remove(self, assistant_id: int) -> None:
        """Delete an assistant, and with it whom it is shared with. Raises NotFoundError."""
        self._one(delete(AssistantRow).where(AssistantRow.id == assistant_id), assistant_id)

    def existing(self, dataset_ids: Collection[int]) -> frozenset[int]:
        """Return those of the datasets that are not deleted."""
        there = select(DatasetRow.id).where(DatasetRow.id.in_(set(dataset_ids)), DatasetRow.removed_at.is_(None))
        return frozenset(self._database.values(there))

    def _read(self, user_id: int, statement: Select[Any]) -> list[OpenAssistant]:
        found = []
        for row in map(tuple[Any, ...], self._database.fetch(statement)):
            assistant, owner, may_write = _assistant(row[:-2]), row[-2], bool(row[-1])
            is_own = assistant.user_id == user_id
            found.append(OpenAssistant(assistant, "" if is_own else owner, is_own or may_write))
        return found

    def _one(self, statement: Any, assistant_id: int) -> None:
        if not self._database.change(statement):
            raise NotFoundError(Reason("there is no assistant %(number)s", number=assistant_id))


def _select(user_id: int) -> Select[Any]:
    """Return a statement for the assistants that a user may use, each with its owner and whether the user may edit."""
    groups = select(UserGroupRow.group_name).where(UserGroupRow.user_id == user_id)
    shared = select(ShareRow.id).where(
        ShareRow.assistant_id == AssistantRow.id, (ShareRow.user_id == user_id) | ShareRow.group_name.in_(groups)
    )
    return (
        select(*columns_of(AssistantRow, Assistant), UserRow.name, shared.where(ShareRow.may_write).exists())
        .join(UserRow, UserRow.id == AssistantRow.user_id)
        .where((AssistantRow.user_id == user_id) | shared.exists())
    )


def _values(assistant: Assistant) -> dict[str, Any]:
    named = {
        each.name: getattr(assistant, each.name) for each in fields(Assistant) if each.name not in ("id", "user_id")
    }
    lists = {name: list(named[name]) for name in ("dataset_ids", "questions")}
    return {**named, **lists, "options": to_json(assistant.options)}


def _assistant(values: Sequence[Any]) -> Assistant:
    named = dict(zip((each.name for each in fields(Assistant)), values, strict=True))
    lists = {name: tuple(named[name]) for name in ("dataset_ids", "questions")}
    return Assistant(**{**named, **lists, "options": stored_options(named["options"])})


def _require_short(name: str, text: str, most: int) -> None:
    if len(text) > most:
        raise InvalidInputError(
            Reason(
                "%(url)s has %(count)s characters; at most %(most)s are allowed",
                url=name,
                count=format(len(text), ","),
                most=format(most, ","),
            ),
            field=name,
        )
